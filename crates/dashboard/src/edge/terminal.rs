//! The terminal: raw mode and the alternate screen, given back however the program ends.

use std::fmt::Write as _;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::stdout;
use rustix::termios::QueueSelector;

use super::paint::paint;

/// Alternate screen, no cursor, pasted text marked as such.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[2J";
const LEAVE: &str = "\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";

/// Buttons and the wheel, with coordinates in decimal.
const MOUSE: &str = "\x1b[?1000h\x1b[?1006h";
const NO_MOUSE: &str = "\x1b[?1006l\x1b[?1000l";

/// How often a thread that waits for the terminal checks whether it is still ours.
const PATIENCE: Duration = Duration::from_millis(300);

/// Most changes fit into one part: they are shown whole.
const PART: usize = 4096;

static IS_OURS: AtomicBool = AtomicBool::new(false);
static RESTORING: Mutex<()> = Mutex::new(());
/// Held while a part of a frame is written.
static WRITING: Mutex<()> = Mutex::new(());
static HAS_MOUSE: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back; from a panic or from another thread too.
pub(super) fn restore() {
    // Whoever comes second waits: the process ends after it.
    let _one = RESTORING.lock().unwrap_or_else(PoisonError::into_inner);
    if IS_OURS.swap(false, Ordering::SeqCst) {
        // A terminal that is gone cannot be restored.
        let _ = disable_raw_mode();
        let mouse = if HAS_MOUSE.load(Ordering::SeqCst) { NO_MOUSE } else { "" };
        let _ = rustix::io::write(stdout(), format!("{mouse}{LEAVE}").as_bytes());
    }
}

/// The same for a terminal that takes no output and holds up the thread that draws: what it has not taken yet is discarded, which
/// makes room for more than a frame.
pub(super) fn restore_by_force() {
    let flush = || rustix::termios::tcflush(stdout(), QueueSelector::OFlush);
    let begun = Instant::now();
    // The thread that draws may be in the middle of a write: what is left of it must not come after the end.
    let _held = loop {
        let _ = flush();
        match WRITING.try_lock() {
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                // sleep: the write that holds the lock ends as soon as the flush has made room.
                std::thread::sleep(Duration::from_millis(5));
            }
            held => break held,
        }
    };
    let _ = flush();
    restore();
}

fn is_writable(at_most: Duration) -> bool {
    let out = stdout();
    let mut fds = [PollFd::new(&out, PollFlags::OUT)];
    let timeout = Timespec::try_from(at_most).ok();
    poll(&mut fds, timeout.as_ref()).is_ok_and(|ready| ready > 0)
}

/// What is on the terminal, to write only what changes.
#[derive(Debug)]
pub(super) struct Terminal {
    drawn: Buffer,
    cursor: Option<Position>,
}

impl Terminal {
    pub(super) fn open(has_mouse: bool) -> io::Result<Self> {
        HAS_MOUSE.store(has_mouse, Ordering::SeqCst);
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
        if HAS_MOUSE.load(Ordering::SeqCst) {
            write(MOUSE)?;
        }
        self.forget();
        Ok(())
    }

    pub(super) fn leave() {
        restore();
    }

    /// Whether it may be drawn on.
    pub(super) fn is_ours() -> bool {
        IS_OURS.load(Ordering::SeqCst)
    }

    /// What is on the terminal is not known any more.
    pub(super) fn forget(&mut self) {
        self.drawn = Buffer::empty(Rect::ZERO);
    }

    pub(super) fn size() -> (u16, u16) {
        let size = rustix::termios::tcgetwinsize(io::stdout());
        match size {
            // A terminal that nothing has told its size.
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            _ => (80, 24),
        }
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

/// Writes what the terminal takes, a part at a time, for as long as it is ours: a thread that restores it while this one waits must
/// not be followed by the rest of a frame. Without the lock of the standard library, which that thread would wait for.
fn write(text: &str) -> io::Result<()> {
    let mut left = text.as_bytes();
    while !left.is_empty() && Terminal::is_ours() {
        if !is_writable(PATIENCE) {
            continue;
        }
        let _held = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        if !Terminal::is_ours() {
            break;
        }
        match rustix::io::write(stdout(), &left[..left.len().min(PART)]) {
            Ok(written) => left = &left[written..],
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dogwatch_testkit::{PrivateTmux, eventually};

    /// The released binary drops nothing: only the hook is left to do it.
    #[test]
    #[ignore = "runs in a terminal of its own, by the next test"]
    fn panics() {
        std::mem::forget(Terminal::open(true).unwrap());
        assert!(!Terminal::is_ours(), "on purpose");
    }

    #[test]
    fn a_panic_gives_the_terminal_back() {
        let tmux = PrivateTmux::idle();
        let (errors, settings) = (tmux.path().join("errors"), tmux.path().join("settings"));
        let script = format!(
            "'{}' --ignored --exact edge::terminal::tests::panics --nocapture 2>'{}'; stty -a >'{}'; exec cat",
            std::env::current_exe().unwrap().display(),
            errors.display(),
            settings.display()
        );
        tmux.session_with("outer", &["sh", "-c", &script]);
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        eventually("it has ended", || read(&settings).ends_with('\n'));
        assert!(read(&errors).contains("on purpose"), "{}", read(&errors));
        let settings = read(&settings);
        let set = settings.split_whitespace().map(|word| word.trim_end_matches(';'));
        let set = set.filter(|word| ["echo", "icanon", "isig"].contains(word)).count();
        assert_eq!(set, 3, "{settings}");
        let flags = "#{alternate_on} #{cursor_flag} #{mouse_any_flag}";
        assert_eq!(tmux.ask(flags).as_deref(), Some("0 1 0"));
    }
}
