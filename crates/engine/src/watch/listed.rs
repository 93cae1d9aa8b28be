//! What a list of sessions was made of, and whether it still holds: then who asks need not wait for another one.

use std::collections::BTreeSet;

use dogwatch_base::log::Logged as _;
use dogwatch_core::profile;
use dogwatch_protocol::id::SessionId;
use dogwatch_store::Session;
use dogwatch_tmux::Reply;

use super::Watcher;
use crate::observe::interests;
use crate::observe::{background, unmanaged};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// Of the database.
    version: i64,
    /// Of tmux.
    panes: Reply,
}

impl Watcher<'_> {
    /// `None` if it cannot be told by so little.
    pub(super) fn outline(&self) -> Option<Listed> {
        let version = self.reader.store.version_of_others().logged("read sessions")?;
        Some(Listed { version, panes: self.line.outline()? })
    }

    /// Whether a new list would be the same.
    pub(super) fn is_as_listed(&self) -> bool {
        let is_command = |session: &Session| session.agent == profile::COMMAND;
        let mut living = self.watched.values().filter(|one| !one.status.verdict.status.is_over());
        // Only a list has when a command has last printed something.
        self.listed.is_some()
            && !living.any(|one| is_command(&one.status.seen.session))
            && self.has_same_others()
            && self.listed == self.outline()
    }

    /// Whether the agents of others are those that are watched. Nothing tells of them.
    fn has_same_others(&self) -> bool {
        let Ok(snapshot) = &self.snapshot else { return false };
        let sessions = self.watched.values().map(|one| &one.status.seen.session);
        let (ours, others): (Vec<&Session>, Vec<&Session>) =
            sessions.partition(|session| session.origin.is_managed());
        let in_panes = unmanaged::agents(self.context, snapshot, ours.iter().copied());
        let known = ours.iter().copied().chain(&in_panes);
        let in_background = background::sessions(self.context, known);
        let found: BTreeSet<&SessionId> =
            in_panes.iter().chain(&in_background).map(|session| &session.id).collect();
        found == others.iter().map(|session| &session.id).collect()
    }

    /// Living sessions of which something may change and no event says so. What time alone changes is seen each second.
    pub(super) fn unannounced(&self) -> Vec<SessionId> {
        let is_told = self.changes.is_told() && self.changes.is_complete();
        let living = self.watched.iter().filter(|(_, one)| !one.status.verdict.status.is_over());
        let unannounced = living.filter(|(id, one)| {
            !is_told
                || !interests::tell_all(&one.status.seen, self.reader.memory(id), &one.interests)
        });
        unannounced.map(|(id, _)| id.clone()).collect()
    }
}
