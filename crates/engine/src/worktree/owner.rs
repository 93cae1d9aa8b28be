//! Which session a worktree was made for. A path does not say it: once a worktree is removed, the next one may be made at the same
//! path. So the session's id is in a file of git's own directory of the worktree, which git removes with it.

use std::fs;
use std::path::{Path, PathBuf};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_store::{Worktree, read_regular};

use super::repository::{git_dir, is_tree_of, path_of};
use crate::Error;

const FILE: &str = "dogwatch-session";
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

/// The same of the worktree that git expects in a folder, which may be gone.
pub fn of_note(common: &Path, folder: &Path) -> Option<String> {
    let wanted = real(folder).join(".git");
    let notes = fs::read_dir(common.join("worktrees")).logged_unless_missing("read a folder")?;
    notes
        .flatten()
        .map(|note| note.path())
        .find(|dir| expected(dir) == Some(wanted.clone()))
        .as_deref()
        .and_then(read)
}

/// Whether the folder has the worktree of this record, and not one that was made there since for another session.
pub fn has(worktree: &Worktree) -> bool {
    let Worktree { folder, repository, session, .. } = worktree;
    is_tree_of(folder, repository)
        && of_folder(folder)
            .logged("read a worktree's session")
            .is_some_and(|found| !is_another(found.as_deref(), session))
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

fn read(dir: &Path) -> Option<String> {
    let bytes = read_regular(&dir.join(FILE), LONGEST)
        .logged_unless_missing("read a worktree's session")?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The `.git` file of the worktree that a directory of git is about.
fn expected(dir: &Path) -> Option<PathBuf> {
    let bytes = read_regular(&dir.join("gitdir"), LONGEST)
        .logged_unless_missing("read a worktree's folder")?;
    // Relative if `worktree.useRelativePaths` is set.
    Some(real(&dir.join(path_of(bytes.trim_ascii_end()))))
}
