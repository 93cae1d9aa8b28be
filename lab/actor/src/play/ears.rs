//! Waiting: for input, for a new window size, or for time to pass.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::SIGWINCH;
use signal_hook::{SigId, low_level};

use super::ending::Trouble;
use crate::keys::{Decoder, Key};

/// How long after an Escape the rest of a sequence may come, as most terminal programs have it.
const ESCAPE_DELAY: Duration = Duration::from_millis(30);

/// What came while waiting.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) keys: Vec<Key>,
    pub(super) resized: bool,
}

#[derive(Debug)]
pub(super) struct Ears {
    input: File,
    ended: bool,
    decoder: Decoder,
    /// When an ambiguous Escape becomes a key.
    settle_at: Option<Instant>,
    record: Option<File>,
    resizes: UnixStream,
    resize_signal: SigId,
}

impl Ears {
    pub(super) fn new(input: OwnedFd, record: Option<File>) -> Result<Self, Trouble> {
        let (resizes, resize_signal) = watch_resizes().map_err(Trouble::Signals)?;
        Ok(Self {
            input: File::from(input),
            ended: false,
            decoder: Decoder::default(),
            settle_at: None,
            record,
            resizes,
            resize_signal,
        })
    }

    /// Whether no further input can come.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Waits until something happens or the time has come; without a time, for as long as it takes.
    pub(super) fn wait(&mut self, until: Option<Instant>) -> Result<Heard, Trouble> {
        let deadline = [until, self.settle_at].into_iter().flatten().min();
        let (readable, resized) = self.poll(deadline).map_err(Trouble::Terminal)?;
        let mut heard = Heard::default();
        if resized {
            heard.resized = self.drain_resizes();
        }
        if readable {
            heard.keys = self.read()?;
        } else if self.settle_at.is_some_and(|time| time <= Instant::now()) {
            self.settle_at = None;
            heard.keys = self.decoder.settle();
        }
        Ok(heard)
    }

    fn poll(&self, deadline: Option<Instant>) -> io::Result<(bool, bool)> {
        let resizes = PollFd::new(&self.resizes, PollFlags::IN);
        let input = PollFd::new(&self.input, PollFlags::IN);
        let mut both = [resizes, input];
        // An ended input is always readable and would never let us sleep.
        let watched = if self.ended { &mut both[..1] } else { &mut both[..] };
        let timeout = deadline
            .map(|time| time.saturating_duration_since(Instant::now()))
            .and_then(|left| Timespec::try_from(left).ok());
        match poll(watched, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [resizes, input] = both;
        Ok((!input.revents().is_empty(), !resizes.revents().is_empty()))
    }

    fn read(&mut self) -> Result<Vec<Key>, Trouble> {
        let mut buffer = [0; 4096];
        let count = match self.input.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Vec::new()),
            // A terminal that was hung up gives EIO: no input any more, but perhaps the play goes on.
            Err(_) => 0,
        };
        let bytes = &buffer[..count];
        self.ended = bytes.is_empty();
        if let Some(record) = &mut self.record {
            record.write_all(bytes).map_err(Trouble::Terminal)?;
        }
        let keys = self.decoder.feed(bytes);
        self.settle_at = self.decoder.is_ambiguous().then(|| Instant::now() + ESCAPE_DELAY);
        Ok(keys)
    }

    fn drain_resizes(&mut self) -> bool {
        let mut buffer = [0; 64];
        matches!(self.resizes.read(&mut buffer), Ok(count) if count > 0)
    }
}

impl Drop for Ears {
    fn drop(&mut self) {
        low_level::unregister(self.resize_signal);
    }
}

fn watch_resizes() -> io::Result<(UnixStream, SigId)> {
    let (receiver, sender) = UnixStream::pair()?;
    receiver.set_nonblocking(true)?;
    let signal = low_level::pipe::register(SIGWINCH, sender)?;
    Ok((receiver, signal))
}
