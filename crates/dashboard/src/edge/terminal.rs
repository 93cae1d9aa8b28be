//! The terminal: raw mode and the alternate screen, given back however the program ends.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::paint::paint;

/// Alternate screen, no cursor, pasted text marked as such.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[2J";
const LEAVE: &str = "\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";

static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back; from a panic or from another thread too.
pub(super) fn restore() {
    if IS_OURS.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        // A terminal that is gone cannot be restored.
        let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
        let _ = disable_raw_mode();
    }
}

/// What is on the terminal, to write only what changes.
#[derive(Debug)]
pub(super) struct Terminal {
    drawn: Buffer,
    cursor: Option<Position>,
}

impl Terminal {
    pub(super) fn open() -> io::Result<Self> {
        // The released binary aborts in a panic, and drops nothing.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
        let mut terminal = Self { drawn: Buffer::empty(Rect::ZERO), cursor: None };
        terminal.enter()?;
        Ok(terminal)
    }

    /// Takes the terminal, and draws everything anew.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        IS_OURS.store(true, Ordering::SeqCst);
        write(ENTER)?;
        self.forget();
        Ok(())
    }

    pub(super) fn leave() {
        restore();
    }

    /// What is on the terminal is not known any more.
    pub(super) fn forget(&mut self) {
        self.drawn = Buffer::empty(Rect::ZERO);
    }

    pub(super) fn size() -> (u16, u16) {
        let size = rustix::termios::tcgetwinsize(io::stdout());
        size.map_or((80, 24), |size| (size.ws_col.max(1), size.ws_row.max(1)))
    }

    /// Draws what differs from the last frame, and nothing if nothing does.
    pub(super) fn show(&mut self, next: Buffer, cursor: Option<Position>) -> io::Result<()> {
        let mut out = String::new();
        if next.area != self.drawn.area {
            out.push_str("\x1b[0m\x1b[2J");
            self.drawn = Buffer::empty(next.area);
        }
        let painted = paint(self.drawn.diff(&next).into_iter());
        if painted.is_empty() && out.is_empty() && cursor == self.cursor {
            return Ok(());
        }
        if self.cursor.is_some() && !painted.is_empty() {
            out.push_str("\x1b[?25l");
        }
        out.push_str(&painted);
        match cursor {
            Some(Position { x, y }) => {
                let _ = write!(out, "\x1b[{};{}H\x1b[?25h", y + 1, x + 1);
            }
            None if self.cursor.is_some() => out.push_str("\x1b[?25l"),
            None => {}
        }
        self.cursor = cursor;
        self.drawn = next;
        write(&out)
    }
}

/// In one write: a terminal that is slow shows no halves of frames.
fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}
