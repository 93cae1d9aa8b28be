use std::collections::BTreeMap;

use crate::id::RunId;
use jiff::Timestamp;
use serde::Serialize;

use super::{AgentChoice, Budget, Fact, Per, Permissions, Report};

/// What a run would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PlannedRun {
    pub workflow: String,
    pub project: String,
    pub steps: Vec<PlannedStep>,
    pub items: Vec<PlannedItem>,
    /// Agents of the steps of a group, by step.
    pub group_agents: BTreeMap<String, AgentChoice>,
    /// Steps that are skipped.
    pub skip: Vec<String>,
    /// How many items run in parallel.
    pub side_by_side: u32,
    pub budget: Budget,
    pub permissions: Permissions,
    /// For people.
    pub notes: Vec<String>,
}

/// A step of the workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PlannedStep {
    pub id: String,
    pub label: String,
    pub per: Per,
    /// A failure does not stop the item.
    pub optional: bool,
    /// Limit on attempts.
    pub attempts: u32,
}

/// An item of the plan: a story.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PlannedItem {
    pub id: String,
    /// The name of its file and of its row in the sprint status.
    pub key: String,
    pub title: String,
    /// Its epic.
    pub group: Option<String>,
    /// Other items depend on it.
    pub blocking: bool,
    /// Items that must be done before.
    pub after: Vec<String>,
    /// Steps that were done before the run.
    pub done: Vec<String>,
    /// Agents by step.
    pub agents: BTreeMap<String, AgentChoice>,
    pub complexity: Option<Complexity>,
}

/// How complex an item looks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Complexity {
    pub level: String,
    pub score: i64,
    pub reasons: Vec<String>,
}

/// The first line of `story run --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BegunRun {
    pub run: RunId,
    pub workflow: String,
    pub project: String,
    pub permissions: Permissions,
}

/// The last line of `story run --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LeftRun {
    pub run: RunId,
    /// `complete`, `paused`, `aborted`, `asked` or `stopped`.
    pub left: String,
    /// For people.
    pub why: String,
}

/// A line of the journal of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LogLine {
    #[serde(flatten)]
    pub fact: Fact,
    pub at: Timestamp,
}

/// A report with the current activity.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RunStatus {
    #[serde(flatten)]
    pub report: Report,
    /// A driver is executing it now.
    pub attended: bool,
    /// The next actions.
    pub next: Vec<String>,
}

/// A request that was recorded for a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ToldRun {
    pub run: RunId,
    /// `paused` or `aborted`.
    pub told: String,
}

/// Whether a run can be executed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Validation {
    pub ok: bool,
    /// For people.
    pub issues: Vec<String>,
}

/// Runs, newest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Runs {
    pub runs: Vec<RunRow>,
}

/// A run, as `dogwatch story ls --json` prints it in `runs`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RunRow {
    /// Id of the run.
    pub run: RunId,
    /// Name of the workflow: bmad, bmad-build, or that of your own file.
    pub workflow: String,
    /// Folder of the project.
    pub project: String,
    pub standing: RunStanding,
    /// A driver is executing it now.
    pub attended: bool,
    pub begun: Timestamp,
    /// When it was completed or aborted.
    pub over: Option<Timestamp>,
    /// Stories or items in the plan.
    pub items: usize,
    /// Items that are done; skipped ones do not count.
    pub items_done: usize,
    /// Open escalations of the run.
    pub questions: usize,
    /// What its agents may do without asking.
    pub permissions: Permissions,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunStanding {
    Going,
    Paused,
    Aborted,
    Complete,
    /// Written by another version of dogwatch.
    Unreadable,
}

impl RunStanding {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Going => "going",
            Self::Paused => "paused",
            Self::Aborted => "aborted",
            Self::Complete => "complete",
            Self::Unreadable => "unreadable",
        }
    }
}
