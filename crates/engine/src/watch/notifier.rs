//! Notifies people of what the supervisor sees: on a thread, since a channel may take long.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use jiff::Timestamp;

use crate::Context;
use crate::actions::follow;
use crate::observe::status::SessionStatus;

/// Longest pause before looking for what could not be sent.
const LONGEST: Duration = Duration::from_mins(1);
/// What is due later than this, such as at the end of quiet hours, is left to the next supervisor when there are no sessions any more.
const SOON: Duration = Duration::from_mins(10);

/// A thread that ends when this is dropped.
#[derive(Debug)]
pub(super) struct Notifier {
    statuses: Option<Sender<Vec<SessionStatus>>>,
    is_at_rest: Arc<AtomicBool>,
}

impl Notifier {
    pub(super) fn start(context: &Context) -> Self {
        let (statuses, received) = mpsc::channel::<Vec<SessionStatus>>();
        let is_at_rest = Arc::new(AtomicBool::new(false));
        let (context, rests) = (context.clone(), Arc::clone(&is_at_rest));
        let work = move || {
            let mut pause = Duration::ZERO;
            // What was sent without being written down, as on a full disk: it is not sent again.
            let mut told = HashSet::new();
            loop {
                let found = match received.recv_timeout(pause) {
                    Ok(found) => found,
                    Err(RecvTimeoutError::Timeout) => Vec::new(),
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                rests.store(false, Ordering::SeqCst);
                let next = follow::notify_of(&context, &found, &mut told, Timestamp::now());
                let next = next.logged("notify").flatten();
                rests.store(next.is_none_or(|next| next > SOON), Ordering::SeqCst);
                pause = next.map_or(LONGEST, |next| next.min(LONGEST));
            }
        };
        let thread = thread::Builder::new().name("notify".to_owned()).spawn(work);
        let started = thread.logged("start a thread or a program");
        Self { statuses: started.map(|_| statuses), is_at_rest }
    }

    /// Sessions that changed.
    pub(super) fn show(&self, found: Vec<SessionStatus>) {
        if !found.is_empty() {
            self.pass_on(found);
        }
    }

    /// Something else was written down to be sent.
    pub(super) fn flush(&self) {
        self.pass_on(Vec::new());
    }

    fn pass_on(&self, found: Vec<SessionStatus>) {
        if let Some(statuses) = &self.statuses {
            self.is_at_rest.store(false, Ordering::SeqCst);
            // The thread lives as long as we do.
            drop(statuses.send(found));
        }
    }

    pub(super) fn is_at_rest(&self) -> bool {
        self.statuses.is_none() || self.is_at_rest.load(Ordering::SeqCst)
    }
}
