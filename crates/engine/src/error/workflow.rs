use std::path::PathBuf;

use dogwatch_core::workflow::BadWorkflow;

use super::kind::codes;

/// Why a run of a workflow cannot be planned, started, found or continued.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    #[error("{0}")]
    BadWorkflow(#[from] BadWorkflow),
    #[error("no run {target:?}")]
    NoSuchRun { target: String },
    #[error("{} has no run yet", project.display())]
    NoRun { project: PathBuf },
    #[error("a run is already active in {}", project.display())]
    RunIsAttended { project: PathBuf },
    #[error("run {id} of this project is unfinished")]
    RunIsOpen { id: String },
    #[error(
        "no BMAD story skills are installed for {}: neither bmad-build-auto, nor bmad-create-story and bmad-dev-story",
        project.display()
    )]
    NoBmad { project: PathBuf },
}

codes! { WorkflowError:
    Self::BadWorkflow(_) => Usage "bad_workflow";
    Self::NoSuchRun { .. } | Self::NoRun { .. } => NotFound "no_such_run";
    Self::RunIsAttended { .. } => Conflict "run_is_attended";
    Self::RunIsOpen { .. } => Conflict "run_is_open";
    Self::NoBmad { .. } => Usage "no_bmad";
}

impl WorkflowError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::BadWorkflow(bad) => return bad.hint.clone(),
            Self::RunIsOpen { .. } => {
                "to continue it: dogwatch story resume; to end it: dogwatch story abort".into()
            }
            Self::NoSuchRun { .. } => "`dogwatch story ls` lists the runs of this project".into(),
            Self::NoRun { .. } => {
                "to see what a run would do: dogwatch story plan; to start one: dogwatch story run".into()
            }
            Self::NoBmad { .. } => "`npx bmad-method install --modules bmm --tools claude-code` installs bmad-build-auto; with --shims also bmad-create-story and bmad-dev-story".into(),
            Self::RunIsAttended { .. } => {
                "`dogwatch story status` shows its progress; `dogwatch story pause` stops it".into()
            }
        })
    }
}
