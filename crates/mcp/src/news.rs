//! That something happened, for calls that wait for it.
//!
//! Two threads, which live while calls wait and for a while after: one listens to the supervisor, which stays for it and records what
//! sessions do; the kernel wakes the other when the journal grows. However many calls wait, there is one of each.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_engine::observe::changes::{Changes, Interest};
use dogwatch_engine::watch::stream::Stream;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::stream::Follow;
use tokio::sync::watch;

/// How long the threads stay after the last call.
const LINGER: Duration = Duration::from_mins(1);
/// Longest wait before looking whether to stop, or whether the database was replaced.
const BEAT: Duration = Duration::from_secs(2);
/// After a failure.
const AGAIN: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct News {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    context: Arc<Context>,
    /// The number of the newest event.
    newest: watch::Sender<i64>,
    held: Mutex<Held>,
    stop: AtomicBool,
}

#[derive(Debug, Default)]
struct Held {
    by: usize,
    released: Option<Instant>,
    /// Which of the threads run, by [`Work`].
    running: [bool; 2],
}

/// What the threads do.
#[derive(Debug, Clone, Copy)]
enum Work {
    Watch,
    Follow,
}

/// Keeps the threads alive.
#[derive(Debug)]
pub(crate) struct Hold {
    shared: Arc<Shared>,
    pub(crate) newest: watch::Receiver<i64>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = self.shared.held();
        held.by -= 1;
        held.released = Some(Instant::now());
    }
}

impl Shared {
    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_wanted(&self) -> bool {
        self.is_wanted_by(&self.held())
    }

    fn is_wanted_by(&self, held: &Held) -> bool {
        let is_recent = held.released.is_some_and(|at| at.elapsed() < LINGER);
        !self.stop.load(Ordering::Relaxed) && (held.by > 0 || is_recent)
    }

    /// Whether a thread may end. Decided under the lock: whoever holds next starts it again.
    fn ends(&self, work: Work) -> bool {
        let mut held = self.held();
        let is_wanted = self.is_wanted_by(&held);
        held.running[work as usize] = is_wanted;
        !is_wanted
    }
}

impl News {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        let (newest, _) = watch::channel(0);
        let (held, stop) = (Mutex::default(), AtomicBool::new(false));
        Self { shared: Arc::new(Shared { context, newest, held, stop }) }
    }

    pub(crate) fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Whether sessions are watched already, so that what they do is in the journal.
    pub(crate) fn is_watching(&self) -> bool {
        self.shared.held().running[Work::Watch as usize]
    }

    /// From now on the receiver changes when something happened.
    pub(crate) fn hold(&self) -> Hold {
        let shared = Arc::clone(&self.shared);
        let newest = shared.newest.subscribe();
        let mut held = shared.held();
        held.by += 1;
        for work in [Work::Watch, Work::Follow] {
            if !held.running[work as usize] {
                held.running[work as usize] = start(work, Arc::clone(&shared));
            }
        }
        drop(held);
        Hold { shared, newest }
    }
}

/// Starts a thread that works until no call waits any more; whether it could be started.
fn start(work: Work, shared: Arc<Shared>) -> bool {
    let (name, once) = match work {
        Work::Watch => ("watch", watch as fn(&Shared) -> Result<(), Error>),
        Work::Follow => ("journal", follow as fn(&Shared) -> Result<(), Error>),
    };
    let works = move || {
        while !shared.ends(work) {
            if once(&shared).logged("watch sessions for an MCP client").is_none() {
                // sleep: tmux or the database may come back, and nothing tells when.
                thread::sleep(AGAIN);
            }
        }
    };
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(works).logged("start a thread or a program").is_some()
}

/// Has the supervisor record what sessions do.
fn watch(shared: &Shared) -> Result<(), Error> {
    let mut stream = Stream::open(&shared.context, &[], Follow::default())?;
    while shared.is_wanted() {
        stream.next(BEAT, &shared.stop)?;
    }
    Ok(())
}

/// Tells waiting calls when the journal grows.
fn follow(shared: &Shared) -> Result<(), Error> {
    let context = &shared.context;
    let store = context.store()?;
    let mut changes = Changes::new();
    changes.set(BTreeSet::from([(Interest::File(context.state.database_log()), ())]));
    while shared.is_wanted() {
        store.check_files()?;
        let newest = store.last_entry()?;
        shared.newest.send_if_modified(|known| {
            let is_new = *known != newest;
            *known = newest;
            is_new
        });
        changes.wait(BEAT);
    }
    Ok(())
}
