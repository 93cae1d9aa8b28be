//! What is recorded of a session for a bug report: `meta.json` in its folder.

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
    /// The verdict's word.
    pub state: String,
    /// For a person to fill in: what it was really doing, and how it came there.
    pub truth: String,
    pub description: String,
    /// The plain screen; none if there was none to record.
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
    /// What is in the folder, by name.
    pub files: Vec<String>,
}

/// The session as it is remembered.
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

/// What the judge went by, beside the files in the folder.
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
    /// When screen or processor time was last seen to move.
    pub moved: Option<Timestamp>,
}

/// What the screen alone says, before and after it was masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ScreenAlone {
    pub before: String,
    pub after: String,
    pub same: bool,
}

/// A line of `signals.jsonl`: what a hook of the agent told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RecordedSignal {
    pub at: Timestamp,
    pub agent: String,
    /// The name of the hook's event.
    pub event: String,
    /// The database had no time for it, so it may have come in late.
    pub spooled: bool,
    /// As the agent wrote it.
    pub payload: Value,
}
