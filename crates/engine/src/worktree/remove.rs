//! Removes a worktree. Its folder is renamed first, which is one instant: before it, everything is as it was; after it, what is
//! left is known to be unwanted, whenever we are killed.

use std::fs;
use std::path::{Path, PathBuf};

use dogwatch_base::git::status::Change;
use dogwatch_base::log::{Logged as _, LoggedIo as _};

use super::repository::{self, is_tree_of};
use super::{owner, step};
use crate::Error;

/// A worktree that may be removed.
#[derive(Debug, Clone, Copy)]
pub struct Removable<'a> {
    /// Any directory in the repository that stays.
    pub home: &'a Path,
    /// git's directory that all worktrees share.
    pub common: &'a Path,
    pub folder: &'a Path,
    /// Part of the name that the folder gets before it is deleted.
    pub mark: &'a str,
    /// The session that it was made for: a worktree that another one has at this path by now stays.
    pub session: Option<&'a str>,
    /// Also with what is not committed.
    pub force: bool,
}

impl Removable<'_> {
    fn is_of_another(&self, found: Option<&str>) -> bool {
        self.session.is_some_and(|session| owner::is_another(found, session))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// Nothing is left of it.
    Gone,
    /// It stays, for this reason.
    Left(String),
}

pub fn remove(one: Removable<'_>) -> Result<Removal, Error> {
    let Removable { home, common, folder, .. } = one;
    let parked = parked(folder, one.mark);
    if parked.exists() {
        // An earlier call was killed. Check again what it found clean: only deletions are its own.
        if let Some(why) = why_not_parked(one, &parked)? {
            if folder.symlink_metadata().is_err() {
                fs::rename(&parked, folder).map_err(renaming(&parked))?;
            }
            return Ok(Removal::Left(why));
        }
        delete(&parked)?;
    }
    if folder.symlink_metadata().is_ok() {
        if !is_tree_of(folder, common) {
            return Ok(Removal::Left("it is not a worktree of this repository any more".into()));
        }
        if one.is_of_another(owner::of_folder(folder)?.as_deref()) {
            return Ok(Removal::Left("it is the worktree of another session by now".into()));
        }
        if let Some(why) = why_not(one, folder)? {
            return Ok(Removal::Left(why));
        }
        step();
        fs::rename(folder, &parked).map_err(renaming(folder))?;
        step();
        // Another process may have written to it in between.
        if let Some(why) = why_not_parked(one, &parked)? {
            fs::rename(&parked, folder).map_err(renaming(&parked))?;
            return Ok(Removal::Left(why));
        }
        delete(&parked)?;
    }
    step();
    // Only git's own note of it is left. `prune` would also remove notes of other worktrees, such as on a disk that is not
    // mounted now.
    if repository::list_in(home)?.iter().any(|listed| listed.is_at(folder))
        && !one.is_of_another(owner::of_note(common, folder).as_deref())
    {
        let args = ["worktree", "remove", "--force"];
        let said = repository::run_with(
            home,
            &args,
            |command| {
                command.arg(folder);
            },
            b"",
        )?;
        if !said.is_fine() {
            return Ok(Removal::Left(said.complaint()));
        }
    }
    step();
    Ok(Removal::Gone)
}

/// Removes whatever is at a place that only dogwatch uses, below its state directory: a worktree, or what a killed process left of
/// one.
pub fn clear(home: &Path, common: &Path, folder: &Path) {
    let mark = folder.file_name().unwrap_or_default().to_string_lossy();
    let one = Removable { home, common, folder, mark: &mark, session: None, force: true };
    remove(one).logged("remove a worktree");
    fs::remove_dir_all(folder).logged_unless_missing("remove a folder");
    let listed = repository::list_in(home).logged("list worktrees").unwrap_or_default();
    if listed.iter().any(|listed| listed.is_at(folder)) {
        // Twice: git locks a worktree that it is making.
        let args = ["worktree", "remove", "--force", "--force"];
        let with = |command: &mut std::process::Command| {
            command.arg(folder);
        };
        repository::run_with(home, &args, with, b"").logged("remove a worktree");
    }
}

/// The name of a folder that is about to be deleted, beside it.
pub fn parked(folder: &Path, mark: &str) -> PathBuf {
    folder.with_file_name(format!(".dogwatch-removing-{mark}"))
}

/// Why its folder must stay.
fn why_not(one: Removable<'_>, tree: &Path) -> Result<Option<String>, Error> {
    let listed = repository::list_in(one.home)?;
    let locked = listed.into_iter().find(|listed| listed.is_at(one.folder)).and_then(|l| l.locked);
    if let Some(why) = locked {
        return Ok(Some(format!("it is locked ({why}); unlock it with `git worktree unlock`")));
    }
    if one.force {
        return Ok(None);
    }
    if let Some(what) = repository::operation(tree)? {
        return Ok(Some(format!("a {what} is in progress in it")));
    }
    if has_submodules(tree)? {
        return Ok(Some(
            "it has submodules, which may have commits of their own; remove it with `git worktree remove --force`".into(),
        ));
    }
    Ok(dirt(&repository::uncommitted(tree)?, false))
}

/// The same for a folder that has its last name already, and may be half deleted.
fn why_not_parked(one: Removable<'_>, parked: &Path) -> Result<Option<String>, Error> {
    // `.git` is deleted last, so without it all else was.
    if one.force || !parked.join(".git").exists() {
        return Ok(None);
    }
    Ok(dirt(&repository::uncommitted(parked)?, true))
}

fn dirt(changes: &[Change], deletions_are_ours: bool) -> Option<String> {
    let is_ours =
        |change: &Change| deletions_are_ours && change.index == b' ' && change.tree == b'D';
    let mut files = changes.iter().filter(|change| !is_ours(change)).map(Change::shown);
    files.next().map(|file| format!("it has uncommitted changes: {file}"))
}

/// Submodules that were checked out in this worktree keep their commits in its own part of git's directory.
fn has_submodules(tree: &Path) -> Result<bool, Error> {
    let Some(dir) = repository::git_dir(tree)? else { return Ok(false) };
    Ok(dir.join("modules").exists())
}

/// Deletes a folder, its `.git` last.
fn delete(folder: &Path) -> Result<(), Error> {
    let deleting = || Error::io(format!("remove {}", folder.display()));
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(deleting()(error)),
    };
    for entry in entries {
        let entry = entry.map_err(deleting())?;
        if entry.file_name() == ".git" {
            continue;
        }
        // Never through a link: `remove_dir_all` of a link fails, so it is a file here.
        let gone = if entry.file_type().map_err(deleting())?.is_dir() {
            fs::remove_dir_all(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
        gone.map_err(deleting())?;
    }
    step();
    fs::remove_file(folder.join(".git")).logged_unless_missing("remove a file");
    fs::remove_dir_all(folder).map_err(deleting())
}

fn renaming(folder: &Path) -> impl FnOnce(std::io::Error) -> Error {
    Error::io(format!("rename {}", folder.display()))
}
