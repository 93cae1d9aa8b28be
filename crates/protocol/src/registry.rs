//! The registry: its entries, and its drift from what is running.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::error::ErrorDetail;
use crate::job::JobBrief;
use crate::session::{KilledBy, Spawned};

/// The sessions in the file, then those that belong in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Registry {
    /// The file.
    pub registry: String,
    pub sessions: Vec<Row>,
    /// Why the file could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorDetail>,
}

/// A session in the file, or one that belongs in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Row {
    pub name: String,
    pub agent: String,
    /// Whether it is in the file.
    pub listed: bool,
    /// `running`, `terminated` or `other`; null if it is not in the file.
    pub status: Option<String>,
    /// Its state in tmux: `alive`, `gone`, `agent_gone`, `elsewhere` (another host or server), `unknown` (tmux does not answer).
    pub seen: String,
    pub workspace: Option<String>,
    pub role: Option<String>,
    pub cwd: String,
    pub conversation: Option<String>,
    pub created_at: Option<Timestamp>,
    pub terminated_at: Option<Timestamp>,
    pub termination_mode: Option<String>,
    pub last_visible_status: Option<String>,
    pub delegate_job_id: Option<String>,
}

/// One comparison of the registry with what is running.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Pass {
    pub checked_at: Timestamp,
    /// Entries that were checked. 0 if tmux does not answer.
    pub sessions_checked: usize,
    /// New differences; with `--dry-run`, those that would be new.
    pub drifts: Vec<Drift>,
    /// Differences that were reported before and still exist.
    pub standing: Vec<Drift>,
    /// Whether the file was changed.
    pub written: bool,
}

/// A difference between the file and what is running.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Drift {
    /// A letter, see `docs/registry.md`.
    pub class: String,
    pub kind: String,
    /// Its session; null if it is about all.
    pub session: Option<String>,
    pub sessions: Vec<String>,
    /// For people.
    pub message: String,
    pub hint: Option<String>,
    /// The fields concerned, in the file before.
    pub before: Value,
    /// And after; the same if nothing is changed.
    pub after: Value,
}

/// A session that was started and registered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Created {
    #[serde(flatten)]
    pub spawned: Spawned,
    pub workspace: String,
    /// The file.
    pub registry: String,
    pub job: Option<JobBrief>,
}

/// Sessions that were resumed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ResumedSessions {
    pub resumed: Vec<Resumed>,
}

/// One session, or why it could not be resumed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Resumed {
    Done(Spawned),
    Failed { name: String, error: ErrorDetail },
}

/// A session that was ended and marked as terminated.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Deleted {
    pub name: String,
    pub by: KilledBy,
    /// The conversation that can still be resumed.
    pub conversation: Option<String>,
    /// Files of the conversation that were removed.
    pub purged: Vec<String>,
}

/// An entry of the file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Entry {
    pub agent: String,
    pub workspace: Option<String>,
    pub cwd: Option<String>,
    pub role: Option<String>,
    pub status: String,
    pub created_at: Option<String>,
    pub terminated_at: Option<String>,
    pub termination_mode: Option<String>,
    pub pane: Pane,
    pub last_visible_status: Option<String>,
    /// The conversation of Claude Code; absent for other agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claude_session_id_own: Option<Option<String>>,
    /// By agent.
    pub agent_identities: BTreeMap<String, Identity>,
    pub delegate_job_id: Option<String>,
    pub host: Option<String>,
    pub socket: Option<String>,
}

/// The agent's own id of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Identity {
    pub session_id: Option<String>,
}

/// An entry that was added, with its name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Adopted {
    #[serde(flatten)]
    pub entry: Entry,
    pub name: String,
}

/// The pane in which a session was last seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Pane {
    pub id: Option<String>,
    pub pid: Option<i64>,
    pub cmd: Option<String>,
}
