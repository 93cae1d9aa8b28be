//! The project that stories belong to.

pub mod artifacts;
pub mod files;
pub mod layout;
pub mod provider;
pub mod run_marker;
pub mod state;
pub mod texts;

use std::path::PathBuf;

/// The root, and settings from the environment. Read once, by [`Project::from_environment`]; nothing else reads the variables.
#[derive(Debug, Clone, Default)]
pub struct Project {
    /// Absolute, with links resolved.
    pub root: PathBuf,
    pub home: Option<PathBuf>,
    /// `BMAD_RUNTIME_PROVIDER`, else `STORY_AUTOMATOR_RUNTIME_PROVIDER`.
    pub provider: Option<String>,
    /// `BMAD_SKILLS_ROOT`.
    pub skills_root: Option<PathBuf>,
    /// The directory of the installed story-automator skill, if the binary is linked into one.
    pub own_skill: Option<PathBuf>,
    /// `BMAD_STORY_AUTOMATOR_ACTIVE_MARKER`, else `STORY_AUTOMATOR_ACTIVE_MARKER`.
    pub marker: Option<PathBuf>,
    /// `STORY_AUTOMATOR_STATE_FILE`.
    pub state_file: Option<String>,
    /// `MAX_REVIEW_CYCLES`.
    pub max_review_cycles: Option<String>,
    /// `MAX_CRASH_RETRIES`.
    pub max_crash_retries: Option<String>,
}

impl Project {
    /// The project of this process, with its settings from the environment.
    pub fn from_environment(own_skill: Option<PathBuf>) -> Self {
        Self {
            root: root_from_environment(),
            home: path("HOME"),
            provider: text("BMAD_RUNTIME_PROVIDER")
                .or_else(|| text("STORY_AUTOMATOR_RUNTIME_PROVIDER")),
            skills_root: path("BMAD_SKILLS_ROOT"),
            own_skill,
            marker: path("BMAD_STORY_AUTOMATOR_ACTIVE_MARKER")
                .or_else(|| path("STORY_AUTOMATOR_ACTIVE_MARKER")),
            state_file: text("STORY_AUTOMATOR_STATE_FILE"),
            max_review_cycles: text("MAX_REVIEW_CYCLES"),
            max_crash_retries: text("MAX_CRASH_RETRIES"),
        }
    }
}

/// `PROJECT_ROOT`, else the current directory, with links resolved.
pub fn root_from_environment() -> PathBuf {
    let given = std::env::var_os("PROJECT_ROOT").filter(|value| !value.is_empty());
    let here = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let root = given.map_or_else(here, PathBuf::from);
    let absolute = || std::path::absolute(&root).unwrap_or_else(|_| root.clone());
    root.canonicalize().unwrap_or_else(|_| absolute())
}

fn path(name: &str) -> Option<PathBuf> {
    text(name).map(PathBuf::from)
}

/// An empty or blank variable counts as not set.
fn text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
