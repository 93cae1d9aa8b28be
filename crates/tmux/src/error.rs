use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::{BadName, BadRow, PaneId, Version};

/// Why a tmux command failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{} was not found in PATH", program.display())]
    NotInstalled { program: PathBuf },
    /// tmux would delete the file there and put its socket in its place.
    #[error("{} is not a tmux socket", path.display())]
    NotASocket { path: PathBuf },
    #[error("tmux {found} is too old; dogwatch needs 3.2 or newer")]
    TooOld { found: Version },
    /// Nothing listens on the socket. Most callers treat it as "no sessions".
    #[error("no tmux server is running on this socket")]
    NoServer,
    /// A server may run there, but it does not accept us. Never treated as "no sessions".
    #[error("no permission to use the tmux server: {message}")]
    Denied { message: String },
    /// The server exited during the call, as happens for a moment after `kill-server`.
    #[error("the tmux server is shutting down")]
    ServerDying,
    /// The control connection is lost; whether a pending command was executed is unknown.
    #[error("lost the connection to the tmux server")]
    Disconnected,
    #[error("a tmux session named {name:?} already exists")]
    DuplicateSession { name: String },
    #[error("tmux has no {target}")]
    NotFound { target: String },
    /// Nothing was typed.
    #[error("the process in pane {pane} has ended, so nothing was typed")]
    PaneEnded { pane: PaneId },
    /// Whether the command was or will be executed is unknown.
    #[error("tmux did not answer `{command}` within {} s", after.as_secs_f32())]
    Timeout { command: String, after: Duration },
    #[error("the command line `{command}` is too long for tmux")]
    CommandTooLong { command: String },
    #[error("`tmux {command}` failed: {message}")]
    Failed { command: String, message: String, status: Option<i32> },
    #[error("`{command}` cannot be sent in control mode: {reason}")]
    Unsendable { command: String, reason: &'static str },
    #[error(transparent)]
    BadName(#[from] BadName),
    #[error(transparent)]
    BadRow(#[from] BadRow),
    #[error("failed to {action}")]
    Io { action: &'static str, source: Arc<io::Error> },
}

impl Error {
    /// What the user can do about it, as a sentence.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotInstalled { .. } => Some(
                "install tmux: `apt install tmux` (Debian, Ubuntu), `dnf install tmux` (Fedora) \
                 or `brew install tmux` (macOS)",
            ),
            Self::TooOld { .. } => Some(
                "install tmux 3.2 or newer: `apt install tmux` (Debian 12, Ubuntu 22.04 or later), \
                 `dnf install tmux` (Fedora) or `brew install tmux` (macOS), then restart the tmux \
                 server",
            ),
            Self::NotASocket { .. } => {
                Some("pass a path that does not exist yet, or the name of a socket")
            }
            Self::NoServer => Some("start a session first, or check --socket and DOGWATCH_TMUX"),
            Self::Denied { .. } => Some(
                "use your own tmux server (--socket or DOGWATCH_TMUX), or run dogwatch as the user who owns that one",
            ),
            Self::ServerDying | Self::Disconnected => Some("try again in a moment"),
            Self::DuplicateSession { .. } => {
                Some("choose another name, or end the existing session first")
            }
            Self::NotFound { .. } => Some("`dogwatch ls` lists the sessions"),
            Self::PaneEnded { .. } => Some("`dogwatch ls --all` says how the session ended"),
            Self::Timeout { .. } => Some(
                "the tmux server hangs or the machine is overloaded; check whether `tmux ls` answers",
            ),
            Self::CommandTooLong { .. } => {
                Some("send long text through a buffer instead of the command line")
            }
            Self::BadName(_) => Some("use letters, digits, `-` and `_` in session names"),
            Self::Failed { .. } | Self::Unsendable { .. } | Self::BadRow(_) | Self::Io { .. } => {
                None
            }
        }
    }

    /// Whether another try may succeed: nothing was refused, it only failed now.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Timeout { .. } | Self::Disconnected | Self::Io { .. })
    }

    /// Whether it only means that no server is running, or soon none will be.
    pub fn is_no_server(&self) -> bool {
        matches!(self, Self::NoServer | Self::ServerDying)
    }
}
