//! What is shown of sessions beside their verdicts, as it was last read: lists are asked for often, and little of it changes in between.
//!
//! What was read counts as long as the database and the session are as they were, and its folder has the same branch. What comes from
//! elsewhere, and for an agent of which more than that counts, is read for each answer.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::status::Status;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::status::About;
use dogwatch_protocol::usage::Used;
use jiff::Timestamp;

use crate::Context;
use crate::observe::details::Details;
use crate::observe::evidence::Memory;
use crate::observe::git_head::{self, Checkout};
use crate::observe::status::SessionStatus;
use crate::observe::usage::subagents_of;
use crate::watch::Watcher;

/// How long what was read counts at most: prices are in a file that nothing tells of.
const LONGEST: Duration = Duration::from_secs(5);
/// Their titles are in files of their own.
const READ_ANEW: [&str; 2] = ["codex", "opencode"];

#[derive(Debug, Default)]
pub(super) struct Known {
    /// Of the database.
    version: Option<i64>,
    since: Option<Instant>,
    rows: HashMap<SessionId, Row>,
}

#[derive(Debug)]
struct Row {
    checkout: Option<Checkout>,
    about: About,
    used: Option<Used>,
}

impl Known {
    /// These sessions were looked at again.
    pub(super) fn forget(&mut self, touched: &BTreeSet<SessionId>) {
        for id in touched {
            self.rows.remove(id);
        }
    }

    /// What is shown of all that are listed.
    pub(super) fn details(
        &mut self,
        context: &Context,
        watcher: &mut Watcher<'_>,
        judged: &[SessionStatus],
        now: Timestamp,
    ) -> Details {
        let version = watcher.store().version_of_others().logged("read sessions");
        let is_recent = self.since.is_some_and(|since| since.elapsed() < LONGEST);
        if version.is_none() || version != self.version || !is_recent {
            self.rows.clear();
            (self.version, self.since) = (version, Some(Instant::now()));
        }
        self.forget(watcher.touched());
        let mut checkouts: HashMap<&Path, Option<Checkout>> = HashMap::new();
        for one in judged {
            let folder = one.seen.session.cwd.as_path();
            checkouts.entry(folder).or_insert_with(|| git_head::of(folder));
        }
        let checkout = |one: &SessionStatus| checkouts.get(one.seen.session.cwd.as_path());
        let mut found = Details::default();
        for one in judged {
            let id = &one.seen.session.id;
            let row = self.rows.get(id).filter(|row| checkout(one) == Some(&row.checkout));
            if let Some(Row { about, used, .. }) = row {
                found.abouts.insert(id.clone(), about.clone());
                found.usages.extend(used.iter().map(|used| (id.clone(), used.clone())));
            }
        }
        let missing = judged.iter().map(|one| &one.seen.session);
        let missing: Vec<_> =
            missing.filter(|session| !found.abouts.contains_key(&session.id)).collect();
        let read: BTreeSet<SessionId> = missing.iter().map(|session| session.id.clone()).collect();
        found.complete(context, watcher.parts().0, &missing, now);
        for one in judged.iter().filter(|one| read.contains(&one.seen.session.id)) {
            let id = &one.seen.session.id;
            let used = found.usages.get(id).cloned();
            let about = found.abouts.get(id).filter(|_| is_kept(watcher, one, used.as_ref()));
            if let (Some(about), Some(checkout)) = (about, checkout(one)) {
                let row = Row { checkout: checkout.clone(), about: about.clone(), used };
                self.rows.insert(id.clone(), row);
            }
        }
        found
    }
}

/// While an agent works, its subagents may write files of their own, and of a long transcript not all may have been read.
fn is_kept(watcher: &Watcher<'_>, one: &SessionStatus, used: Option<&Used>) -> bool {
    let session = &one.seen.session;
    let is_read = session.agent != "claude" || used.is_some();
    let transcript = watcher.memory(&session.id).and_then(Memory::transcript_read);
    let has_subagents = || transcript.is_some_and(|path| subagents_of(path).exists());
    let is_working = matches!(one.verdict.status, Status::Working { .. });
    is_read
        && one.seen.is_ours()
        && !READ_ANEW.contains(&session.agent.as_str())
        && !(is_working && has_subagents())
}
