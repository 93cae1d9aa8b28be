//! The one-shot transport: a chain of commands, one `tmux` process.

use std::thread;
use std::time::{Duration, Instant};

use crate::chain::{Chain, MOST_WORDS};
use crate::connect_lock::{ConnectLock, is_announced};
use crate::diagnose::is_silent_failure;
use crate::transport::{Client, Output};
use crate::{Command, Error, Reply, Server, limbo};

/// How long a new session waits for an old server on the same socket to exit. With 500 sessions
/// tmux needs more than half a second.
const DYING_SERVER_PATIENCE: Duration = Duration::from_secs(5);

/// Longer than any server needs that exits by itself.
const REMIND_AFTER: Duration = Duration::from_secs(2);

/// A `tmux` process in progress. Dropping it kills the process.
#[derive(Debug)]
#[must_use = "the commands have no known outcome until `finish`"]
pub struct Running {
    server: Server,
    chain: Chain,
    client: Option<Box<dyn Client>>,
    begun: Instant,
    _lock: Option<ConnectLock>,
}

/// A chain that did not complete.
#[derive(Debug)]
pub(crate) struct Broken {
    /// The replies of the commands before the failed one.
    pub(crate) done: Vec<Reply>,
    /// `None` if the output does not show which command failed.
    pub(crate) at: Option<usize>,
    pub(crate) error: Error,
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Self { done: vec![], at: None, error }
    }
}

impl Running {
    pub(crate) fn start(server: &Server, commands: &[Command]) -> Result<Self, Error> {
        server.socket.refuse_other_files()?;
        let chain = Chain::new(commands);
        if chain.words.len() > MOST_WORDS {
            // On every version: some would refuse it.
            return Err(Error::CommandTooLong { command: chain.shown(None) });
        }
        if chain.creates && server.may_start {
            server.socket.must_have_folder()?;
        }
        let announced = commands.iter().any(|command| is_announced(command.name()));
        let mut running = Self {
            server: server.clone(),
            chain,
            client: None,
            begun: Instant::now(),
            _lock: announced.then(|| ConnectLock::wait(&server.connect_lock)),
        };
        // `tmux` without a command would create a session.
        if !commands.is_empty() {
            running.client = Some(running.spawn()?);
        }
        Ok(running)
    }

    /// Waits for the result: one reply for each command, or the first error.
    pub fn finish(self) -> Result<Vec<Reply>, Error> {
        self.settle().map_err(|broken| broken.error)
    }

    pub(crate) fn settle(mut self) -> Result<Vec<Reply>, Broken> {
        let mut pause = Duration::from_millis(20);
        let mut reminded = false;
        loop {
            let Some(client) = self.client.take() else {
                return Ok(vec![]);
            };
            let output = client
                .finish()
                .map_err(|source| Error::Io { action: "talk to tmux", source: source.into() })?
                .ok_or_else(|| self.timeout())?;
            match self.judge(output) {
                // The old server accepted the connection and exited because of its own kill-server: nothing was created.
                Err(Broken { at, error: Error::ServerDying, .. })
                    if self.chain.creates && at.unwrap_or(0) == 0 && self.has_patience() =>
                {
                    if !reminded && self.begun.elapsed() > REMIND_AFTER {
                        reminded = true;
                        limbo::remind(&self.server);
                    }
                    // sleep: a server that is exiting sends no event.
                    thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(300));
                    self.client = Some(self.spawn()?);
                }
                outcome => return outcome,
            }
        }
    }

    fn spawn(&self) -> Result<Box<dyn Client>, Error> {
        let deadline = self.begun + self.server.deadline;
        let (words, stdin) = (&self.chain.words, self.chain.stdin.clone());
        let client = self.server.transport().start(&self.server, words, stdin, deadline);
        let client = client.map_err(|error| match error {
            Error::CommandTooLong { .. } => {
                Error::CommandTooLong { command: self.chain.shown(None) }
            }
            error => error,
        })?;
        if self.chain.prints_much() {
            client.make_room();
        }
        Ok(client)
    }

    fn has_patience(&self) -> bool {
        self.begun.elapsed() < DYING_SERVER_PATIENCE.min(self.server.deadline)
    }

    fn timeout(&self) -> Error {
        Error::Timeout { command: self.chain.shown(None), after: self.server.deadline }
    }

    fn judge(&self, output: Output) -> Result<Vec<Reply>, Broken> {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let mut pieces = self.chain.split(output.stdout);
        let at = self.chain.last_reached(&pieces);
        let reached_all = pieces.len() == self.chain.len();
        if output.status.success() && reached_all && !is_silent_failure(&message) {
            return Ok(pieces);
        }
        pieces.truncate(at.unwrap_or(0));
        let message = if message.is_empty() {
            format!("tmux ended without output ({})", output.status)
        } else {
            message
        };
        let error = self.server.explain(self.chain.shown(at), message, output.status.code());
        Err(Broken { done: pieces, at, error })
    }
}
