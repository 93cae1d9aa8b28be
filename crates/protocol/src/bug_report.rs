//! The content of a bug report about a session: `meta.json` in its directory.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::{Ended, Started};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Meta {
    pub format: u32,
    pub recorded: Timestamp,
    pub dogwatch: String,
    pub tmux: Option<String>,
    pub os: String,
    pub id: String,
    pub name: String,
    pub agent: String,
    pub version: Option<String>,
    /// The state of the verdict.
    pub state: String,
    /// For a person to fill in: what the agent was really doing, and how it got there.
    pub truth: String,
    pub description: String,
    /// The plain screen; null if there was none to record.
    pub file: Option<String>,
    /// `pane`, or `kept` by the runner when the agent ended.
    pub screen_from: Option<String>,
    pub width: Option<u16>,
    pub height: Option<u16>,
    pub pane_title: Option<String>,
    pub alternate_screen: Option<bool>,
    pub pane_dead: Option<bool>,
    pub pane_dead_status: Option<i32>,
    pub pane_dead_signal: Option<i32>,
    pub pane_current_command: Option<String>,
    /// Column and row, from 0.
    pub cursor: Option<(u16, u16)>,
    pub history_size: Option<u32>,
    pub captured_history: u32,
    pub screen_alone: Option<ScreenAlone>,
    pub session: Session,
    pub evidence: Evidence,
    /// File names in the directory.
    pub files: Vec<String>,
}

/// The session as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Session {
    pub created: Timestamp,
    pub started: Option<Started>,
    pub ended: Option<Ended>,
    pub project: String,
    pub cwd: String,
    pub model: Option<String>,
    pub conversation: Option<String>,
    /// Without the prompt.
    pub command: Vec<String>,
}

/// The evidence for the verdict, besides the files in the directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Evidence {
    pub now: Timestamp,
    pub life: String,
    pub life_reason: String,
    pub life_since: Option<Timestamp>,
    pub prompted: bool,
    pub stopped: bool,
    /// The last refresh of the statusline.
    pub clock: Option<Timestamp>,
    /// When the screen or processor time last changed.
    pub moved: Option<Timestamp>,
}

/// What the screen alone shows, before and after masking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ScreenAlone {
    pub before: String,
    pub after: String,
    pub same: bool,
}

/// A line of `signals.jsonl`: one recorded call of a hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RecordedSignal {
    pub at: Timestamp,
    pub agent: String,
    /// The name of the hook's event.
    pub event: String,
    /// It came through the spool because the database was busy, and may be out of order.
    pub spooled: bool,
    /// As the agent sent it.
    pub payload: Value,
}
