//! What only the supervisor's own watcher does: it records what it sees, and people are notified of it.

use std::collections::BTreeSet;
use std::time::Instant;

use dogwatch_base::log::Logged as _;
use dogwatch_protocol::id::SessionId;
use dogwatch_store::Store;

use super::notifier::Notifier;
use super::watched::Watched;
use super::{Change, Watcher};
use crate::actions::job;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::tmux_snapshot::TmuxSnapshot;
use crate::{Context, Error};

impl<'c> Watcher<'c> {
    /// The supervisor's own: of all sessions. It records the progress of jobs and notifies of what it sees, and every look ends a wait.
    pub(crate) fn acting(context: &'c Context) -> Result<Self, Error> {
        let mut watcher = Self::new(context)?;
        watcher.notifier = Some(Notifier::start(context));
        watcher.listen();
        Ok(watcher)
    }

    /// The changes that were found beside a wait.
    pub(crate) fn take_found(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.found)
    }

    /// What tmux last showed.
    pub(crate) fn sights(&self) -> Result<&TmuxSnapshot, &dogwatch_tmux::Error> {
        self.snapshot.as_ref()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.reader.store
    }

    /// Sessions that were judged or removed since they were last taken.
    pub(crate) fn touched(&self) -> &BTreeSet<SessionId> {
        &self.touched
    }

    /// Reader and statuses, for the supervisor's decisions.
    pub(crate) fn parts(
        &mut self,
    ) -> (&mut StatusReader<'c>, impl Fn(&str) -> Option<SessionStatus>) {
        let Self { reader, watched, .. } = self;
        let judged = |id: &str| watched.get(id).map(|one: &Watched| one.status.clone());
        (reader, judged)
    }

    /// Looks at all that has stirred until now, and at what nothing tells of: whoever asks hears what is there.
    pub(crate) fn catch_up(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        self.wait(now);
        let mut changes = Vec::new();
        if self.last_list.is_none() || !self.is_as_listed() {
            self.last_list = Some(now);
            changes = self.list_sessions(now)?;
        }
        for watched in self.watched.values_mut() {
            watched.hasten(now);
        }
        self.judges_unannounced = true;
        changes.extend(self.turn()?);
        self.found.extend(changes);
        Ok(())
    }

    /// Has a session looked at then, if nothing tells of it before.
    pub(crate) fn look_at(&mut self, session: &str, at: Instant) {
        if let Some(watched) = self.watched.get_mut(session) {
            watched.look_at(at);
        }
    }

    /// Sessions whose screen is looked at as soon as it moves.
    pub(crate) fn attend_to(&mut self, sessions: BTreeSet<SessionId>) {
        self.attended = sessions;
    }

    /// Has panes listed as soon as one comes or goes, or only those of agents.
    pub(crate) fn want_panes(&mut self, wanted: bool) {
        if wanted && !self.wants_panes {
            self.last_list = None;
        }
        self.wants_panes = wanted;
    }

    /// Has what was written down to be told sent now.
    pub(crate) fn send_told(&self) {
        self.notifier.iter().for_each(Notifier::flush);
    }

    /// Whether all that people are to be told has been told, as far as it is due soon.
    pub(crate) fn has_told_all(&self) -> bool {
        self.notifier.as_ref().is_none_or(Notifier::is_at_rest)
    }

    /// Records the progress of these sessions' jobs, and has people notified of their ends, which are written down with them. An error
    /// here must not stop the watcher.
    pub(super) fn settle_jobs(&mut self, statuses: &[SessionStatus]) {
        let over = job::settle_of(self.context, &mut self.reader, statuses).logged("settle jobs");
        if over.is_some_and(|over| !over.is_empty()) {
            self.notifier.iter().for_each(Notifier::flush);
        }
    }
}
