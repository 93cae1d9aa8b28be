//! Sessions that have ended, as lists show them: without what was seen of them while they lived, which a command that looks by itself
//! does not know.

use std::collections::BTreeMap;

use dogwatch_core::status::Verdict;
use dogwatch_protocol::id::SessionId;
use dogwatch_store::Session;
use jiff::Timestamp;

use crate::observe::status::{SessionStatus, StatusReader};
use crate::watch::Watcher;
use crate::{Context, Error};

/// The verdicts on them. Nothing changes about them any more.
#[derive(Debug, Default)]
pub(super) struct Ended {
    verdicts: BTreeMap<SessionId, Verdict>,
}

impl Ended {
    /// All sessions that are listed.
    pub(super) fn listed(
        &mut self,
        context: &Context,
        watcher: &Watcher<'_>,
        now: Timestamp,
    ) -> Result<Vec<SessionStatus>, Error> {
        let is_over = |one: &SessionStatus| one.verdict.status.is_over();
        let mut all: Vec<SessionStatus> = watcher.statuses().cloned().collect();
        self.verdicts.retain(|id, _| watcher.status(id).is_some_and(is_over));
        let is_new = |one: &&SessionStatus| {
            is_over(one) && !self.verdicts.contains_key(&one.seen.session.id)
        };
        let new: Vec<Session> =
            all.iter().filter(is_new).map(|one| one.seen.session.clone()).collect();
        if !new.is_empty() {
            let mut reader = StatusReader::new(context)?.in_brief();
            let judged = reader.judge(new, watcher.sights(), now)?;
            let verdicts = judged.into_iter().map(|one| (one.seen.session.id, one.verdict));
            self.verdicts.extend(verdicts);
        }
        for one in &mut all {
            if let Some(verdict) = self.verdicts.get(&one.seen.session.id) {
                one.verdict = verdict.clone();
            }
        }
        Ok(all)
    }
}
