//! The terminal: what is written to it, the modes it is in, and how it was before.

use std::fmt;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::termios::{OptionalActions, OutputModes, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// A terminal that is put back as it was when this is dropped.
pub(super) struct Terminal {
    output: Box<dyn Write>,
    tty: Option<OwnedFd>,
    /// The modes before raw mode, while raw mode is on.
    cooked: Option<Termios>,
    alternate_screen: bool,
    bracketed_paste: bool,
}

impl Terminal {
    pub(super) fn new(output: Box<dyn Write>, tty: Option<OwnedFd>) -> Self {
        Self { output, tty, cooked: None, alternate_screen: false, bracketed_paste: false }
    }

    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        self.output.write_all(text.as_bytes())?;
        self.output.flush()
    }

    pub(super) fn alternate_screen(&mut self, on: bool) -> io::Result<()> {
        self.alternate_screen = on;
        self.write(if on { "\x1b[?1049h" } else { "\x1b[?1049l" })
    }

    pub(super) fn bracketed_paste(&mut self, on: bool) -> io::Result<()> {
        self.bracketed_paste = on;
        self.write(if on { "\x1b[?2004h" } else { "\x1b[?2004l" })
    }

    pub(super) fn is_raw(&self) -> bool {
        self.cooked.is_some()
    }

    pub(super) fn raw(&mut self, on: bool) -> io::Result<()> {
        if on {
            return self.make_raw();
        }
        match (&self.tty, self.cooked.take()) {
            (Some(tty), Some(cooked)) => Ok(tcsetattr(tty, OptionalActions::Now, &cooked)?),
            _ => Ok(()),
        }
    }

    /// Also repairs raw mode after a shell has changed the modes behind our back.
    fn make_raw(&mut self) -> io::Result<()> {
        let tty = self
            .tty
            .as_ref()
            .ok_or_else(|| io::Error::other("raw mode needs a terminal as input"))?;
        let current = tcgetattr(tty)?;
        let mut raw = current.clone();
        raw.make_raw();
        // As libuv does it, so that a plain newline in a text still starts a line.
        raw.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
        tcsetattr(tty, OptionalActions::Now, &raw)?;
        self.cooked.get_or_insert(current);
        Ok(())
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> Option<(u16, u16)> {
        let size = tcgetwinsize(self.tty.as_ref()?).ok()?;
        Some((size.ws_col, size.ws_row))
    }
}

impl Drop for Terminal {
    /// What fails here fails because the terminal is gone, which is as good as restored.
    fn drop(&mut self) {
        if self.bracketed_paste {
            let _ = self.bracketed_paste(false);
        }
        if self.alternate_screen {
            let _ = self.alternate_screen(false);
        }
        let _ = self.raw(false);
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal")
            .field("tty", &self.tty)
            .field("alternate_screen", &self.alternate_screen)
            .field("bracketed_paste", &self.bracketed_paste)
            .finish_non_exhaustive()
    }
}
