//! What the tools of `dogwatch mcp` return: short, because agents pay for every token.
//!
//! `why` returns [`crate::status::StatusReport`], `capture` [`Screen`] and `answer` [`crate::message::Answered`].

use jiff::Timestamp;
use serde::Serialize;

use crate::id::{JobId, MessageId, SessionId};
use crate::job::JobBrief;
use crate::message::Proof;
use crate::session::Capture;
use crate::status::{Basis, Need};

/// The result of `sessions`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionList {
    /// For `since`: changes after this list.
    pub cursor: i64,
    pub sessions: Vec<SessionBrief>,
    /// How many ended sessions are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

/// A session in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionBrief {
    pub name: String,
    pub agent: String,
    /// As in `status`: `working`, `waiting`, `limited`, `idle`, `error`, `crashed` …
    pub state: String,
    /// Absent if it is `asserted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    #[serde(flatten)]
    pub detail: StateDetail,
    /// Its newest job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobBrief>,
}

/// What there is to know of a state. What does not apply is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StateDetail {
    /// In a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<Need>,
    /// The text of its dialog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The answers that the dialog offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Identifies the dialog, for `answer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

/// The result of `spawn`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Spawned {
    pub name: String,
    pub id: SessionId,
    pub agent: String,
    pub cwd: String,
    /// What to know of the agent's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// Its account is limited: the prompt is delivered at this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Timestamp>,
    /// For `since`: changes after the start.
    pub cursor: i64,
}

/// The result of `send`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Sent {
    pub id: MessageId,
    pub name: String,
    /// `delivered`, `queued`, `refused`, `typed_not_submitted` or `failed`.
    pub outcome: String,
    /// The evidence that the agent took it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// For `since`: changes after the message was accepted.
    pub cursor: i64,
}

/// The result of `job_submit` and `job_result`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobAnswer {
    pub id: JobId,
    /// Name of the session, else its id.
    pub session: String,
    /// `queued`, `delivered`, `running`, `done`, `failed` or `cancelled`.
    pub state: String,
    /// The dialog that blocks it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
    /// Why it failed, or who cancelled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The agent's last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Bytes of the result that were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// The same key was used before: this is that job, and nothing was submitted now.
    #[serde(skip_serializing_if = "is_false")]
    pub repeated: bool,
    /// For `since`: changes after this.
    pub cursor: i64,
}

/// The result of `since`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Changes {
    /// For the next call.
    pub cursor: i64,
    /// Oldest first; empty if nothing happened within the time.
    pub changes: Vec<Change>,
    /// There are more: call again.
    #[serde(skip_serializing_if = "is_false")]
    pub more: bool,
    /// Events after the given cursor are no longer kept: call `sessions` for the present state.
    #[serde(skip_serializing_if = "is_false")]
    pub missed: bool,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Change {
    pub what: ChangeKind,
    /// Name of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The new state of the session, the job, the message or the question.
    pub state: String,
    #[serde(flatten)]
    pub detail: StateDetail,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// The beginning of the job's result; `job_result` has all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Number of the question to a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
}

/// What a change is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The state of a session.
    Session,
    /// A job that ended.
    Job,
    /// A message that was not delivered.
    Message,
    /// A question to a person that was raised or answered.
    Question,
}

/// The result of `capture`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Screen {
    #[serde(flatten)]
    pub capture: Capture,
    /// Bytes before the text that were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

/// The result of `ask_person`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Asked {
    /// The number that people use.
    pub number: i64,
    /// `open`, `answered` or `withdrawn`.
    pub state: String,
    /// The option that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What the person wrote with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Who answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// For `since`: the answer comes after this.
    pub cursor: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
