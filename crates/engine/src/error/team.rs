use std::path::PathBuf;

use dogwatch_core::roles::BadRole;
use dogwatch_core::session_file::{FileProblem, Missing, NoTask, TaskId};
use dogwatch_core::window::{LEAST_HEIGHT, LEAST_WIDTH};

use super::kind::{BAD_ARGUMENT, codes};

/// Why a pane, a task or a session file of a team cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    #[error("no pane {target:?}")]
    NoSuchPane { target: String },
    #[error("{pane} is the caller's own pane; an agent cannot close itself")]
    OwnPane { pane: String },
    #[error("{pane} is not ready to close: {}", missing.iter().map(|m| m.words()).collect::<Vec<_>>().join(", "))]
    MayNotClose { pane: String, missing: Vec<Missing> },
    #[error("cannot start role {role} in a pane (attempt {tries} of 3): {reason}")]
    PaneNotReady {
        role: String,
        tries: u32,
        reason: String,
        /// Number of the escalation that was raised.
        escalation: Option<i64>,
    },
    #[error(
        "no room for another pane: the window has {width}x{height} cells and {panes} panes, the master on the {side}; each pane needs {LEAST_WIDTH}x{LEAST_HEIGHT}"
    )]
    NoRoom { width: u32, height: u32, panes: usize, side: &'static str },
    #[error("no session file in {}", project.display())]
    NoSessionFile { project: PathBuf },
    #[error("cannot use the session file {}: {problem}", path.display())]
    BadSessionFile { path: PathBuf, problem: FileProblem },
    #[error("{0}")]
    NoTask(NoTask),
    #[error("{task} is recorded as done, but reporting to {spawner} failed: {reason}")]
    NotReported { task: TaskId, spawner: String, reason: String },
    #[error(transparent)]
    BadRole(#[from] BadRole),
    #[error("the role is unknown; pass --role or set DOGWATCH_ROLE")]
    NoRole,
    #[error("not inside tmux; run this in a tmux pane or pass --master")]
    NoMaster,
    #[error("BMAD_SESSION_ID is {id:?}, which is not a valid folder name")]
    BadBmadSession { id: String },
    #[error("the result must be a short text such as pass, fail or blocked: {result:?}")]
    BadResult { result: String },
    #[error("the task is empty")]
    EmptyTask,
    #[error("the task is longer than {most} bytes; write it to a file and refer to the file")]
    TaskTooLong { most: usize },
    #[error("the task contains a NUL byte")]
    TaskHasNul,
}

codes! { TeamError:
    Self::NoSuchPane { .. } => NotFound "no_such_pane";
    Self::OwnPane { .. } => Refused "own_pane";
    Self::MayNotClose { .. } => Refused "may_not_close";
    Self::PaneNotReady { .. } => Agent "pane_not_ready";
    Self::NoRoom { .. } => Conflict "no_room";
    Self::NoSessionFile { .. } => NotFound "no_session_file";
    Self::BadSessionFile { .. } => Store "bad_session_file";
    Self::NoTask(_) => NotFound "no_task";
    Self::NotReported { .. } => Failed "not_reported";
    Self::BadRole(_)
    | Self::NoRole
    | Self::NoMaster
    | Self::BadBmadSession { .. }
    | Self::BadResult { .. }
    | Self::EmptyTask
    | Self::TaskTooLong { .. }
    | Self::TaskHasNul => Usage BAD_ARGUMENT;
}

impl TeamError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::MayNotClose { pane, .. } => {
                format!("`dogwatch team` shows its progress; to close it anyway: dogwatch pane close --force {pane}")
            }
            Self::PaneNotReady { escalation: Some(number), .. } => {
                format!("answer the escalation: dogwatch escalations show {number}")
            }
            Self::NoRoom { .. } => "enlarge the window, close a pane (dogwatch pane close) or use another --side for the master".into(),
            Self::NoSessionFile { .. } => {
                "create one with a first task: dogwatch task add --role dev 'Write the parser'".into()
            }
            Self::BadSessionFile { .. } => "the file was not changed; correct it and run the command again".into(),
            Self::NoTask(_) => "`dogwatch task list` lists assignments".into(),
            Self::NotReported { .. } => "run the command again; nothing is reported twice".into(),
            _ => return None,
        })
    }
}
