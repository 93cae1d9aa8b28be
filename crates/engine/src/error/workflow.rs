use std::path::PathBuf;

use dogwatch_bmad::NotVerified;
use dogwatch_bmad::format::bmm_config::Outside;
use dogwatch_bmad::policy::fault::PolicyFault;
use dogwatch_core::workflow::BadWorkflow;
use jiff::Timestamp;

use super::kind::{BAD_ARGUMENT, INTERNAL, codes};

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
    #[error("run {id} has ended")]
    RunHasEnded { id: String },
    #[error("run {id} ended at {at:.0}; to start another: dogwatch story run")]
    NothingToResume { id: String, at: Timestamp },
    #[error("the path of the project is not UTF-8: {}", project.display())]
    PathNotUtf8 { project: PathBuf },
    #[error("no step {id:?}; steps: {known}")]
    NoSuchStep { id: String, known: String },
    #[error("{id:?} is not a valid item: use letters, digits, '-', '_' and '.'")]
    BadItem { id: String },
    #[error("duplicate item {id}")]
    DuplicateItem { id: String },
    #[error("nothing to do: no items given")]
    NoItems,
    #[error("nothing to do: all of these stories are done")]
    AllDone,
    /// The first story needs a person before it can start.
    #[error("{note}")]
    StopsAtOnce { note: String },
    #[error("no story {story:?} in {place}")]
    NoSuchStory { story: String, place: String },
    #[error("{} has no stories of epic {epic}", file.display())]
    NoStoriesOfEpic { file: PathBuf, epic: String },
    #[error("{} does not exist; run BMAD's sprint planning first", file.display())]
    NoSprintStatus { file: PathBuf },
    #[error("several spec folders have a {list}; choose one with --epic ({folders})")]
    SeveralSpecFolders { list: &'static str, folders: String },
    #[error("{file}: {problem}")]
    BadStoryList { file: String, problem: String },
    #[error("the epic files are larger than {mebibytes} MiB in total")]
    EpicsTooLarge { mebibytes: usize },
    #[error(transparent)]
    Outside(Outside),
    #[error("invalid policy of this project: {0}")]
    BadPolicy(PolicyFault),
    #[error(transparent)]
    Policy(#[from] PolicyFault),
    #[error(transparent)]
    NotVerified(#[from] NotVerified),
    #[error(
        "_bmad/scripts/render_skill.py is missing, and bmad-build-auto needs it; install BMAD in this project"
    )]
    NoRenderScript,
    #[error(
        "bmad-build-auto stops on uncommitted changes, even with --allow-dirty; commit or stash them"
    )]
    BuildNeedsCleanTree,
    #[error("stories of a {list} run in order; remove --max-parallel")]
    NotParallel { list: &'static str },
    #[error("parallel stories need an initial commit")]
    NoFirstCommit,
    #[error("parallel stories need {file} to be committed: each runs in its own git worktree")]
    NotCommitted { file: String },
    /// A decision about a step that is not in the run's workflow.
    #[error("no step {job}")]
    NoStepOfJob { job: String },
    #[error(
        "cannot read the settings of run {id} ({source}); it may have been started by another version of dogwatch"
    )]
    BadSettings { id: String, source: serde_json::Error },
}

codes! { WorkflowError:
    Self::BadWorkflow(_) => Usage "bad_workflow";
    Self::NoSuchRun { .. } | Self::NoRun { .. } => NotFound "no_such_run";
    Self::RunIsAttended { .. } => Conflict "run_is_attended";
    Self::RunIsOpen { .. } => Conflict "run_is_open";
    Self::NoBmad { .. } => Usage "no_bmad";
    Self::NoStepOfJob { .. } | Self::BadSettings { .. } => Internal INTERNAL;
    Self::RunHasEnded { .. }
    | Self::NothingToResume { .. }
    | Self::PathNotUtf8 { .. }
    | Self::NoSuchStep { .. }
    | Self::BadItem { .. }
    | Self::DuplicateItem { .. }
    | Self::NoItems
    | Self::AllDone
    | Self::StopsAtOnce { .. }
    | Self::NoSuchStory { .. }
    | Self::NoStoriesOfEpic { .. }
    | Self::NoSprintStatus { .. }
    | Self::SeveralSpecFolders { .. }
    | Self::BadStoryList { .. }
    | Self::EpicsTooLarge { .. }
    | Self::Outside(_)
    | Self::BadPolicy(_)
    | Self::Policy(_)
    | Self::NotVerified(_)
    | Self::NoRenderScript
    | Self::BuildNeedsCleanTree
    | Self::NotParallel { .. }
    | Self::NoFirstCommit
    | Self::NotCommitted { .. } => Usage BAD_ARGUMENT;
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
            _ => return None,
        })
    }
}
