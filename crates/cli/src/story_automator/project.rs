//! Where the project is that a call is about.

use std::path::{Path, PathBuf};

use dogwatch_core::story::prompt::quoted;
use dogwatch_engine::story::session::agent::Wishes;
use dogwatch_engine::story::{Project, read_text};
use jiff::Timestamp;

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

/// The text of a file that a call names, below the project or not. What is there and is not read is said on standard error: the
/// answer has no word for it.
pub(crate) fn text_of(path: &Path) -> Option<String> {
    match read_text(&root(), path) {
        Ok(text) => text,
        Err(error) => {
            if !path.is_dir() {
                crate::ui::talk(error);
            }
            None
        }
    }
}

/// What the environment wishes of agents.
pub(crate) fn wishes() -> Wishes {
    Wishes { agent: text("AI_AGENT"), command: text("AI_COMMAND") }
}

/// Whether this is called from within a session of a run.
pub(crate) fn is_child() -> bool {
    text("STORY_AUTOMATOR_CHILD").is_some_and(|told| told.trim().eq_ignore_ascii_case("true"))
}

/// The time as callers are told it.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The words for a shell that call us again, from anywhere.
pub(crate) fn helper() -> String {
    if let Some(link) = link() {
        return quoted(&link.display().to_string());
    }
    let binary = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("dogwatch"));
    format!("{} {}", quoted(&binary.display().to_string()), super::NAME)
}

/// The link that the binary was called by, if it was by a path.
fn link() -> Option<PathBuf> {
    let called = PathBuf::from(std::env::args_os().next()?);
    let is_path = called.components().count() > 1;
    (is_path && called.file_stem()? == super::NAME).then(|| absolute(&called))
}

/// The skill that the binary stands in for: it is linked as `<skill>/scripts/story-automator`.
fn own_skill() -> Option<PathBuf> {
    let link = link()?;
    let scripts = link.parent().filter(|folder| folder.ends_with("scripts"))?;
    scripts.parent().filter(|skill| skill.join("data").is_dir()).map(Path::to_owned)
}

fn path(name: &str) -> Option<PathBuf> {
    text(name).map(PathBuf::from)
}

/// A variable that is set to nothing, or to blanks, counts as not set.
fn text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
