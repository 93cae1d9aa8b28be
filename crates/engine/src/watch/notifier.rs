//! Notifies people of what the supervisor sees: on a thread, since a channel may take long.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use dogwatch_base::log::Logged as _;

use super::couriers::Couriers;
use crate::Context;
use crate::actions::follow;
use crate::observe::status::SessionStatus;

/// Longest pause before looking for what could not be sent.
const LONGEST: Duration = Duration::from_mins(1);
/// What is due later than this, such as at the end of quiet hours, is left to the next supervisor when there are no sessions any more.
const SOON: Duration = Duration::from_mins(10);

/// Two threads that end when this is dropped: one writes down what people want to know, so that what happens while a batch waits comes into
/// it; the other one has it sent.
#[derive(Debug)]
pub(super) struct Notifier {
    statuses: Option<Sender<Vec<SessionStatus>>>,
    /// How much is to be written down or sent.
    open: Arc<AtomicUsize>,
    is_at_rest: Arc<AtomicBool>,
}

impl Notifier {
    pub(super) fn start(context: &Context) -> Self {
        let (statuses, received) = mpsc::channel::<Vec<SessionStatus>>();
        let (written, to_send) = mpsc::channel::<News>();
        let (open, is_at_rest) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let done = written.clone();
        let write = {
            let (context, open) = (context.clone(), Arc::clone(&open));
            move || write(&context, &received, &written, &open)
        };
        let send = {
            let (context, rests) = (context.clone(), Arc::clone(&is_at_rest));
            move || send(&context, &to_send, &done, &rests)
        };
        let thread = |name: &str| thread::Builder::new().name(name.to_owned());
        let sends = thread("send").spawn(send).logged("start a thread or a program");
        let writes = thread("notify").spawn(write).logged("start a thread or a program");
        Self { statuses: writes.and(sends).map(|_| statuses), open, is_at_rest }
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
            self.open.fetch_add(1, Ordering::SeqCst);
            self.is_at_rest.store(false, Ordering::SeqCst);
            // The thread lives as long as we do.
            drop(statuses.send(found));
        }
    }

    pub(super) fn is_at_rest(&self) -> bool {
        let is_written = self.open.load(Ordering::SeqCst) == 0;
        self.statuses.is_none() || (is_written && self.is_at_rest.load(Ordering::SeqCst))
    }
}

/// What the thread that has notifications sent is woken by.
#[derive(Debug)]
pub(super) enum News {
    /// Something was written down.
    Written,
    /// What was due on a channel was sent, or will be tried again.
    Sent,
    /// Nothing more will be written down.
    End,
}

fn write(
    context: &Context,
    received: &Receiver<Vec<SessionStatus>>,
    written: &Sender<News>,
    open: &AtomicUsize,
) {
    // What was sent without being written down, as on a full disk: it is not sent again.
    let mut told = BTreeSet::new();
    for found in received {
        if !found.is_empty() {
            follow::write_down(context, &found, &mut told).logged("write down a notification");
        }
        // Who sends lives as long as we do.
        let _ = written.send(News::Written);
        open.fetch_sub(1, Ordering::SeqCst);
    }
    let _ = written.send(News::End);
}

fn send(context: &Context, to_send: &Receiver<News>, done: &Sender<News>, is_at_rest: &AtomicBool) {
    let couriers = Couriers::default();
    let mut pause = Duration::ZERO;
    loop {
        let news = match to_send.recv_timeout(pause) {
            Ok(News::End) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(news) => news,
            Err(RecvTimeoutError::Timeout) => News::Written,
        };
        is_at_rest.store(false, Ordering::SeqCst);
        // What a channel did not take is not tried again at once.
        if matches!(news, News::Written) {
            let due = follow::due_channels(context).logged("read notifications");
            for channel in due.into_iter().flatten() {
                couriers.send(context, &channel, done);
            }
        }
        let next = follow::next_due(context).logged("read notifications").flatten();
        let is_late = next.is_none_or(|next| next > SOON);
        is_at_rest.store(couriers.are_idle() && is_late, Ordering::SeqCst);
        pause = next.map_or(LONGEST, |next| next.min(LONGEST));
    }
}
