//! What is printed when a command fails.

use serde::Serialize;

/// A command that failed. Branch on the code; the rest is for people.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ErrorReport {
    pub error: ErrorDetail,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ErrorDetail {
    /// One of the words in `docs/protocol.md`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// What to do about it; absent if there is no advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
