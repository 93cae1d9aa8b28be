use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, getpgrp};
use rustix::stdio::{stdin, stdout};
use rustix::termios::{
    OptionalActions, QueueSelector, Termios, isatty, tcflush, tcgetattr, tcsetattr, tcsetpgrp,
};

/// Asks a terminal how it is, and its answer: "well". It answers in the order of what it is sent.
///
/// Before that, focus reports are switched off, which an agent that was killed left on: tmux 3.3 and 3.4 (with `focus-events on`)
/// crash, with all sessions, when a client comes to or leaves such a pane after its process has ended.
const QUESTION: &[u8] = b"\x1b[?1004l\x1b[5n";
const ANSWER: &[u8] = b"\x1b[0n";

/// The pane's terminal, as a shell sees it: one process group has it at a time, each with the modes it
/// likes.
#[derive(Debug)]
pub(super) struct Terminal {
    ours: Option<Termios>,
    theirs: Option<Termios>,
}

impl Terminal {
    /// `None` if there is no terminal, as in tests of the runner alone.
    pub(super) fn find() -> Option<Self> {
        isatty(stdin()).then(|| Self {
            ours: tcgetattr(stdin()).logged("read the modes of the terminal"),
            theirs: None,
        })
    }

    /// Makes a process group the one that reads the keyboard and gets its signals.
    pub(super) fn give(&mut self, group: Pid) {
        if let Some(modes) = self.theirs.take() {
            tcsetattr(stdin(), OptionalActions::Now, &modes)
                .logged("set the modes of the terminal");
        }
        tcsetpgrp(stdin(), group).logged("hand the terminal over");
    }

    /// Takes it back, in the modes that we found it in.
    pub(super) fn take(&mut self) {
        tcsetpgrp(stdin(), getpgrp()).logged("hand the terminal over");
        self.theirs = tcgetattr(stdin()).logged("read the modes of the terminal");
        if let Some(modes) = &self.ours {
            tcsetattr(stdin(), OptionalActions::Now, modes).logged("set the modes of the terminal");
        }
    }

    /// Waits, at most so long, until all that was written is on the screen. What a program wrote last
    /// is still on its way to tmux when the program has ended.
    pub(super) fn settle(&mut self, at_most: Duration) {
        let deadline = Instant::now() + at_most;
        self.take();
        let Some(mut modes) = self.ours.clone() else { return };
        // No echo of the answer; and output that Ctrl-S has stopped goes on.
        modes.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &modes).logged("set the modes of the terminal");
        tcflush(stdin(), QueueSelector::IFlush).logged("empty the input of the terminal");
        let mut heard = Vec::new();
        let writable = is_ready(&PollFd::new(&stdout(), PollFlags::OUT), deadline);
        if writable && rustix::io::write(stdout(), QUESTION).is_ok() {
            while !heard.windows(ANSWER.len()).any(|part| part == ANSWER)
                && is_ready(&PollFd::new(&stdin(), PollFlags::IN), deadline)
            {
                let mut bytes = [0; 256];
                match rustix::io::read(stdin(), &mut bytes) {
                    Ok(length) if length > 0 => heard.extend_from_slice(&bytes[..length]),
                    _ => break,
                }
            }
        }
        if let Some(modes) = &self.ours {
            tcsetattr(stdin(), OptionalActions::Now, modes).logged("set the modes of the terminal");
        }
    }
}

/// Waits for one thing until a deadline; false if it passed.
fn is_ready(fd: &PollFd<'_>, deadline: Instant) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    let Ok(timeout) = Timespec::try_from(left) else { return false };
    matches!(poll(&mut [fd.clone()], Some(&timeout)), Ok(ready) if ready > 0)
}

/// Whether the terminal was taken away: the pane was closed, or its server has ended.
pub(super) fn is_gone() -> bool {
    matches!(tcgetattr(stdin()), Err(rustix::io::Errno::IO))
}
