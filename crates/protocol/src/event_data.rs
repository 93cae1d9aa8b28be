//! The `data` of each kind of event, and of notifications. `docs/mqtt.md` lists the kinds.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::escalation::{Choice, Kind, Settlement, Situation};
use crate::id::{JobId, MessageId, RunId, SessionId};
use crate::job::JobState;
use crate::message::Outcome;
use crate::notice::Occasion;
use crate::record::Exit;
use crate::registry::Drift;
use crate::run::Fact;
use crate::session::KilledBy;
use crate::status::ServerDied;

/// Empty: `started`, `kill_requested`, and `deleted` of a session that was killed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Nothing {}

/// `created`: a session is about to be created.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Created {
    pub name: String,
    pub agent: String,
}

/// `deleted`: a session that was removed, or never started.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Deleted {
    /// For people.
    pub because: String,
}

/// `server_died`: a tmux server died, and sessions went with it. Also the data of the notification.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ServerDeath {
    pub socket: String,
    pub pid: i64,
    #[serde(flatten)]
    pub died: ServerDied,
    /// The names of the sessions that were lost.
    pub sessions: Vec<String>,
}

/// `renamed`: the title that a person gave to a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Renamed {
    /// Null if it was removed.
    pub title: Option<String>,
    /// The title before.
    pub from: Option<String>,
}

/// `tagged`: the tags of a session changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Tagged {
    /// All that it has now.
    pub tags: Vec<String>,
}

/// `restarted`: the agent could not take what dogwatch gave it, and was started again without.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Restarted {
    /// What it said of it, for people.
    pub because: String,
}

/// `message_posted`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MessagePosted {
    pub id: MessageId,
}

/// `message_settled`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MessageSettled {
    pub id: MessageId,
    pub outcome: Outcome,
}

/// `job`: the state of a job changed. Without its result, which is for the owner of the job.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobChanged {
    pub id: JobId,
    #[serde(flatten)]
    pub state: JobState,
}

/// `limit`: what dogwatch does about a usage limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LimitChanged {
    pub action: LimitAction,
    /// Agent and folder, or the fingerprint of a key; `AGENT unknown` if that is not known.
    pub account: String,
    /// When the turn failed.
    pub began: Timestamp,
    /// When it ends, by what the agent said.
    pub until: Option<Timestamp>,
    /// When dogwatch acts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// For people.
    pub because: Option<String>,
    /// The message that continues it, or the session that was started instead.
    pub message: Option<String>,
}

/// What dogwatch does about a usage limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitAction {
    /// dogwatch waits until it is over.
    Armed,
    /// It is acted on now.
    Acting,
    /// The agent took the message that continues it.
    Continued,
    /// The same, with another model.
    Switched,
    /// Another agent was started.
    FellBack,
    /// A person has it in hand.
    Left,
    /// The message was not delivered.
    Failed,
    /// A person must decide.
    Asked,
}

impl LimitAction {
    const ALL: [Self; 8] = [
        Self::Armed,
        Self::Acting,
        Self::Continued,
        Self::Switched,
        Self::FellBack,
        Self::Left,
        Self::Failed,
        Self::Asked,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Armed => "armed",
            Self::Acting => "acting",
            Self::Continued => "continued",
            Self::Switched => "switched",
            Self::FellBack => "fell_back",
            Self::Left => "left",
            Self::Failed => "failed",
            Self::Asked => "asked",
        }
    }

    /// A word of a newer version means that nothing is left to do here.
    pub fn parse(word: &str) -> Self {
        Self::ALL.into_iter().find(|action| action.as_str() == word).unwrap_or(Self::Left)
    }
}

/// `collision`: the session edits a file that others have edited and that live still.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Collision {
    /// Below the work tree; outside of git absolute.
    pub path: String,
    /// Names of the others.
    pub with: Vec<String>,
    /// For people.
    pub text: String,
    /// dogwatch refused the agent's call once, with the reason.
    pub held: bool,
}

/// `loop_interrupted`: the turn of an agent that went round in circles was interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LoopInterrupted {
    /// The calls that repeated.
    pub what: String,
    pub times: u32,
    /// When the first of them was made.
    pub since: Timestamp,
}

