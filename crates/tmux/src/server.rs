use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chain::parts;
use crate::transport::{Processes, Transport};
use crate::{Command, Error, Reply, Running, Socket, Version};

/// How to reach one tmux server. It holds no connection and need not run.
#[derive(Debug, Clone)]
pub struct Server {
    /// The tmux program, `tmux` unless told otherwise.
    pub program: PathBuf,
    pub socket: Socket,
    /// Where that socket is, if the caller knows; a [`Socket::Path`] says so itself.
    pub path: Option<PathBuf>,
    /// The configuration a new server reads (`-f`); `None` for the user's own.
    pub config: Option<PathBuf>,
    /// How long one call may take.
    pub deadline: Duration,
    /// The file that is locked for the moment in which others would crash the server: the first of these that can be used; see
    /// `connect_lock`. Empty for none.
    pub connect_lock: Vec<PathBuf>,
    /// Variables of ours that neither the client nor a server that it starts is given.
    pub withheld: Vec<OsString>,
    pub(crate) may_start: bool,
    /// `None` for processes of [`Server::program`].
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

    /// The same server, reached in another way.
    #[must_use]
    pub fn with_transport(self, transport: Arc<dyn Transport>) -> Self {
        Self { transport: Some(transport), ..self }
    }

    pub(crate) fn transport(&self) -> &dyn Transport {
        self.transport.as_deref().unwrap_or(&Processes)
    }

    /// The same server, but never started by a command that would (`new-session`): those fail with
    /// [`Error::NoServer`].
    #[must_use]
    pub fn running_only(&self) -> Self {
        Self { may_start: false, ..self.clone() }
    }

    /// Runs the commands in one tmux process, or in several one after the other if tmux takes no more in one: one reply for
    /// each, or the first error, after which the rest was not done.
    ///
    /// A chain that begins with `new-session` waits for a former server on the socket to be gone;
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

    /// Starts what [`Server::run`] does in one process, so that the caller can do something else meanwhile. More than
    /// [`crate::fitting`] commands may be refused ([`Error::CommandTooLong`]).
    pub fn start(&self, commands: &[Command]) -> Result<Running, Error> {
        Running::start(self, commands)
    }

    /// The version of the program, which may be newer than that of a server started earlier.
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

    /// `tmux` with everything before the first command word.
    pub(crate) fn command(&self) -> process::Command {
        let mut command = process::Command::new(&self.program);
        // Without it and without a UTF-8 locale, tmux prints every other character as `_`.
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
