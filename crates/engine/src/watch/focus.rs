//! One session whose screen is followed closely, for a front end that shows it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dogwatch_protocol::id::SessionId;
use dogwatch_tmux::{CaptureOptions, Command, PaneId, Reply};

use super::line::Line;
use crate::Context;
use crate::observe::capture;
use crate::observe::changes::{Changes, Interest, Waker};

/// Ten pictures a second are as many as a person reads.
const PACE: Duration = Duration::from_millis(100);
/// Rows of a screen that was kept.
const KEPT: u32 = 200;

/// What is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    pub session: SessionId,
    /// Lines of history above the screen.
    pub history: Option<u32>,
}

/// The followed screen and when to read it next. A connection to tmux is open only while a pane is followed.
#[derive(Debug)]
pub struct Focus<'c> {
    context: &'c Context,
    line: Line,
    changes: Changes<()>,
    followed: Option<(Followed, Option<PaneId>)>,
    due: Option<Instant>,
    looked: Option<Instant>,
    screen: Vec<u8>,
}

impl<'c> Focus<'c> {
    pub fn new(context: &'c Context) -> Self {
        let changes = Changes::new();
        let mut line = Line::new(&context.tmux, changes.waker());
        line.want(false);
        let (followed, due, looked, screen) = (None, None, None, Vec::new());
        Self { context, line, changes, followed, due, looked, screen }
    }

    /// Ends a wait early, from another thread.
    pub fn waker(&self) -> Waker {
        self.changes.waker()
    }

    /// Follows the screen of this session from now on, or of none. Without a pane, it is the screen that was kept.
    pub fn follow(&mut self, followed: Option<Followed>, pane: Option<PaneId>) {
        let followed = followed.map(|followed| (followed, pane));
        if self.followed == followed {
            return;
        }
        self.line.want(pane.is_some());
        self.line.connect();
        let terminal = pane.and_then(|pane| {
            let tty = self.line.ask(Command::about_pane(pane, "#{pane_tty}"))?;
            let tty = tty.text().trim().to_owned();
            (!tty.is_empty()).then(|| Interest::Terminal(tty.into()))
        });
        self.changes
            .set(terminal.into_iter().map(|terminal| (terminal, ())).collect::<BTreeSet<_>>());
        (self.followed, self.looked, self.due) = (followed, None, Some(Instant::now()));
    }

    /// Something may have been written to its terminal.
    pub fn stir(&mut self) {
        if self.followed.is_some() {
            let now = Instant::now();
            let at = self.looked.map_or(now, |looked| now.max(looked + PACE));
            self.due = Some(self.due.map_or(at, |due| due.min(at)));
        }
    }

    /// Waits at most so long, or until `stop` is set and the waker called, for another screen, with its colours.
    pub fn next(&mut self, at_most: Duration, stop: &AtomicBool) -> Option<(Followed, Vec<u8>)> {
        let until = Instant::now() + at_most;
        loop {
            if let Some(screen) = self.look() {
                return Some(screen);
            }
            let now = Instant::now();
            if now >= until || stop.load(Ordering::Acquire) {
                return None;
            }
            let wakes = self.due.map_or(until, |due| due.min(until));
            if !self.changes.wait(wakes.saturating_duration_since(now)).is_empty() {
                self.stir();
            }
        }
    }

    /// The followed screen, if it is due and another one than before.
    fn look(&mut self) -> Option<(Followed, Vec<u8>)> {
        let now = Instant::now();
        if self.due.is_none_or(|due| due > now) {
            return None;
        }
        self.due = None;
        let (followed, pane) = self.followed.clone()?;
        let screen = if let Some(pane) = pane {
            let options = CaptureOptions { lines: followed.history, ansi: true, joined: false };
            self.line.connect();
            self.line.ask(options.command(pane)).map(Reply::into_bytes)
        } else {
            let rows = followed.history.unwrap_or(capture::HISTORY.min(KEPT));
            capture::kept(self.context, &followed.session, rows).map(|screen| screen.text)
        };
        let is_first = self.looked.replace(now).is_none();
        let screen = screen.unwrap_or_default();
        if !is_first && screen == self.screen {
            return None;
        }
        self.screen.clone_from(&screen);
        Some((followed, screen))
    }
}
