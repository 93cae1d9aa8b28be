//! One connection: a `tmux -C` process attached to its own anchor.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_setfl};

use super::parent_death_guard::ParentDeathGuard;
use super::proto::{Event, Parser};
use crate::connect_lock::ConnectLock;
use crate::nonce::nonce;
use crate::process::timespec;
use crate::{ANCHOR_PREFIX, Command, Error, Server, SessionName};

/// The two directions are used by different threads.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) outlet: Outlet,
    pub(super) inlet: Inlet,
}

#[derive(Debug)]
pub(super) struct Outlet {
    pipe: ChildStdin,
}

#[derive(Debug)]
pub(super) struct Inlet {
    child: Child,
    guard: ParentDeathGuard,
    pipe: ChildStdout,
    parser: Parser,
    heard: VecDeque<Event>,
}

/// What ended a wait for tmux.
#[derive(Debug)]
pub(super) enum Heard {
    Event(Event),
    /// The owner wants the thread to stop.
    Closing,
    Late,
    End,
}

/// A unique name; a pid alone is not unique across containers on one socket.
pub(super) fn anchor_name() -> Result<SessionName, Error> {
    Ok(SessionName::new(format!("{ANCHOR_PREFIX}-{}-{}", std::process::id(), &nonce()[..10]))?)
}

/// Moves the client that sends it to its anchor, and creates that if necessary. The anchor's directory is `/`
/// so that it keeps no directory busy, and its window has a name so that tmux need not look for
/// one.
pub(super) fn go_to_anchor(anchor: &SessionName) -> Command {
    Command::new("new-session")
        .flag('A')
        .option('s', anchor.as_str())
        .option('n', "anchor")
        .option('c', "/")
        .arg("cat")
}

impl Link {
    /// Connects and waits until tmux has attached the client. Never starts a server.
    pub(super) fn open(
        server: &Server,
        anchor: &SessionName,
        closing: &PipeReader,
    ) -> Result<Self, Error> {
        if !server.transport().has_control_mode() {
            return Err(Error::Disconnected);
        }
        let _lock = ConnectLock::wait(&server.connect_lock);
        let attach = go_to_anchor(anchor).option('f', "no-output,ignore-size");
        let mut child = server
            .running_only()
            .command()
            .arg("-C")
            .args(attach.words())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| server.spawn_error(error))?;
        let guard = ParentDeathGuard::of(&child);
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Disconnected);
        };
        let parser = Parser::default();
        let mut inlet = Inlet { child, guard, pipe: stdout, parser, heard: VecDeque::new() };
        inlet.wait_attached(server, closing)?;
        fcntl_setfl(&stdin, OFlags::NONBLOCK).map_err(|error| Error::Io {
            action: "set up the pipe to tmux",
            source: std::sync::Arc::new(error.into()),
        })?;
        Ok(Self { outlet: Outlet { pipe: stdin }, inlet })
    }
}

impl Outlet {
    /// Writes everything or fails; after a failure half a line may have been sent, and the link must
    /// not be used any more.
    pub(super) fn write(&mut self, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.pipe.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(ErrorKind::TimedOut.into());
                    }
                    let mut fds = [PollFd::new(&self.pipe, PollFlags::OUT)];
                    retry_interrupted(poll(&mut fds, Some(&timespec(left))))?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Inlet {
    /// The next event; without a deadline the wait ends only by tmux or the owner.
    pub(super) fn next(
        &mut self,
        closing: &PipeReader,
        deadline: Option<Instant>,
    ) -> io::Result<Heard> {
        loop {
            if let Some(event) = self.heard.pop_front() {
                return Ok(Heard::Event(event));
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(Heard::Late);
            }
            let mut fds = [
                PollFd::new(&self.pipe, PollFlags::IN),
                PollFd::from_borrowed_fd(closing.as_fd(), PollFlags::IN),
            ];
            retry_interrupted(poll(&mut fds, left.map(timespec).as_ref()))?;
            let [heard, closing] = fds.map(|fd| !fd.revents().is_empty());
            if closing {
                return Ok(Heard::Closing);
            }
            if heard && !self.read()? {
                return Ok(Heard::End);
            }
        }
    }

    /// False at end of file.
    fn read(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 16 * 1024];
        match self.pipe.read(&mut chunk) {
            Ok(0) => Ok(false),
            Ok(count) => {
                self.heard.extend(self.parser.push(&chunk[..count]));
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// The first reply is that of the attaching command itself.
    fn wait_attached(&mut self, server: &Server, closing: &PipeReader) -> Result<(), Error> {
        let command = || "-C new-session".to_owned();
        let deadline = Instant::now() + server.deadline;
        loop {
            let heard = self
                .next(closing, Some(deadline))
                .map_err(|source| Error::Io { action: "listen to tmux", source: source.into() })?;
            let message = match heard {
                Heard::Event(Event::Reply { ok: true, .. }) => return Ok(()),
                Heard::Event(Event::Reply { body, .. }) => body.text().trim().to_owned(),
                Heard::Event(Event::Note(_)) => continue,
                Heard::Event(Event::Exit { reason }) => reason,
                Heard::End => self.error_message(),
                Heard::Closing => return Err(Error::Disconnected),
                Heard::Late => {
                    return Err(Error::Timeout { command: command(), after: server.deadline });
                }
            };
            return Err(if message.is_empty() {
                Error::ServerDying
            } else {
                server.explain(command(), message, None)
            });
        }
    }

    /// The client's error message when it could not attach. Its output may end a moment before the message comes,
    /// because the server held it open.
    fn error_message(&mut self) -> String {
        let deadline = Instant::now() + Duration::from_secs(1);
        let mut text = Vec::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let mut chunk = [0; 1024];
            while wait_readable(&stderr, deadline).unwrap_or(false) {
                match stderr.read(&mut chunk) {
                    Ok(count @ 1..) => text.extend_from_slice(&chunk[..count]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => break,
                }
            }
        }
        String::from_utf8_lossy(&text).trim().to_owned()
    }

    fn end(&mut self) {
        self.guard.drop_it();
        self.child.kill().logged("end a process");
        self.child.wait().logged("wait for a process");
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        self.end();
    }
}

/// False when the deadline came first.
fn wait_readable(pipe: impl AsFd, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(&pipe, PollFlags::IN)];
        retry_interrupted(poll(&mut fds, Some(&timespec(left))))?;
        if !fds[0].revents().is_empty() {
            return Ok(true);
        }
        if left.is_zero() {
            return Ok(false);
        }
    }
}

fn retry_interrupted(result: rustix::io::Result<usize>) -> io::Result<()> {
    match result {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
