//! Looking after a registry all the time: at once when tmux, a hook, a person's editor or a broker says that something
//! changed, and every so often in any case.

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
use crate::watch::line::Line;

/// How often it is looked without a word from anybody.
const INTERVAL: Duration = Duration::from_secs(30);
/// The same if there are many sessions.
const LONG_INTERVAL: Duration = Duration::from_mins(1);
const MANY: usize = 5;
/// The least time between two looks, whatever is said: news comes in flurries.
const LEAST: Duration = Duration::from_millis(200);
/// When to look again at what a person had just been at.
const HELD: Duration = Duration::from_secs(6);

/// Somebody who looks after a registry.
#[derive(Debug)]
pub struct Monitor<'c> {
    managed: ManagedRegistry<'c>,
    store: Store,
    interval: Option<Duration>,
    changes: Changes<()>,
    line: Line,
    push: Option<Box<dyn Push>>,
    last: Option<Instant>,
    /// Somebody said something since the last look.
    is_called: bool,
    sessions: usize,
    is_held: bool,
    away: Option<String>,
}

/// What a turn of the monitor brought.
#[derive(Debug)]
pub enum Turn {
    /// The registry was compared with what is there.
    Passed(Pass),
    /// It could not be; sessions are watched on.
    Failed(Error),
    /// The broker can, or cannot, be listened to now.
    Push { away: Option<String> },
}

impl<'c> Monitor<'c> {
    pub fn new(managed: ManagedRegistry<'c>, interval: Option<Duration>) -> Result<Self, Error> {
        let context = managed.context;
        // Whoever has news tells only if somebody listens.
        context.state.news();
        let changes = Changes::new();
        let line = Line::new(&context.tmux, changes.waker());
        let store = context.store()?;
        let (last, is_called, sessions, is_held, away) = (None, false, 0, false, None);
        Ok(Self {
            managed,
            store,
            interval,
            changes,
            line,
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

    /// Listens to a broker too.
    pub fn listen_to(&mut self, push: Box<dyn Push>) {
        self.push = Some(push);
    }

    /// Waits for the next thing to tell, or until it is told to stop (and woken).
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
            self.is_called |= !stirred.is_empty() | self.line.has_news();
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
        // Before the look: what happens from now on is told.
        let registry = self.managed.read();
        self.listen(registry.as_ref().ok());
        // Opens the line, and closes it where it would keep a server alive that nobody needs.
        self.line.list().logged("ask tmux");
        let files = self.store.check_files().map_err(Error::from);
        match files.and(registry).and_then(|_| self.managed.pass(false)) {
            Ok(pass) => {
                (self.sessions, self.is_held) = (pass.checked, pass.held);
                Turn::Passed(pass)
            }
            Err(error) => Turn::Failed(error),
        }
    }

    /// Asks to be told of the file, of sessions that come and go, of ends, and of the hooks of those whose conversation is not
    /// known yet: the others have hooks all the time that are of no interest here.
    fn listen(&mut self, registry: Option<&Registry>) {
        let context = self.managed.context;
        let file = self.managed.file.path();
        let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let mut interests = BTreeSet::from([
            (Interest::File(file), ()),
            (Interest::File(context.state.news_of_roll()), ()),
        ]);
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
            interests.extend(session.started().map(|started| (Interest::End(started.runner), ())));
        }
        self.changes.set(interests);
    }
}
