//! What is printed when a command fails, and its exit code.

use serde::{Deserialize, Serialize};

use crate::exit_code;

/// A command that failed. Branch on the code; the rest is for people.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ErrorReport {
    pub error: ErrorDetail,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ErrorDetail {
    /// One of the codes in `docs/protocol.md`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// What to do about it; absent if there is no advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The kind of a failure. It alone decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The command line or the configuration is wrong.
    Usage,
    /// There is no such session, pane, task or file.
    NotFound,
    /// The name exists, or the current state forbids it.
    Conflict,
    /// It is possible, but not allowed.
    Refused,
    /// A deadline passed.
    Timeout,
    /// tmux is missing, too old, or failed.
    Tmux,
    /// The state directory or a file in it cannot be used.
    Store,
    /// The agent is unknown, not installed, or could not be started.
    Agent,
    /// A broker or a host cannot be reached.
    Unavailable,
    /// It was tried and did not succeed.
    Failed,
    /// A bug in dogwatch or a failure of the system, never of the caller.
    Internal,
}

impl ErrorKind {
    pub const ALL: [Self; 11] = [
        Self::Usage,
        Self::NotFound,
        Self::Conflict,
        Self::Refused,
        Self::Timeout,
        Self::Tmux,
        Self::Store,
        Self::Agent,
        Self::Unavailable,
        Self::Failed,
        Self::Internal,
    ];

    pub fn exit_code(self) -> u8 {
        match self {
            Self::Usage => exit_code::USAGE,
            Self::NotFound => exit_code::NOT_FOUND,
            Self::Conflict | Self::Refused => exit_code::CONFLICT,
            Self::Timeout => exit_code::TIMEOUT,
            Self::Tmux => exit_code::TMUX,
            Self::Store => exit_code::STORE,
            Self::Agent => exit_code::AGENT,
            Self::Unavailable | Self::Failed | Self::Internal => exit_code::FAILED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wrong_usage_has_the_exit_code_of_wrong_usage() {
        for kind in ErrorKind::ALL {
            let code = kind.exit_code();
            assert_ne!(code, exit_code::OK, "{kind:?}");
            assert_eq!(code == exit_code::USAGE, kind == ErrorKind::Usage, "{kind:?}");
        }
        assert_eq!(ErrorKind::Internal.exit_code(), exit_code::FAILED);
    }
}
