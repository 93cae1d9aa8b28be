//! A story's commit: what has changed in the work tree, without what must not leave the machine.

use std::path::Path;

use dogwatch_core::story::git_status::Change;
use dogwatch_core::story::left_out;
use dogwatch_store::read_regular;

use super::git::{GitFailed, WorkTree};

/// A longer file is not read for keys: nobody writes one by hand.
const MOST_BYTES: u64 = 2 * 1024 * 1024;

/// A file that was not taken along, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub path: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// `None` if there was nothing to commit.
    pub commit: Option<String>,
    pub left_out: Vec<LeftOut>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotCommitted {
    Status(GitFailed),
    /// A merge is to be settled by a person first.
    Unmerged(Vec<String>),
    Add(GitFailed),
    Commit(GitFailed),
}

pub fn commit(folder: &Path, message: &str) -> Result<Committed, NotCommitted> {
    let tree = WorkTree::of(folder).map_err(NotCommitted::Status)?;
    let changes = tree.changes().map_err(NotCommitted::Status)?;
    let unmerged: Vec<String> =
        changes.iter().filter(|change| change.is_unmerged()).map(Change::shown).collect();
    if !unmerged.is_empty() {
        return Err(NotCommitted::Unmerged(unmerged));
    }
    let (mut taken, mut staged_secrets, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for change in &changes {
        match why_not(&tree, change) {
            Some(reason) => {
                left_out.push(LeftOut { path: change.shown(), reason });
                if !matches!(change.index, b' ' | b'?') {
                    staged_secrets.push(change.path.as_slice());
                }
            }
            None if change.is_unstaged() => taken.push(change.path.as_slice()),
            None => {}
        }
    }
    tree.unstage(&staged_secrets).map_err(NotCommitted::Add)?;
    tree.add(&taken).map_err(NotCommitted::Add)?;
    if changes.is_empty() || !tree.has_staged() {
        return Ok(Committed { commit: None, left_out });
    }
    let commit = tree.commit(message).map_err(NotCommitted::Commit)?;
    Ok(Committed { commit: Some(commit), left_out })
}

fn why_not(tree: &WorkTree, change: &Change) -> Option<String> {
    if change.is_gone() {
        return None;
    }
    if change.is_repository() {
        return Some("a repository of its own".to_owned());
    }
    // What is in the last commit already, somebody wanted there.
    if change.is_new()
        && let Some(reason) = left_out::by_name(&change.shown())
    {
        return Some(reason.to_owned());
    }
    let path = tree.path(&change.path);
    // Of a link git takes only where it leads to.
    let now = if path.is_symlink() { None } else { read_regular(&path, MOST_BYTES).ok() }?;
    let now = text(&now)?;
    let reason = left_out::by_content(now, "")?;
    if change.is_new() {
        return Some(reason);
    }
    let committed = tree.committed(&change.path);
    left_out::by_content(now, text(&committed).unwrap_or_default())
}

/// `None` for what no person wrote.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
