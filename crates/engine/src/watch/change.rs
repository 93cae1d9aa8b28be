//! What a watcher reports.

use dogwatch_core::status::Verdict;
use dogwatch_protocol::status::{WatchEvent, WatchLine};
use jiff::Timestamp;

use crate::observe::listing;
use crate::observe::status::SessionStatus;

#[derive(Debug, Clone)]
pub struct Change {
    pub at: Timestamp,
    pub what: What,
    pub status: SessionStatus,
}

#[derive(Debug, Clone)]
pub enum What {
    /// Seen for the first time by this watcher.
    Seen,
    /// Its status changed.
    Changed { from: Box<Verdict> },
    /// It was archived, or the agent left an unmanaged pane. The verdict is the last one.
    Gone,
}

impl Change {
    /// One line of `watch --json`.
    pub fn line(&self) -> WatchLine {
        let (event, from) = match &self.what {
            What::Seen => (WatchEvent::Seen, None),
            What::Changed { from } => (WatchEvent::Changed, Some(from.status.as_str())),
            What::Gone => (WatchEvent::Gone, Some(self.status.verdict.status.as_str())),
        };
        let from = from.map(ToOwned::to_owned);
        WatchLine { event, at: self.at, from, session: listing::report(&self.status) }
    }
}
