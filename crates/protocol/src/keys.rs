//! Requests that a session's keys be pressed, and what came of them. The supervisor alone presses keys.

use serde::{Deserialize, Serialize};

use crate::error::ErrorDetail;
use crate::message::Answered;

/// What the keys are to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KeyRequest {
    /// Choose an option of the open dialog.
    Answer {
        /// Its number, its text, or how its text begins.
        choice: String,
        /// Of this dialog and no other.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dialog: Option<String>,
        /// An agent asks for it, so only what a person has allowed agents is answered.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_agent: bool,
    },
    /// Cut the running turn short.
    Interrupt,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KeyOutcome {
    Answered(Answered),
    Interrupted(Interrupted),
    Failed(ErrorDetail),
}

/// What came of interrupting a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Interrupted {
    /// The keys that do it were pressed.
    Pressed,
    /// No turn is running, as far as can be seen.
    NotWorking,
    /// A dialog is open: a key could answer it.
    Dialog,
    /// How this agent is interrupted is not known.
    NoKeys,
}
