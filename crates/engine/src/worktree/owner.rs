//! Which session a worktree was made for. A path does not say it: once a worktree is removed, the next one may be made at the same
//! path. So the session's id is in a file of git's own directory of the worktree, which git removes with it.

use std::fs;
use std::path::{Path, PathBuf};

use dogwatch_base::log::LoggedIo as _;
use dogwatch_store::{Worktree, read_regular};

use super::claim;
use super::repository::{git_dir, is_tree_of};
use crate::Error;

pub(super) const FILE: &str = "dogwatch-session";
/// More than any id, or any path.
const LONGEST: u64 = 16 * 1024;

/// Records that a worktree was made for a session.
pub fn write(folder: &Path, session: &str) -> Result<(), Error> {
    let Some(dir) = git_dir(folder)? else {
        let said = "the worktree that was just made has no git directory".to_owned();
        return Err(super::repository::failed("rev-parse", folder, said));
    };
    let file = dir.join(FILE);
    fs::write(&file, session).map_err(Error::io(format!("write {}", file.display())))
}

/// The session that the worktree in a folder was made for. `None` if it does not say so: a person made it, or dogwatch before it
/// wrote this file.
pub fn of_folder(folder: &Path) -> Result<Option<String>, Error> {
    Ok(git_dir(folder)?.as_deref().and_then(read))
}

/// Whether the folder has the worktree of this record, and not one that was made there since for another session.
pub fn has(worktree: &Worktree) -> bool {
    claim::is_there(worktree) && is_tree_of(&worktree.folder, &worktree.repository)
}

/// Whether what was found names another session.
pub fn is_another(found: Option<&str>, session: &str) -> bool {
    found.is_some_and(|found| found != session)
}

/// The path without symbolic links, as git prints it. The last parts may be missing.
pub fn real(path: &Path) -> PathBuf {
    let whole = |part: &Path| Some(part.canonicalize().ok()?.join(path.strip_prefix(part).ok()?));
    // Joining an empty rest would add a slash.
    let found = path.canonicalize().ok().or_else(|| path.ancestors().skip(1).find_map(whole));
    found.unwrap_or_else(|| path.to_owned())
}

/// The same for a folder that may have been replaced by a link: that is not followed.
pub fn place(folder: &Path) -> PathBuf {
    match (folder.parent(), folder.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => real(folder),
    }
}

fn read(dir: &Path) -> Option<String> {
    let bytes = read_regular(&dir.join(FILE), LONGEST)
        .logged_unless_missing("read a worktree's session")?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}
