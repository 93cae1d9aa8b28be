//! Teams: panes, tasks and members.

use serde::Serialize;

use crate::message::Proof;
use crate::record::Exit;
use crate::session::Spawned;
use crate::status::StatusReport;

/// A member of a team that was started in a pane of its window.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SpawnedPane {
    #[serde(flatten)]
    pub spawned: Spawned,
    pub role: String,
    /// The pane that leads the window.
    pub master: String,
    /// The pane that gets the reports.
    pub spawner: String,
    pub session_file: String,
    /// Its task; null if it gets one when it registers.
    pub task: Option<String>,
    pub told: Handed,
    pub layout: Layout,
    /// 1 to 3.
    pub tries: u32,
    /// Minor failures: colour, name, layout.
    pub warnings: Vec<String>,
}

/// How a member got its task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Handed {
    Message { proof: Proof },
    Prompt,
}

/// How the panes of a window are arranged.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Layout {
    pub master: String,
    /// The side of the master: `left`, `right`, `top` or `bottom`.
    pub side: String,
    /// Number of panes in the window.
    pub panes: usize,
    /// Whether the master was seen on its side.
    pub proven: bool,
}

/// Whether a pane is the expected one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum PaneCheck {
    Valid { valid: bool, pane: String, session: String, window: String, title: String },
    Invalid { valid: bool, target: String, reason: String },
}

/// A pane that was closed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ClosedPane {
    pub pane: String,
    /// Null if it is not in a team.
    pub role: Option<String>,
    /// `exit` (by the agent's exit command), `gone` (the pane was gone before), else as for `kill`.
    pub by: String,
    pub exit: Option<Exit>,
    pub session_file: Option<String>,
    pub layout: Option<Layout>,
}

/// A team.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Team {
    pub window: String,
    /// The pane that leads it.
    pub master: String,
    /// Null if there is none.
    pub session_file: Option<String>,
    /// Why the session file could not be read.
    pub problem: Option<String>,
    /// The master first, then in the order of the window, then members whose panes are gone.
    pub members: Vec<Member>,
}

/// A member of a team.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Member {
    pub role: Option<String>,
    pub pane: String,
    /// Null if no agent is in the pane.
    pub session: Option<StatusReport>,
    /// Its current task, else the last one.
    pub task: Option<Task>,
    pub closing: Option<Closing>,
}

/// The lifecycle of a member's pane.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Closing {
    /// `active`, `ready-to-close`, `closed`, or a person's own word.
    pub status: String,
    pub report_back_sent: bool,
    pub session_id_saved: bool,
    pub task_marked_done: bool,
    pub ready_to_close_set: bool,
}

/// A task that was added.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AddedTask {
    pub task: String,
    pub session_file: String,
}

/// Tasks, in the order of the file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Tasks {
    pub session_file: String,
    pub tasks: Vec<Task>,
}

/// A task of the session file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Task {
    /// Its id: `TASK-001`.
    pub task: String,
    /// `pending`, `in-progress`, `done`; null for a person's own word.
    pub status: Option<String>,
    pub role: String,
    pub pane: Option<String>,
    pub result: Option<String>,
    pub text: String,
}

/// The result of a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Claim {
    pub outcome: ClaimOutcome,
    pub task: Option<Task>,
}

/// How a claim went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    Claimed,
    /// It already had that task.
    Had,
    None,
}

/// An agent that has registered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Registered {
    pub pane: String,
    /// The tmux session.
    pub session: String,
    pub window: String,
    pub role: String,
    pub name: String,
    pub conversation: Option<String>,
    pub session_file: String,
    pub claim: Claim,
}

/// A task that was completed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CompletedTask {
    pub task: String,
    pub result: String,
    pub conversation: Option<String>,
    pub told: Told,
    pub next: Claim,
    /// No task is left for it.
    pub ready_to_close: bool,
}

/// How the spawner was notified of a completed task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Told {
    Message {
        pane: String,
        proof: Proof,
    },
    /// There was no agent to notify.
    SessionFile,
}
