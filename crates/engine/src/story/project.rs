//! What is known of the project that stories belong to.

use std::path::PathBuf;

/// The root, and what the environment says. Read once, at the front; nothing below looks at a variable.
#[derive(Debug, Clone, Default)]
pub struct Project {
    /// Absolute, with links resolved.
    pub root: PathBuf,
    pub home: Option<PathBuf>,
    /// `BMAD_RUNTIME_PROVIDER`, else `STORY_AUTOMATOR_RUNTIME_PROVIDER`.
    pub provider: Option<String>,
    /// `BMAD_SKILLS_ROOT`.
    pub skills_root: Option<PathBuf>,
    /// The folder of the installed story-automator skill, if the binary is linked into one.
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
