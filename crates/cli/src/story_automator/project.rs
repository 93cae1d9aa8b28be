//! Where the project is that a call is about.

use std::path::{Path, PathBuf};

use dogwatch_engine::story::Project;

/// `PROJECT_ROOT`, else the current folder, with links resolved.
pub(crate) fn root() -> PathBuf {
    let told = std::env::var_os("PROJECT_ROOT").filter(|value| !value.is_empty());
    let here = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let root = told.map_or_else(here, PathBuf::from);
    root.canonicalize().unwrap_or_else(|_| absolute(&root))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The project, with all that the environment says of it.
pub(crate) fn here() -> Project {
    Project {
        root: root(),
        home: path("HOME"),
        provider: text("BMAD_RUNTIME_PROVIDER")
            .or_else(|| text("STORY_AUTOMATOR_RUNTIME_PROVIDER")),
        skills_root: path("BMAD_SKILLS_ROOT"),
        own_skill: own_skill(),
        marker: path("BMAD_STORY_AUTOMATOR_ACTIVE_MARKER")
            .or_else(|| path("STORY_AUTOMATOR_ACTIVE_MARKER")),
        state_file: text("STORY_AUTOMATOR_STATE_FILE"),
        max_review_cycles: text("MAX_REVIEW_CYCLES"),
        max_crash_retries: text("MAX_CRASH_RETRIES"),
    }
}

/// The skill that the binary stands in for: it is linked as `<skill>/scripts/story-automator`.
fn own_skill() -> Option<PathBuf> {
    let called = PathBuf::from(std::env::args_os().next()?);
    if called.file_name()? != super::NAME || called.components().count() < 2 {
        return None;
    }
    let scripts = absolute(called.parent()?);
    let skill = scripts.parent().filter(|_| scripts.ends_with("scripts"))?;
    skill.join("data").is_dir().then(|| skill.to_owned())
}

fn path(name: &str) -> Option<PathBuf> {
    text(name).map(PathBuf::from)
}

/// A variable that is set to nothing, or to blanks, counts as not set.
fn text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
