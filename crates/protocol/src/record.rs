//! The records that the runner writes into the session's directory.
//!
//! These two records outrank every other evidence of life and death, so they are plain, small and
//! versioned. Unknown fields are ignored, so that an older reader understands a newer writer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A process and its start time. The kernel reuses a pid, but not the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProcessIdent {
    pub pid: i32,
    /// Start time in the kernel's unit (clock ticks since boot on Linux). Only for comparison.
    pub start: u64,
}

/// Written when the agent's program has certainly been executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Started {
    pub at: Timestamp,
    pub runner: ProcessIdent,
    pub agent: ProcessIdent,
    /// `TMUX_PANE` in the runner's environment.
    pub pane: Option<String>,
}

/// How a process ended, as the kernel reported it to its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl Exit {
    /// What a shell would report as `$?`.
    pub fn status(self) -> u8 {
        match self {
            Self::Code(code) => u8::try_from(code & 0xff).unwrap_or(u8::MAX),
            Self::Signal(signal) => u8::try_from((128 + signal) & 0xff).unwrap_or(u8::MAX),
        }
    }

    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// Why the agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Not on request: it ended by itself, or something other than dogwatch killed it.
    Itself,
    /// dogwatch was asked to end it.
    Request,
    /// Its terminal was closed: the pane was closed or the tmux server ended.
    Hangup,
    /// It never ran: the program could not be executed.
    Launch,
}

/// Written, and flushed to disk, when the agent has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Ended {
    pub at: Timestamp,
    pub exit: Exit,
    pub cause: Cause,
    /// The error text of a failed launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Who requested the end, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How its terminal was closed, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hangup: Option<Hangup>,
}

/// The loss of the terminal, as the runner saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Hangup {
    pub at: Timestamp,
    /// The tmux server was ending, or gone, at that moment: it did not close the terminal and live on.
    pub server_gone: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_status() {
        assert_eq!(Exit::Code(0).status(), 0);
        assert_eq!(Exit::Code(144).status(), 144);
        assert_eq!(Exit::Signal(9).status(), 137);
    }

    #[test]
    fn stored_form_is_stable() {
        let ended = Ended {
            at: "2026-11-15T08:00:00Z".parse().unwrap(),
            exit: Exit::Signal(9),
            cause: Cause::Itself,
            error: None,
            by: None,
            hangup: None,
        };
        let text = r#"{"at":"2026-11-15T08:00:00Z","exit":{"signal":9},"cause":"itself"}"#;
        assert_eq!(serde_json::to_string(&ended).unwrap(), text);
        assert_eq!(serde_json::from_str::<Ended>(text).unwrap(), ended);
    }
}
