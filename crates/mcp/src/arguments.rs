//! What the tools take. The comments become the descriptions that the model reads: they are short for that reason.

use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

/// Longest wait of `since`, in seconds: clients give up a call after a minute.
pub(crate) const MOST_WAIT: u32 = 45;
/// Most lines of `capture`.
pub(crate) const MOST_LINES: u32 = 200;
/// Longest wait of `send`, in seconds.
pub(crate) const MOST_SEND: u32 = 45;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionsArgs {
    /// Only sessions in these states
    #[serde(default)]
    pub(crate) states: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WhyArgs {
    /// Name or id of the session
    pub(crate) session: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaptureArgs {
    /// Name or id of the session
    pub(crate) session: String,
    /// Last lines, at most 200
    #[serde(default = "forty")]
    #[schemars(range(min = 1, max = 200))]
    pub(crate) lines: u32,
}

fn forty() -> u32 {
    40
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SinceArgs {
    /// From the result of another tool; without it, the present cursor is returned at once
    #[serde(default)]
    pub(crate) cursor: Option<i64>,
    /// Seconds to wait for a change, at most 45
    #[serde(default)]
    #[schemars(range(min = 0, max = 45))]
    pub(crate) wait: u32,
    /// Only these sessions
    #[serde(default)]
    pub(crate) sessions: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobResultArgs {
    /// Id of the job
    pub(crate) job: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpawnArgs {
    /// claude, codex, gemini …
    pub(crate) agent: String,
    /// First task
    #[serde(default)]
    pub(crate) prompt: Option<String>,
    /// Own name; a name in use is refused, so a repeated call starts nothing twice
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// Directory [default: this one]
    #[serde(default)]
    pub(crate) cwd: Option<String>,
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// Act without asking for permission; a person must have allowed it
    #[serde(default)]
    pub(crate) unattended: bool,
    /// Get a message in your own session when the work is done, failed, waits or is limited
    #[serde(default)]
    pub(crate) notify_me: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendArgs {
    /// Name or id of the session
    pub(crate) session: String,
    pub(crate) text: String,
    /// Also while it is working
    #[serde(default)]
    pub(crate) now: bool,
    /// Seconds to wait for the agent, at most 45; then it is queued, and delivered later
    #[serde(default = "ten")]
    #[schemars(range(min = 0, max = 45))]
    pub(crate) wait: u32,
    /// Get a message in your own session when the work is done, failed, waits or is limited
    #[serde(default)]
    pub(crate) notify_me: bool,
}

fn ten() -> u32 {
    10
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobSubmitArgs {
    /// Name or id of the session
    pub(crate) session: String,
    pub(crate) prompt: String,
    /// Your own id of this work: repeated with the same key, nothing is submitted twice
    pub(crate) key: String,
    /// Get a message in your own session when the work is done, failed, waits or is limited
    #[serde(default)]
    pub(crate) notify_me: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerArgs {
    /// Name or id of the session
    pub(crate) session: String,
    /// The dialog's mark, from `since` or `sessions`
    pub(crate) mark: String,
    /// Number or text of the option
    pub(crate) choice: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskPersonArgs {
    /// What to decide, with the facts that are needed for it
    pub(crate) question: String,
    /// Answers to choose from [default: yes, no]
    #[serde(default)]
    pub(crate) options: Vec<String>,
    /// Session it is about
    #[serde(default)]
    pub(crate) session: Option<String>,
    /// Your own id of this question: repeated with the same key, it returns the same question, or its answer
    #[serde(default)]
    pub(crate) key: Option<String>,
}
