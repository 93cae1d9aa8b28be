//! Ends with whoever started the program, so that a test that dies leaves nothing behind.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat};
use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open};

/// Keeps an eye on the parent process.
///
/// To be made before anybody can know that the program runs: a parent that dies earlier would be
/// taken for the process that inherits its children.
#[derive(Debug)]
pub struct Parent {
    /// Nothing when the parent had ended already.
    process: Option<OwnedFd>,
}

impl Parent {
    pub fn watch() -> Self {
        let alive = getppid().filter(|parent| *parent != Pid::INIT);
        let process = alive.and_then(|parent| pidfd_open(parent, PidfdFlags::empty()).ok());
        Self { process }
    }

    /// Returns when the parent has ended, or when the pipe or socket that is standard input has
    /// been closed at the other end.
    ///
    /// Another kind of standard input (a terminal, a file, `/dev/null`) is left alone: its end
    /// means nothing.
    pub fn wait_for_end(self) -> io::Result<()> {
        let Some(parent) = self.process else {
            return Ok(());
        };
        let mut stdin = io::stdin();
        let kind = FileType::from_raw_mode(fstat(&stdin)?.st_mode);
        let watched = if matches!(kind, FileType::Fifo | FileType::Socket) { 2 } else { 1 };
        loop {
            let mut both =
                [PollFd::new(&parent, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut both[..watched], None) {
                Err(rustix::io::Errno::INTR) => continue,
                result => result?,
            };
            let [parent_ended, stdin_ready] = both.map(|fd| !fd.revents().is_empty());
            if parent_ended || (stdin_ready && stdin.read(&mut [0; 512])? == 0) {
                return Ok(());
            }
        }
    }
}
