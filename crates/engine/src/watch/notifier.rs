//! Notifies beside a watcher: of agents that dogwatch did not start and that have no runner, and of what others could not send.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use jiff::Timestamp;

use crate::Context;
use crate::actions::follow;
use crate::observe::status::SessionStatus;

/// Longest pause before looking for what others could not send.
const LONGEST: Duration = Duration::from_mins(1);

/// A thread that ends when this is dropped.
#[derive(Debug)]
pub(super) struct Notifier {
    statuses: Option<Sender<Vec<SessionStatus>>>,
}

impl Notifier {
    pub(super) fn start(context: &Context) -> Self {
        let (statuses, received) = mpsc::channel::<Vec<SessionStatus>>();
        let context = context.clone();
        let work = move || {
            let mut pause = Duration::ZERO;
            loop {
                let found = match received.recv_timeout(pause) {
                    Ok(found) => found,
                    Err(RecvTimeoutError::Timeout) => Vec::new(),
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                pause = follow::notify_of(&context, &found, Timestamp::now())
                    .logged("notify")
                    .flatten()
                    .map_or(LONGEST, |next| next.min(LONGEST));
            }
        };
        let thread = thread::Builder::new().name("notify".to_owned()).spawn(work);
        // Without a thread, runners still notify of their own sessions.
        let started = thread.logged("start a thread or a program");
        Self { statuses: started.map(|_| statuses) }
    }

    /// Sessions that changed.
    pub(super) fn show(&self, found: Vec<SessionStatus>) {
        if let Some(statuses) = self.statuses.as_ref().filter(|_| !found.is_empty()) {
            // The thread lives as long as we do.
            drop(statuses.send(found));
        }
    }
}
