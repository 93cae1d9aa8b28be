//! The current state of each session to publish: written as changes come, read by the relay.

use dogwatch_protocol::event_data::Heartbeat;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::VERSION;
use dogwatch_core::fleet::{SessionState, session_level};
use dogwatch_core::status::Verdict;
use tokio::sync::Notify;

use dogwatch_engine::notify::outward;
use dogwatch_protocol::event::Subject;
use dogwatch_protocol::status::{StatusReport, WatchEvent, WatchLine};

#[derive(Debug, Default)]
pub(super) struct StateCache {
    inner: Mutex<Inner>,
    pub(super) news: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    states: BTreeMap<String, SessionState>,
    /// Sessions whose state changed since it was last published.
    fresh: BTreeSet<String>,
}

impl StateCache {
    /// Ignores poisoning: each write leaves the data consistent.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn show(&self, host: &str, change: &WatchLine) {
        let level = session_level(&subject(&change.session));
        {
            let mut inner = self.lock();
            match change.event {
                WatchEvent::Gone => drop(inner.states.remove(&level)),
                WatchEvent::Seen | WatchEvent::Changed => {
                    inner.states.insert(level.clone(), state(host, change));
                }
            }
            inner.fresh.insert(level);
        }
        self.news.notify_one();
    }

    /// The changes since the last call, as topic level and state; `None` for a session that is gone.
    pub(super) fn take_news(&self) -> Vec<(String, Option<SessionState>)> {
        let mut inner = self.lock();
        let fresh = std::mem::take(&mut inner.fresh);
        fresh.into_iter().map(|level| (level.clone(), inner.states.get(&level).cloned())).collect()
    }

    /// Marks everything to be published again.
    pub(super) fn mark_all(&self) {
        let mut inner = self.lock();
        let all: BTreeSet<String> = inner.states.keys().cloned().collect();
        inner.fresh.extend(all);
    }

    pub(super) fn has(&self, level: &str) -> bool {
        self.lock().states.contains_key(level)
    }

    /// The number of sessions in each state, for the heartbeat.
    pub(super) fn census(&self) -> Heartbeat {
        let mut states: BTreeMap<String, u32> = BTreeMap::new();
        for state in self.lock().states.values() {
            let word = state.status["state"].as_str().unwrap_or_default().to_owned();
            *states.entry(word).or_default() += 1;
        }
        Heartbeat { sessions: states.values().sum(), states }
    }
}

fn subject(one: &StatusReport) -> Subject {
    Subject { id: one.id.clone().into(), name: one.name.clone(), agent: one.agent.clone() }
}

fn state(host: &str, change: &WatchLine) -> SessionState {
    let StatusReport { ours, verdict, .. } = &change.session;
    let Verdict { status, basis, since, .. } = verdict;
    SessionState {
        v: VERSION,
        host: host.to_owned(),
        session: subject(&change.session),
        ours: *ours,
        at: change.at,
        since: *since,
        basis: basis.as_str().to_owned(),
        status: outward::json(
            serde_json::to_value(status).logged("write JSON").unwrap_or_default(),
        ),
    }
}
