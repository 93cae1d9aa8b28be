//! What the tools print: `doctor`, `agents`, `bug-report`, `monitor`.

use crate::id::SessionId;
use jiff::Timestamp;
use serde::Serialize;

use crate::bug_report::ScreenAlone;

/// What `doctor` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// No check is `bad`.
    pub ok: bool,
    pub checks: Vec<Check>,
}

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Check {
    /// What it is about: `tmux`, `store`, the name of an agent …
    pub check: String,
    /// `ok`, `missing`, `warning` or `bad`.
    pub health: String,
    /// For people.
    pub found: String,
    /// What to do about it, for people.
    pub remedy: Option<String>,
}

/// The agents that have a profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Agents {
    pub agents: Vec<Agent>,
}

/// One agent, or what is wrong with its profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Agent {
    Known {
        name: String,
        title: String,
        /// Its program is on the path.
        found: bool,
        path: Option<String>,
        /// Null if it has none, or did not answer in time.
        version: Option<String>,
        /// How to install it.
        install: String,
    },
    Broken {
        name: String,
        error: String,
    },
}

/// What `bug-report` wrote.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BugReport {
    pub name: String,
    pub id: SessionId,
    /// The state's word, as in `status`.
    pub state: String,
    pub folder: String,
    /// What is in it beside `meta.json`.
    pub files: Vec<String>,
    /// Null if there is no screen, or none that can be read.
    pub screen_alone: Option<ScreenAlone>,
}

/// One line of `monitor --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MonitorLine {
    pub event: MonitorEvent,
    pub at: Timestamp,
    /// For people; who asked, of `stopped`.
    pub text: String,
}

/// What a line of `monitor` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MonitorEvent {
    /// Something was reported.
    Told,
    Heartbeat,
    Trouble,
    /// The trouble is over.
    Well,
    /// It ends, because it was asked to.
    Stopped,
}