/// `limits_paused`, `limits_resumed`, `rules_paused`, `rules_resumed`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Paused {
    /// Who did.
    pub by: String,
}

/// `escalation_raised`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct EscalationRaised {
    pub number: i64,
    pub id: String,
    pub kind: Kind,
    pub situation: Situation,
    pub options: Vec<Choice>,
}

/// `escalation_answered`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct EscalationAnswered {
    pub number: i64,
    pub id: String,
    pub outcome: Settlement,
}

/// `drift`: a difference between a registry and what is running.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DriftFound {
    #[serde(flatten)]
    pub drift: Drift,
    /// The file.
    pub registry: String,
}

/// `session_created`, `session_adopted`, `session_resumed`, `session_deleted`: how a command changed a registry.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RegistryChanged<T> {
    pub name: String,
    /// The file.
    pub registry: String,
    #[serde(flatten)]
    pub change: T,
}

/// Data of `session_created`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionCreated {
    pub agent: String,
    pub id: SessionId,
    pub workspace: String,
    pub role: Option<String>,
}

/// Data of `session_adopted`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionAdopted {
    pub agent: String,
    pub workspace: Option<String>,
    pub role: Option<String>,
}

/// Data of `session_resumed`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionResumed {
    pub agent: String,
    pub id: SessionId,
    pub conversation: String,
}

/// Data of `session_deleted`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionDeleted {
    pub agent: String,
    pub by: KilledBy,
    /// The conversation that can still be resumed.
    pub conversation: Option<String>,
    /// The conversation was removed.
    pub purged: bool,
}

/// `run`: a run was planned.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RunPlanned {
    pub run: RunId,
    /// `planned`.
    pub fact: String,
    pub project: String,
    pub workflow: String,
}

/// `run`: something happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RunFact {
    #[serde(flatten)]
    pub fact: Fact,
    pub run: RunId,
}

/// `heartbeat`: the number of sessions of the host.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Heartbeat {
    pub sessions: u32,
    /// By state.
    pub states: BTreeMap<String, u32>,
}

/// `request`: another host's request was accepted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RequestTaken {
    pub id: String,
    pub verb: String,
    pub from: Option<String>,
}

/// `request_refused`: another host's request was refused before it was started.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RequestRefused {
    pub id: String,
    pub verb: String,
    pub from: Option<String>,
    /// `refused` or `expired`.
    pub state: String,
    pub because: Option<String>,
}

/// `request_refused`: another host's request was refused during its execution.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OrderRefused {
    pub id: String,
    pub verb: String,
    pub because: String,
}

/// `tool_call`: an agent called a tool of `dogwatch mcp`. Without its arguments, which may be private. The event's session is the
/// one that the call is about, if it names one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ToolCall {
    pub tool: String,
    /// Who called it: `agent NAME`, or the client and the user.
    pub by: String,
    /// `ok`, or the code of the error. A call that acts has a record of its own when it starts, `started`: after a kill that is all.
    pub outcome: String,
}

/// `not_told`: a notification failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct NotTold {
    pub occasion: Occasion,
    pub title: String,
    pub problems: Vec<String>,
}

/// In place of data that is too long for a broker.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Its length, for people.
    pub left_out: String,
}

/// Data of a notification about a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct EscalationNotice {
    pub number: i64,
    pub id: String,
    pub kind: Kind,
    pub situation: Situation,
    pub options: Vec<Choice>,
    /// Null while it is open.
    pub settled: Option<Settlement>,
}

/// Data of a notification about a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobNotice {
    pub id: JobId,
    pub session: SessionId,
    pub name: String,
    pub state: JobState,
}

/// The result of a request to send a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SentResult {
    /// Name of the session.
    pub session: String,
    /// Id of the message.
    pub message: MessageId,
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The result of a request to start an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SpawnedResult {
    /// Name of the session.
    pub session: String,
    pub id: SessionId,
    pub agent: String,
    pub pane: String,
    pub cwd: String,
}

/// The result of a request to end a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KilledResult {
    /// Name of the session.
    pub session: String,
    pub id: SessionId,
    pub by: KilledBy,
    pub exit: Option<Exit>,
}
