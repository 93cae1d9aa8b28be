//! That sessions came, ended or went, for a loop that waits for other things too: a thread listens to the supervisor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_protocol::status::{WatchEvent, WatchLine};
use dogwatch_protocol::stream::Follow;

use super::stream::Stream;
use crate::observe::changes::Waker;
use crate::{Context, Error};

/// Longest wait for a change.
const ROUND: Duration = Duration::from_mins(1);
/// Pause before another attempt after an error.
const RETRY: Duration = Duration::from_secs(1);

/// The running thread. Dropping this ends it.
#[derive(Debug)]
pub(crate) struct News {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    has_some: AtomicBool,
    is_over: AtomicBool,
    /// Ends the wait for a change.
    wake: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("has_some", &self.has_some).finish_non_exhaustive()
    }
}

impl News {
    /// The waker is called when there are some.
    pub(crate) fn start(context: &Context, waker: Waker) -> Result<Self, Error> {
        let shared = Arc::new(Shared::default());
        let (its, context) = (Arc::clone(&shared), context.clone());
        let listen = move || {
            while !its.is_over() {
                if listen(&context, &its, &waker).logged("listen to the supervisor").is_none() {
                    thread::park_timeout(RETRY);
                }
            }
        };
        let thread = thread::Builder::new().name("news".to_owned()).spawn(listen);
        let thread = Some(thread.map_err(Error::io("start a thread"))?);
        Ok(Self { shared, thread })
    }

    /// Whether something changed since the last call.
    pub(crate) fn take(&self) -> bool {
        self.shared.has_some.swap(false, Ordering::AcqRel)
    }
}

impl Drop for News {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It ends now, and a panic in it was reported.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    fn wake(&self) {
        let wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
        wake.iter().for_each(|wake| wake());
    }
}

fn listen(context: &Context, shared: &Shared, waker: &Waker) -> Result<(), Error> {
    // Rows come with the number of panes: those without an agent count too.
    let follow = Follow { rows: true, ..Follow::default() };
    let mut stream = Stream::open(context, &[], follow)?;
    *shared.wake.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stream.waker()));
    let mut panes = stream.tmux().panes;
    while !shared.is_over() {
        let lines = stream.next(ROUND, &shared.is_over)?;
        stream.take_touched();
        let before = std::mem::replace(&mut panes, stream.tmux().panes);
        if before != panes || lines.iter().any(is_news) {
            shared.has_some.store(true, Ordering::Release);
            waker.wake();
        }
    }
    Ok(())
}

/// What sessions do between their start and their end is no news.
fn is_news(line: &WatchLine) -> bool {
    line.event != WatchEvent::Changed || line.session.verdict.status.is_over()
}
