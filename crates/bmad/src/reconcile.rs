//! Compares a story's `File List` with git.

use std::path::{Path, PathBuf};

use crate::format::sections;

use super::{Stories, StoryError, read_text, rewrite_text};
use dogwatch_base::git::{GitFailed, WorkTree};

const HEADING: &str = "File List";

/// Directories of tools, not of the story's work.
const NOT_WORK: [&str; 5] = ["_bmad/", "_bmad-output/", ".claude/", ".cursor/", ".windsurf/"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconciled {
    /// Relative to the repository.
    pub story_file: String,
    pub git_files: Vec<String>,
    pub missing_from_story: Vec<String>,
    pub stale_in_story: Vec<String>,
    pub wrote: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum NotReconciled {
    #[error("no such story")]
    NoStory,
    #[error("no story file begins with {prefix}")]
    NoFile { prefix: String },
    #[error("{0}")]
    Git(GitFailed),
    #[error("{0}")]
    Files(StoryError),
}

impl From<StoryError> for NotReconciled {
    fn from(error: StoryError) -> Self {
        Self::Files(error)
    }
}

/// A story and its file, relative to `repo`.
pub(crate) fn story_file(
    stories: &Stories,
    story: &str,
) -> Result<(String, PathBuf), NotReconciled> {
    let story = stories.story(story)?.ok_or(NotReconciled::NoStory)?;
    let file = stories.file_of(&story)?;
    let file = file.ok_or_else(|| NotReconciled::NoFile { prefix: story.prefix() })?;
    Ok((story.key, file))
}

pub(crate) fn below(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

/// With `write`, updates the section.
pub fn reconcile(repo: &Path, story: &str, write: bool) -> Result<Reconciled, NotReconciled> {
    let stories = Stories::new(repo);
    let (_, file) = story_file(&stories, story)?;
    let text = read_text(repo, &file)?.unwrap_or_default();
    let git_files = changed(&stories)?;
    let listed = sections::listed(&text, HEADING);
    let lacking = |these: &[String], in_those: &[String]| -> Vec<String> {
        these.iter().filter(|path| !in_those.contains(path)).cloned().collect()
    };
    let missing_from_story = lacking(&git_files, &listed);
    let stale_in_story = lacking(&listed, &git_files);
    let mut wrote = false;
    if write {
        let none = ["(no files changed)".to_owned()];
        let items = if git_files.is_empty() { &none[..] } else { &git_files[..] };
        wrote = rewrite_text(repo, &file, &text, &sections::with_section(&text, HEADING, items))?;
    }
    let story_file = below(repo, &file);
    Ok(Reconciled { story_file, git_files, missing_from_story, stale_in_story, wrote })
}

fn changed(stories: &Stories) -> Result<Vec<String>, NotReconciled> {
    let repo = stories.root();
    let tree = WorkTree::of(repo).map_err(NotReconciled::Git)?;
    let changes = tree.changes().map_err(NotReconciled::Git)?;
    let artifacts = format!("{}/", stories.artifacts_below_root()?);
    let inside = below(tree.top(), repo);
    let inside = if inside.is_empty() { inside } else { format!("{inside}/") };
    let mut files: Vec<String> = changes
        .iter()
        .filter_map(|change| change.shown().strip_prefix(&inside).map(str::to_owned))
        .filter(|path| !NOT_WORK.iter().any(|folder| path.starts_with(folder)))
        .filter(|path| !path.starts_with(&artifacts))
        .collect();
    files.sort_unstable();
    files.dedup();
    Ok(files)
}
