//! Runs one child process with a deadline: writes its input and reads its output on the caller's thread.

use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};

use crate::transport::Output;

#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    feed: Option<Feed>,
    deadline: Instant,
}

/// Input that is still to be written to the child.
#[derive(Debug)]
struct Feed {
    pipe: ChildStdin,
    bytes: Vec<u8>,
    written: usize,
}

impl Process {
    pub(crate) fn spawn(
        command: &mut Command,
        stdin: Option<Vec<u8>>,
        deadline: Instant,
    ) -> io::Result<Self> {
        let mut child = command
            .stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let pipe = child.stdin.take();
        let mut process = Self { child, feed: None, deadline };
        if let (Some(pipe), Some(bytes)) = (pipe, stdin) {
            fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
            process.feed = Some(Feed { pipe, bytes, written: 0 });
            process.write_some()?;
        }
        Ok(process)
    }

    /// Enlarges the pipe, so that the child need not wait until its output is read. Linux only.
    pub(crate) fn make_room(&self) {
        #[cfg(target_os = "linux")]
        if let Some(pipe) = &self.child.stdout {
            const ROOM: usize = 1024 * 1024;
            rustix::pipe::fcntl_setpipe_size(pipe, ROOM).logged("enlarge a pipe");
        }
    }

    /// Waits for the end; `None` if the deadline came first, and then the child is killed.
    pub(crate) fn finish(mut self) -> io::Result<Option<Output>> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        while self.child.stdout.is_some() || self.child.stderr.is_some() {
            let Some(ready) = self.wait_ready()? else {
                return Ok(None);
            };
            if ready.stdout && read_some(self.child.stdout.as_mut(), &mut stdout)? {
                self.child.stdout = None;
            }
            if ready.stderr && read_some(self.child.stderr.as_mut(), &mut stderr)? {
                self.child.stderr = None;
            }
            if ready.stdin {
                self.write_some()?;
            }
        }
        // A tmux client that closed both outputs is exiting.
        let status = self.child.wait()?;
        Ok(Some(Output { status, stdout, stderr }))
    }

    fn wait_ready(&self) -> io::Result<Option<Ready>> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let mut fds = Vec::with_capacity(3);
            let mut at = [None; 3];
            if let Some(pipe) = &self.child.stdout {
                at[0] = Some(fds.len());
                fds.push(PollFd::new(pipe, PollFlags::IN));
            }
            if let Some(pipe) = &self.child.stderr {
                at[1] = Some(fds.len());
                fds.push(PollFd::new(pipe, PollFlags::IN));
            }
            if let Some(feed) = &self.feed {
                at[2] = Some(fds.len());
                fds.push(PollFd::new(&feed.pipe, PollFlags::OUT));
            }
            match poll(&mut fds, Some(&timespec(left))) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => {
                    let [stdout, stderr, stdin] =
                        at.map(|at| at.is_some_and(|at| !fds[at].revents().is_empty()));
                    return Ok(Some(Ready { stdout, stderr, stdin }));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn write_some(&mut self) -> io::Result<()> {
        let Some(feed) = &mut self.feed else {
            return Ok(());
        };
        while feed.written < feed.bytes.len() {
            match feed.pipe.write(&feed.bytes[feed.written..]) {
                Ok(count) => feed.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // The child exited early; its exit status and stderr say why.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
                Err(error) => return Err(error),
            }
        }
        self.feed = None;
        Ok(())
    }
}

/// Leaves neither a child nor a zombie behind, however the wait ended.
impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.child.kill().logged("end a process");
            self.child.wait().logged("wait for a process");
        }
    }
}

#[derive(Debug)]
struct Ready {
    stdout: bool,
    stderr: bool,
    stdin: bool,
}

/// Reads once; true at end of file.
fn read_some(pipe: Option<&mut impl Read>, into: &mut Vec<u8>) -> io::Result<bool> {
    let Some(pipe) = pipe else {
        return Ok(true);
    };
    let mut chunk = [0; 16 * 1024];
    match pipe.read(&mut chunk) {
        Ok(0) => Ok(true),
        Ok(count) => {
            into.extend_from_slice(&chunk[..count]);
            Ok(false)
        }
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn timespec(duration: Duration) -> Timespec {
    // Durations here are seconds; the conversion only fails beyond 292 years.
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, stdin: Option<Vec<u8>>, limit: Duration) -> Option<Output> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::spawn(&mut command, stdin, Instant::now() + limit).unwrap().finish().unwrap()
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn both_outputs_and_the_status_are_collected() {
        let output = shell("echo out; echo err >&2; exit 3", None, LONG).unwrap();
        assert_eq!(
            (output.stdout.as_slice(), output.stderr.as_slice()),
            (&b"out\n"[..], &b"err\n"[..])
        );
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn large_input_and_output_do_not_deadlock() {
        let bytes = vec![b'x'; 3_000_000];
        let output = shell("tee /dev/stderr", Some(bytes.clone()), LONG).unwrap();
        assert!(output.stdout == bytes && output.stderr == bytes);
    }

    #[test]
    fn a_child_that_reads_nothing_is_not_an_error() {
        let output = shell("exit 1", Some(vec![0; 1_000_000]), LONG).unwrap();
        assert_eq!(output.status.code(), Some(1));
    }

    #[test]
    fn the_deadline_kills_the_child() {
        let begun = Instant::now();
        assert!(shell("exec cat", Some(vec![]), LONG).is_some());
        assert!(shell("exec tail -f /dev/null", None, Duration::from_millis(50)).is_none());
        assert!(begun.elapsed() < LONG);
    }
}
