//! The boundary to the tmux program: words go out, output comes back. Everything above it (chains, marks, parsing, errors) is
//! the same for a real server and for the `fake` of tests.

use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::process::{Command, ExitStatus};
use std::time::Instant;

use crate::process::Process;
use crate::{Error, Server};

/// Starts clients of a tmux server.
pub trait Transport: Debug + Send + Sync {
    /// Starts a client with the words of its commands, and does not wait for it.
    fn start(
        &self,
        server: &Server,
        words: &[OsString],
        stdin: Option<Vec<u8>>,
        deadline: Instant,
    ) -> Result<Box<dyn Client>, Error>;

    /// Whether control mode is available. Callers without it use single clients.
    fn has_control_mode(&self) -> bool;
}

/// A client in progress. Dropping it kills it.
pub trait Client: Debug + Send {
    /// Lets it print much before its output is read.
    fn make_room(&self);

    /// Waits for its end; `None` if the deadline came first.
    fn finish(self: Box<Self>) -> io::Result<Option<Output>>;
}

/// What a client printed, and how it ended.
#[derive(Debug)]
pub struct Output {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Starts a process of the `tmux` program for each client.
#[derive(Debug)]
pub(crate) struct Processes;

impl Transport for Processes {
    fn start(
        &self,
        server: &Server,
        words: &[OsString],
        stdin: Option<Vec<u8>>,
        deadline: Instant,
    ) -> Result<Box<dyn Client>, Error> {
        // The query for the version goes alone: a tmux that is too old may not know our other options.
        let is_version = matches!(words, [only] if only == "-V");
        let mut command = if is_version { Command::new(&server.program) } else { server.command() };
        command.args(words);
        let process = Process::spawn(&mut command, stdin, deadline);
        Ok(Box::new(process.map_err(|error| server.spawn_error(error))?))
    }

    fn has_control_mode(&self) -> bool {
        true
    }
}

impl Client for Process {
    fn make_room(&self) {
        self.make_room();
    }

    fn finish(self: Box<Self>) -> io::Result<Option<Output>> {
        (*self).finish()
    }
}
