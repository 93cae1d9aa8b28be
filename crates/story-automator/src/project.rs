//! Where the project is that a call is about.

use std::path::{Path, PathBuf};

use crate::session::agent::Wishes;
use dogwatch_bmad::format::prompt::quoted;
use dogwatch_bmad::{Project, read_text};
use jiff::Timestamp;

/// The project of this call.
pub(crate) fn here() -> Project {
    Project::from_environment(own_skill())
}

pub(crate) fn root() -> PathBuf {
    dogwatch_bmad::project::root_from_environment()
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The text of a file that a call names, below the project or not. What is there and is not read is said on standard error: the
/// answer has no word for it.
pub(crate) fn text_of(path: &Path) -> Option<String> {
    match read_text(&root(), path) {
        Ok(text) => text,
        Err(error) => {
            if !path.is_dir() {
                crate::reply::warn(error);
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

/// A variable that is set to nothing, or to blanks, counts as not set.
fn text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
