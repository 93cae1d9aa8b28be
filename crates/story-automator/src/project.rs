//! The project of a call.

use std::path::{Path, PathBuf};

use crate::session::agent::Wishes;
use dogwatch_base::program;
use dogwatch_bmad::format::prompt::quoted;
use dogwatch_bmad::{Project, read_text};
use jiff::Timestamp;

pub(crate) fn here() -> Project {
    Project::from_environment(own_skill())
}

pub(crate) fn root() -> PathBuf {
    dogwatch_bmad::project::root_from_environment()
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The text of a file that a call names, below the project or not. A file that exists and cannot be read is reported on stderr: the
/// answer has no field for it.
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

/// The agent settings of the environment.
pub(crate) fn wishes() -> Wishes {
    Wishes { agent: text("AI_AGENT"), command: text("AI_COMMAND") }
}

/// Whether the caller runs inside a session of a run.
pub(crate) fn is_child() -> bool {
    text("STORY_AUTOMATOR_CHILD").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
}

/// The time in the helper's format.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The shell command that calls us again, from any directory.
pub(crate) fn helper() -> String {
    if let Some(link) = link() {
        return quoted(&link.display().to_string());
    }
    let binary = program::own_path().unwrap_or_else(|_| PathBuf::from("dogwatch"));
    format!("{} {}", quoted(&binary.display().to_string()), super::NAME)
}

/// The link that the binary was called by, if it was called by a path.
fn link() -> Option<PathBuf> {
    let called = PathBuf::from(std::env::args_os().next()?);
    let is_path = called.components().count() > 1;
    (is_path && called.file_stem()? == super::NAME).then(|| absolute(&called))
}

/// The skill that the binary belongs to: it is linked as `<skill>/scripts/story-automator`.
fn own_skill() -> Option<PathBuf> {
    let link = link()?;
    let scripts = link.parent().filter(|folder| folder.ends_with("scripts"))?;
    scripts.parent().filter(|skill| skill.join("data").is_dir()).map(Path::to_owned)
}

/// An empty or blank variable counts as not set.
fn text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
