//! What the other threads report to the one that draws. Reports of the same kind replace each other, so that a terminal that is slow
//! or away for hours costs no memory.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use dogwatch_engine::watch::Followed;
use dogwatch_protocol::id::SessionId;
use jiff::Timestamp;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::model::{Notice, Page, Printed, Question, Row};

/// How many panes tmux has; `None` without a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Panes(pub(super) Option<usize>);

/// Why nothing can be seen; `None` if all is well again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Trouble(pub(super) Option<String>);

/// Everything that was reported since it was last taken.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) rows: BTreeMap<SessionId, Option<Row>>,
    pub(super) screen: Option<(Followed, Vec<u8>)>,
    /// How many panes tmux has.
    pub(super) panes: Option<Panes>,
    pub(super) looked_at: Option<BTreeMap<SessionId, Timestamp>>,
    pub(super) trouble: Option<Trouble>,
    pub(super) is_complete: bool,
    pub(super) notice: Option<Notice>,
    pub(super) page: Option<Page>,
    pub(super) questions: Option<Vec<Question>>,
    pub(super) folder: Option<String>,
    /// What commands printed that have ended.
    pub(super) printed: Vec<Printed>,
    /// Messages that were not sent.
    pub(super) drafts: Vec<(SessionId, String)>,
    pub(super) signals: Vec<i32>,
}

/// Where reports go. Whoever draws waits on its file descriptor.
#[derive(Debug, Clone)]
pub(super) struct Inbox {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    pending: Mutex<Pending>,
    wake: OwnedFd,
    woken: OwnedFd,
}

impl Inbox {
    pub(super) fn new() -> std::io::Result<Self> {
        let (woken, wake) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self { shared: Arc::new(Shared { pending: Mutex::default(), wake, woken }) })
    }

    pub(super) fn post(&self, change: impl FnOnce(&mut Pending)) {
        change(&mut self.shared.pending.lock().unwrap_or_else(PoisonError::into_inner));
        // A full pipe wakes as well.
        let _ = rustix::io::write(&self.shared.wake, b"!");
    }

    pub(super) fn say(&self, text: impl Into<String>) {
        let notice = Notice { text: text.into(), is_error: false };
        self.post(|pending| pending.notice = Some(notice));
    }

    pub(super) fn complain(&self, text: impl Into<String>) {
        let notice = Notice { text: text.into(), is_error: true };
        self.post(|pending| pending.notice = Some(notice));
    }

    pub(super) fn take(&self) -> Pending {
        let mut bytes = [0; 64];
        while rustix::io::read(&self.shared.woken, &mut bytes).is_ok_and(|count| count == 64) {}
        std::mem::take(&mut self.shared.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.shared.woken.as_fd()
    }
}
