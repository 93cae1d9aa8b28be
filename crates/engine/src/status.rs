//! What each session is doing: one look at everything, judged.

use std::collections::{BTreeSet, HashMap};

use dogwatch_core::status::{Verdict, judge};
use dogwatch_store::{KeptState, Session, StateNews, Store};
use dogwatch_tmux::PaneId;
use jiff::Timestamp;

use crate::sense::changes::Interest;
use crate::sense::evidence::{self, Memory};
use crate::sense::sights::Sights;
use crate::sense::{foreign, interests};
use crate::snapshot::{self, Seen};
use crate::{Context, Error};

/// A session and the verdict on it.
#[derive(Debug, Clone)]
pub struct Judged {
    pub seen: Seen,
    pub verdict: Verdict,
}

/// All sessions of the context's server that were not put away, and the agents that others started there.
pub fn all(context: &Context, now: Timestamp) -> Result<Vec<Judged>, Error> {
    Looker::new(context)?.all(now)
}

/// The session meant by a name, id or pane.
pub fn one(context: &Context, target: &str, now: Timestamp) -> Result<Judged, Error> {
    Looker::new(context)?.one(target, now)
}

/// One who looks at sessions, once or again and again. What was found out before is not found out again, but every
/// verdict is made from all the evidence there is at that moment.
#[derive(Debug)]
pub struct Looker<'c> {
    context: &'c Context,
    pub(crate) store: Store,
    memories: HashMap<String, Memory>,
}

impl<'c> Looker<'c> {
    pub fn new(context: &'c Context) -> Result<Self, Error> {
        Ok(Self { context, store: context.store()?, memories: HashMap::new() })
    }

    pub fn all(&mut self, now: Timestamp) -> Result<Vec<Judged>, Error> {
        let context = self.context;
        let sessions = self.store.sessions(&context.socket, false)?;
        let others = |sights: &Sights, ours: &[Session]| foreign::agents(context, sights, ours);
        Ok(self.look(sessions, others, now)?.0)
    }

    pub fn one(&mut self, target: &str, now: Timestamp) -> Result<Judged, Error> {
        Ok(self.one_and_its_sight(target, now)?.0)
    }

    /// The session with what tmux showed when it was judged.
    pub(crate) fn one_and_its_sight(
        &mut self,
        target: &str,
        now: Timestamp,
    ) -> Result<(Judged, Option<Sights>), Error> {
        let context = self.context;
        let sessions = snapshot::candidates(context, &self.store, target)?;
        let others = |sights: &Sights, ours: &[Session]| {
            let mut found =
                if ours.is_empty() { foreign::agents(context, sights, ours) } else { vec![] };
            found.retain(|session| foreign::is_meant(session, target));
            found
        };
        let (judged, sights) = self.look(sessions, others, now)?;
        Ok((snapshot::meant(context, judged, |one| &one.seen, target)?, sights))
    }

    fn look(
        &mut self,
        mut sessions: Vec<Session>,
        others: impl FnOnce(&Sights, &[Session]) -> Vec<Session>,
        now: Timestamp,
    ) -> Result<(Vec<Judged>, Option<Sights>), Error> {
        let server = &self.context.tmux;
        for session in &mut sessions {
            snapshot::complete(self.context, &mut self.store, session);
        }
        let mut sights = Sights::by_process(server, &panes(&sessions));
        if let Ok(sights) = &mut sights {
            let found = others(sights, &sessions);
            // Without their text less is known of them, and that is all.
            let _ = sights.capture(server, &panes(&found));
            sessions.extend(found);
        }
        let judged = self.judge(sessions, sights.as_ref(), now)?;
        Ok((judged, sights.ok()))
    }

    /// Judges sessions by what tmux shows, or by its failure to show anything.
    pub(crate) fn judge(
        &mut self,
        sessions: Vec<Session>,
        sights: Result<&Sights, &dogwatch_tmux::Error>,
        now: Timestamp,
    ) -> Result<Vec<Judged>, Error> {
        let glance = sights.map(|sights| &sights.glance);
        let seen = snapshot::join(self.context, &mut self.store, sessions, glance)?;
        let mut judged = Vec::with_capacity(seen.len());
        for seen in seen {
            let memory = self.memories.entry(seen.session.id.clone()).or_default();
            let sight = sights.ok().and_then(|sights| sights.of(&seen));
            let (context, store) = (self.context, &mut self.store);
            let evidence = evidence::gather(context, store, memory, &seen, sight, now);
            let mut verdict = judge(&evidence);
            keep(store, &seen, &mut verdict, now);
            judged.push(Judged { seen, verdict });
        }
        Ok(judged)
    }

    /// What would tell of a change in these, with their ids.
    pub fn interests(&self, judged: &[Judged]) -> BTreeSet<(Interest, String)> {
        let mut all = BTreeSet::new();
        for one in judged.iter().filter(|one| !one.verdict.status.is_over()) {
            let id = &one.seen.session.id;
            let memory = self.memories.get(id);
            let found = interests::of(self.context, &one.seen, memory);
            all.extend(found.into_iter().map(|(interest, _)| (interest, id.clone())));
        }
        all
    }

    pub(crate) fn memory(&self, session: &str) -> Option<&Memory> {
        self.memories.get(session)
    }

    pub(crate) fn forget(&mut self, session: &str) {
        self.memories.remove(session);
    }
}

/// Writes the state down if it is news. Where no source says since when it holds, the first look that found it does.
fn keep(store: &mut Store, seen: &Seen, verdict: &mut Verdict, now: Timestamp) {
    let state = KeptState {
        key: verdict.status.key(),
        since: verdict.since.unwrap_or(now),
        seen: now,
        status: serde_json::to_value(&verdict.status).unwrap_or_default(),
    };
    // A disk that is full must not keep anybody from being told.
    let since = match store.keep_state(&seen.session.id, &state) {
        Ok(StateNews::Same(kept)) => kept.since,
        _ => now,
    };
    verdict.since.get_or_insert(since);
}

/// Panes whose text is wanted.
fn panes(sessions: &[Session]) -> Vec<PaneId> {
    let living = sessions.iter().filter(|s| s.ended.is_none() && s.started.is_some());
    living.filter_map(|s| s.pane.as_ref()?.parse().ok()).collect()
}
