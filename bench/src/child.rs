//! Runs one command, timed from before its start until it has been reaped.

use std::io::{ErrorKind, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::Error;

/// Most measured commands take a hundredth of it; ending a thousand sessions takes longer.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) took: Duration,
    pub(crate) stdout: Vec<u8>,
    status: ExitStatus,
    shown: String,
}

impl Done {
    /// The run, if it succeeded.
    pub(crate) fn success(self) -> Result<Self, Error> {
        if self.status.success() {
            return Ok(self);
        }
        Err(Error::Failed {
            command: self.shown,
            status: self.status.to_string(),
            said: String::from_utf8_lossy(&self.stdout).trim().to_owned(),
        })
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim().to_owned()
    }
}

/// Runs the command to its end, which its closed output announces.
pub(crate) fn run(command: &mut Command) -> Result<Done, Error> {
    let begun = Instant::now();
    let mut child = Guard(start(command.stdout(Stdio::piped()))?);
    let mut stdout = Vec::new();
    if let Some(mut pipe) = child.0.stdout.take() {
        loop {
            wait_readable(&pipe, begun, command)?;
            let mut chunk = [0; 16 * 1024];
            match pipe.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => stdout.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Error::io(format!("read from {}", shown(command)))(error));
                }
            }
        }
    }
    let status = child.0.wait().map_err(Error::io("wait for a command"))?;
    Ok(Done { took: begun.elapsed(), stdout, status, shown: shown(command) })
}

pub(crate) fn start(command: &mut Command) -> Result<Child, Error> {
    command.spawn().map_err(|source| Error::io(format!("start {}", shown(command)))(source))
}

/// Waits until there is something to read, at most until [`PATIENCE`] after `begun`.
pub(crate) fn wait_readable(
    file: &impl std::os::fd::AsFd,
    begun: Instant,
    command: &Command,
) -> Result<(), Error> {
    loop {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(Error::TooLong { command: shown(command), after: PATIENCE });
        }
        let timeout = Timespec::try_from(left).ok();
        match poll(&mut [PollFd::new(file, PollFlags::IN)], timeout.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(Error::io("wait for a command")(error.into())),
        }
    }
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Leaves no child behind, however the wait ended.
#[derive(Debug)]
pub(crate) struct Guard(pub(crate) Child);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}
