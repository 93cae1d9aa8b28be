//! What the runner writes down in the session's folder, and what everybody else reads there.
//!
//! These two records outrank every other witness of life and death, so they are plain, small and
//! versioned. Unknown fields are ignored, so an older reader understands a newer writer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A process and its start time. The kernel hands a pid out again; the pair it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProcessIdent {
    pub pid: i32,
    /// Start time in the kernel's own unit (clock ticks since boot on Linux). Only for comparing.
    pub start: u64,
}

/// Written once the agent's program has certainly been executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Started {
    pub at: Timestamp,
    pub runner: ProcessIdent,
    pub agent: ProcessIdent,
    /// `TMUX_PANE` as the runner found it.
    pub pane: Option<String>,
}

/// How a process ended, as the kernel told its parent.
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

/// What made the agent end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Not on request: it ended by itself, or something outside dogwatch killed it.
    Itself,
    /// dogwatch was asked to end it.
    Request,
    /// Its terminal went away: the pane was closed or the tmux server ended.
    Hangup,
    /// It never ran: the program could not be executed.
    Launch,
}

/// Written, and flushed to disk, as soon as the agent has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Ended {
    pub at: Timestamp,
    pub exit: Exit,
    pub cause: Cause,
    /// The error text of a failed launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Who asked for the end, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
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
        };
        let text = r#"{"at":"2026-11-15T08:00:00Z","exit":{"signal":9},"cause":"itself"}"#;
        assert_eq!(serde_json::to_string(&ended).unwrap(), text);
        assert_eq!(serde_json::from_str::<Ended>(text).unwrap(), ended);
    }
}
