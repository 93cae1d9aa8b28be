//! Output of the tools: `doctor`, `agents`, `bug-report`, `monitor`.

use crate::id::SessionId;
use jiff::Timestamp;
use serde::Serialize;

use crate::bug_report::ScreenAlone;

/// The names of all schemas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SchemaNames {
    pub schemas: Vec<String>,
}

/// What `doctor` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// No check is `bad`.
    pub ok: bool,
    pub checks: Vec<Check>,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Check {
    /// Its subject: `tmux`, `store`, the name of an agent …
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
        /// Its program is in `PATH`.
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

/// What `install-skill` did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SkillFiles {
    pub files: Vec<SkillFile>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SkillFile {
    pub path: String,
    /// `written`, `unchanged`, `removed` or `missing`.
    pub done: String,
}

/// What `bug-report` wrote.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BugReport {
    pub name: String,
    pub id: SessionId,
    /// The state, as in `status`.
    pub state: String,
    pub folder: String,
    /// The files in it besides `meta.json`.
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
    /// For people; for `stopped`, who requested it.
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
    /// The failure is over.
    Well,
    /// It ends on request.
    Stopped,
}
