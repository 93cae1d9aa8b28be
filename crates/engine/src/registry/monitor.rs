//! Monitors a registry: immediately when tmux, a hook, an editor or a broker reports a change, and periodically
//! in any case.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::registry::Registry;
use dogwatch_store::{Store, Which};
use jiff::Timestamp;

use super::push::{Heard, Push};
use super::{ManagedRegistry, Pass};
use crate::Error;
use crate::observe::changes::{Changes, Interest, Waker};
use crate::watch::news::News;

/// Period without any report.
const INTERVAL: Duration = Duration::from_secs(30);
/// The same with many sessions.
const LONG_INTERVAL: Duration = Duration::from_mins(1);
const MANY: usize = 5;
/// Shortest time between two passes: reports come in bursts.
const LEAST: Duration = Duration::from_millis(200);
/// When to check again what a person had just changed.
const HELD: Duration = Duration::from_secs(6);

#[derive(Debug)]
pub struct Monitor<'c> {
    managed: ManagedRegistry<'c>,
    store: Store,
    interval: Option<Duration>,
    changes: Changes<()>,
    news: News,
    push: Option<Box<dyn Push>>,
    last: Option<Instant>,
    /// A change was reported since the last pass.
    is_called: bool,
    sessions: usize,
    is_held: bool,
    away: Option<String>,
}

#[derive(Debug)]
pub enum Turn {
    /// The registry was compared with what is running.
    Passed(Pass),
    /// The comparison failed; the monitor continues.
    Failed(Error),
    /// The broker became reachable or unreachable.
    Push { away: Option<String> },
}

impl<'c> Monitor<'c> {
    pub fn new(managed: ManagedRegistry<'c>, interval: Option<Duration>) -> Result<Self, Error> {
        let context = managed.context;
        // Hooks and runners report only if this directory exists.
        context.state.news();
        let changes = Changes::new();
        let news = News::start(context, changes.waker())?;
        let store = context.store()?;
        let (last, is_called, sessions, is_held, away) = (None, false, 0, false, None);
        Ok(Self {
            managed,
            store,
            interval,
            changes,
            news,
            push: None,
            last,
            is_called,
            sessions,
            is_held,
            away,
        })
    }

    /// Ends a wait early, from another thread.
    pub fn waker(&self) -> Waker {
        self.changes.waker()
    }

    /// Also takes reports from a broker.
    pub fn listen_to(&mut self, push: Box<dyn Push>) {
        self.push = Some(push);
    }

    /// Waits for the next result, or until `stop` is set and the waker called.
    pub fn next(&mut self, stop: &AtomicBool) -> Option<Turn> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(turn) = self.hear_push() {
                return Some(turn);
            }
            let due = self.due();
            if due <= Instant::now() {
                return Some(self.look());
            }
            let stirred = self.changes.wait(due.saturating_duration_since(Instant::now()));
            self.is_called |= !stirred.is_empty() | self.news.take();
        }
    }

    fn hear_push(&mut self) -> Option<Turn> {
        let heard = self.push.as_mut()?.heard();
        self.is_called |= heard == Heard::News;
        let away = match heard {
            Heard::Away(why) => Some(why),
            Heard::Nothing | Heard::News => None,
        };
        (away != self.away).then(|| {
            self.away.clone_from(&away);
            Turn::Push { away }
        })
    }

    fn due(&self) -> Instant {
        let Some(last) = self.last else { return Instant::now() };
        let usual = if self.sessions > MANY { LONG_INTERVAL } else { INTERVAL };
        let usual = self.interval.unwrap_or(usual).max(LEAST);
        last + match (self.is_called, self.is_held) {
            (true, _) => LEAST,
            (false, true) => usual.min(HELD),
            (false, false) => usual,
        }
    }

    fn look(&mut self) -> Turn {
        (self.last, self.is_called) = (Some(Instant::now()), false);
        // Before the pass, so that no change after it is missed.
        let registry = self.managed.read();
        self.listen(registry.as_ref().ok());
        let files = self.store.check_files().map_err(Error::from);
        match files.and(registry).and_then(|_| self.managed.pass(false)) {
            Ok(pass) => {
                (self.sessions, self.is_held) = (pass.checked, pass.held);
                Turn::Passed(pass)
            }
            Err(error) => Turn::Failed(error),
        }
    }

    /// Subscribes to the file, and to hooks of sessions whose conversation is not known yet: the hooks of the others are frequent and do
    /// not matter here. Of sessions that come and go the supervisor tells.
    fn listen(&mut self, registry: Option<&Registry>) {
        let context = self.managed.context;
        let file = self.managed.file.path();
        let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let mut interests = BTreeSet::from([(Interest::File(file), ())]);
        let current = Which::current(Timestamp::now());
        for session in self
            .store
            .sessions(&context.socket, current)
            .logged("read sessions")
            .unwrap_or_default()
        {
            let entry = registry.and_then(|registry| registry.sessions.get(&session.name));
            if session.ended().is_some() {
                continue;
            }
            if entry.is_none_or(|entry| entry.conversation().is_none()) {
                interests.insert((Interest::File(context.state.news_of(&session.id)), ()));
            }
        }
        self.changes.set(interests);
    }
}
