use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chain::parts;
use crate::transport::{Processes, Transport};
use crate::{Command, Error, Reply, Running, Socket, Version};

/// How to reach one tmux server. It holds no connection, and the server need not run.
#[derive(Debug, Clone)]
pub struct Server {
    /// The tmux program, `tmux` by default.
    pub program: PathBuf,
    pub socket: Socket,
    /// The socket's path, if the caller knows it; a [`Socket::Path`] contains it.
    pub path: Option<PathBuf>,
    /// The configuration file for a new server (`-f`); `None` for the user's own.
    pub config: Option<PathBuf>,
    /// Time limit for one call.
    pub deadline: Duration,
    /// Lock files against a crash of the server while a control client connects: the first usable one is taken; see
    /// `connect_lock`. Empty for none.
    pub connect_lock: Vec<PathBuf>,
    /// Our variables that are withheld from the client and from a server that it starts.
    pub withheld: Vec<OsString>,
    pub(crate) may_start: bool,
    /// `None` to start processes of [`Server::program`].
    pub(crate) transport: Option<Arc<dyn Transport>>,
}

impl Server {
    pub fn new(socket: Socket) -> Self {
        Self {
            program: "tmux".into(),
            socket,
            path: None,
            config: None,
            deadline: Duration::from_secs(15),
            connect_lock: Vec::new(),
            withheld: Vec::new(),
            may_start: true,
            transport: None,
        }
    }

    /// The same server with another transport.
    #[must_use]
    pub fn with_transport(self, transport: Arc<dyn Transport>) -> Self {
        Self { transport: Some(transport), ..self }
    }

    pub(crate) fn transport(&self) -> &dyn Transport {
        self.transport.as_deref().unwrap_or(&Processes)
    }

    /// The same server, but commands that would start it (`new-session`) fail with
    /// [`Error::NoServer`].
    #[must_use]
    pub fn running_only(&self) -> Self {
        Self { may_start: false, ..self.clone() }
    }

    /// Runs the commands in one tmux process, or in several one after the other if tmux accepts no more in one: one reply for
    /// each, or the first error, after which the rest was not executed.
    ///
    /// A chain that begins with `new-session` waits for an exiting server on the socket;
    /// others fail with [`Error::ServerDying`].
    pub fn run(&self, commands: &[Command]) -> Result<Vec<Reply>, Error> {
        let mut replies = Vec::with_capacity(commands.len());
        for part in parts(commands) {
            replies.extend(self.start(part)?.finish()?);
        }
        Ok(replies)
    }

    /// Runs one command.
    pub fn run_one(&self, command: Command) -> Result<Reply, Error> {
        let mut replies = self.run(&[command])?;
        Ok(replies.pop().unwrap_or_default())
    }

    /// Like [`Server::run`] in one process, without waiting, so that the caller can do something else meanwhile. More than
    /// [`crate::fitting`] commands may be refused ([`Error::CommandTooLong`]).
    pub fn start(&self, commands: &[Command]) -> Result<Running, Error> {
        Running::start(self, commands)
    }

    /// The version of the program, which may be newer than that of a running server.
    pub fn version(&self) -> Result<Version, Error> {
        let failed =
            |message: String, status| Error::Failed { command: "-V".into(), message, status };
        let output = self
            .transport()
            .start(self, &["-V".into()], None, Instant::now() + self.deadline)?
            .finish()
            .map_err(|source| Error::Io { action: "talk to tmux", source: source.into() })?
            .ok_or_else(|| Error::Timeout { command: "-V".into(), after: self.deadline })?;
        let text = String::from_utf8_lossy(&output.stdout);
        Version::parse(&text).ok_or_else(|| {
            failed(format!("{:?} is not a version", text.trim()), output.status.code())
        })
    }

    /// `tmux` with everything before the first command.
    pub(crate) fn command(&self) -> process::Command {
        let mut command = process::Command::new(&self.program);
        // Without it and without a UTF-8 locale, tmux prints non-ASCII characters as `_`.
        command.arg("-u").args(self.socket.words());
        if let Some(config) = &self.config {
            command.arg("-f").arg(config);
        }
        if !self.may_start {
            command.arg("-N");
        }
        for name in &self.withheld {
            command.env_remove(name);
        }
        if self.socket.is_explicit() {
            command.env_remove("TMUX").env_remove("TMUX_PANE");
        }
        command
    }

    pub(crate) fn spawn_error(&self, source: std::io::Error) -> Error {
        match source.kind() {
            ErrorKind::NotFound => Error::NotInstalled { program: self.program.clone() },
            ErrorKind::ArgumentListTooLong => Error::CommandTooLong { command: String::new() },
            _ => Error::Io { action: "start tmux", source: source.into() },
        }
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::new(Socket::Default)
    }
}
