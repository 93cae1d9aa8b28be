use rustix::process::{Pid, getpgrp};
use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr, tcsetpgrp};

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
        isatty(stdin()).then(|| Self { ours: tcgetattr(stdin()).ok(), theirs: None })
    }

    /// Makes a process group the one that reads the keyboard and gets its signals.
    pub(super) fn give(&mut self, group: Pid) {
        if let Some(modes) = self.theirs.take() {
            let _ = tcsetattr(stdin(), OptionalActions::Drain, &modes);
        }
        let _ = tcsetpgrp(stdin(), group);
    }

    /// Takes it back, in the modes that we found it in.
    pub(super) fn take(&mut self) {
        let _ = tcsetpgrp(stdin(), getpgrp());
        self.theirs = tcgetattr(stdin()).ok();
        if let Some(modes) = &self.ours {
            let _ = tcsetattr(stdin(), OptionalActions::Drain, modes);
        }
    }
}
