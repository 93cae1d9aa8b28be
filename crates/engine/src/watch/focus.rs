//! One session whose screen is followed closely, for a front end that shows it.

use std::time::{Duration, Instant};

use dogwatch_protocol::id::SessionId;
use dogwatch_tmux::{CaptureOptions, Reply};

use super::Watcher;
use crate::observe::changes::Interest;
use crate::observe::{capture, proc_files};

/// Ten pictures a second are as many as a person reads.
const PACE: Duration = Duration::from_millis(100);

/// What is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    pub session: SessionId,
    /// Lines of history above the screen.
    pub history: Option<u32>,
}

/// The followed screen and when to read it next.
#[derive(Debug, Default)]
pub(super) struct Focus {
    followed: Option<Followed>,
    due: Option<Instant>,
    looked: Option<Instant>,
    screen: Vec<u8>,
    is_new: bool,
}

impl Focus {
    /// Something was written to its terminal.
    pub(super) fn stir(&mut self, now: Instant) {
        if self.followed.is_some() {
            let at = self.looked.map_or(now, |looked| now.max(looked + PACE));
            self.due = Some(self.due.map_or(at, |due| due.min(at)));
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    pub(super) fn is(&self, session: &str) -> bool {
        self.followed.as_ref().is_some_and(|followed| followed.session == *session)
    }
}

impl Watcher<'_> {
    /// Follows the screen of this session from now on, or of none.
    pub fn follow(&mut self, followed: Option<Followed>) {
        if self.focus.followed != followed {
            self.focus = Focus { followed, ..Focus::default() };
            self.focus.stir(Instant::now());
            self.listen();
        }
    }

    /// The followed screen with its colours, if it changed since the last call.
    pub fn screen(&mut self) -> Option<(Followed, Vec<u8>)> {
        if !std::mem::take(&mut self.focus.is_new) {
            return None;
        }
        Some((self.focus.followed.clone()?, self.focus.screen.clone()))
    }

    /// Where writes to the followed screen are noticed.
    pub(super) fn focus_interest(&self) -> Option<Interest> {
        let watched = self.watched.get(&self.focus.followed.as_ref()?.session)?;
        proc_files::terminal(watched.status.seen.pane?.pid).map(Interest::Terminal)
    }

    /// Reads the followed screen if it is due.
    pub(super) fn look_at_focus(&mut self, now: Instant) {
        if self.focus.due.is_none_or(|due| due > now) {
            return;
        }
        self.focus.due = None;
        let Some(followed) = self.focus.followed.clone() else { return };
        let Some(watched) = self.watched.get(&followed.session) else {
            // Not listed yet: the listing stirs it.
            return;
        };
        let seen = &watched.status.seen;
        let living = seen.pane.filter(|pane| !pane.dead && !seen.life.state.is_over());
        let screen = if let Some(pane) = living {
            let options = CaptureOptions { lines: followed.history, ansi: true, joined: false };
            self.line.ask(options.command(pane.pane_id)).map(Reply::into_bytes)
        } else {
            let rows = followed.history.unwrap_or(capture::HISTORY.min(200));
            capture::kept(self.context, seen, rows).map(|screen| screen.text)
        };
        let is_first = self.focus.looked.is_none();
        self.focus.looked = Some(now);
        let screen = screen.unwrap_or_default();
        if is_first || screen != self.focus.screen {
            self.focus.screen = screen;
            self.focus.is_new = true;
        }
    }
}
