//! What was recorded of a session, as `meta.json` in the recording's folder tells it.
//!
//! The facts of the screen have the names that the laboratory's collections of screens use: the line can be put
//! into an `index.jsonl` there once somebody has filled in what is true.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::record::{Ended, Started};
use crate::screen::{Reading, Screen, State};

/// The version of the folder's format. Fields may be added to it; it rises when one changes its meaning.
pub const FORMAT: u32 = 1;

pub const META: &str = "meta.json";
pub const SCREEN: &str = "screen.txt";
pub const STYLED_SCREEN: &str = "screen.ansi";
pub const VERDICT: &str = "verdict.json";
pub const SIGNALS: &str = "signals.jsonl";
pub const TRANSCRIPT: &str = "transcript.jsonl";
pub const AGENT_STATE: &str = "agent-state.json";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
pub struct ScreenAlone {
    pub before: String,
    pub after: String,
    pub same: bool,
}

impl ScreenAlone {
    pub fn compare(before: &Reading, after: &Reading) -> Self {
        let same = before.agrees_with(after);
        Self { before: words(before), after: words(after), same }
    }
}

/// The state's word, and what is waited for.
fn words(reading: &Reading) -> String {
    match &reading.state {
        State::Waiting { need } => format!("waiting for {}", need.word()),
        state => state.word().to_owned(),
    }
}

impl Meta {
    /// The recorded screen as it is to be read.
    pub fn screen<'a>(&'a self, bytes: &'a [u8]) -> Screen<'a> {
        Screen {
            bytes,
            width: self.width.unwrap_or(0),
            height: self.height.unwrap_or(0),
            title: self.pane_title.as_deref(),
            cursor: None,
            alternate: self.alternate_screen,
        }
    }
}
