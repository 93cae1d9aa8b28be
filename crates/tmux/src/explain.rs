use crate::diagnose::{Trouble, diagnose};
use crate::{Error, Server};

impl Server {
    /// The error for tmux's message about a command. An unknown command or flag may mean that tmux is
    /// too old, which helps the user more than its usage line; so its version is looked up then.
    pub(crate) fn explain(&self, command: String, message: String, status: Option<i32>) -> Error {
        match diagnose(&message) {
            Trouble::NoServer => Error::NoServer,
            Trouble::ServerDying => Error::ServerDying,
            Trouble::Denied => Error::Denied { message },
            Trouble::DuplicateSession(name) => Error::DuplicateSession { name },
            Trouble::NotFound(target) => Error::NotFound { target },
            Trouble::TooLong => Error::CommandTooLong { command },
            Trouble::Usage => match self.version() {
                Ok(found) if !found.is_supported() => Error::TooOld { found },
                _ => Error::Failed { command, message, status },
            },
            Trouble::Other => Error::Failed { command, message, status },
        }
    }
}
