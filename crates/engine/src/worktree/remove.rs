//! Removes a worktree, by open directories: what takes its place at any moment is not touched. Its folder is renamed first, which is
//! one instant: before it, everything is as it was; after it, what is left is known to be unwanted, whenever we are killed.

use std::path::{Path, PathBuf};

use dogwatch_base::git::status::Change;
use dogwatch_base::log::Logged as _;
use dogwatch_store::{OwnFolder, Worktree, remove_beneath};

use super::claim::{self, Found, Wanted};
use super::{repository, step};
use crate::Error;

/// A worktree that may be removed.
#[derive(Debug, Clone, Copy)]
pub struct Removable<'a> {
    /// Which folder, of which session: whatever else is at this path by now stays.
    pub wanted: Wanted<'a>,
    /// Part of the name that the folder gets before it is deleted.
    pub mark: &'a str,
    /// Also with what is not committed.
    pub force: bool,
}

impl<'a> Removable<'a> {
    pub fn of(worktree: &'a Worktree, force: bool) -> Self {
        Self { wanted: Wanted::of(worktree), mark: &worktree.session, force }
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
    let Removable { wanted, .. } = one;
    let folder = wanted.folder;
    let parked = parked(folder, one.mark);
    match claim::find_parked(wanted, &parked)? {
        Found::Missing => {}
        Found::Other(why) => return Ok(Removal::Left(why)),
        Found::Ours(mut tree) => {
            // An earlier call was killed. Check again what it found clean: only deletions are its own.
            if let Some(why) = why_not_parked(one, &parked)? {
                if folder.symlink_metadata().is_err() {
                    rename(&mut tree, folder)?;
                }
                return Ok(Removal::Left(why));
            }
            delete(tree)?;
        }
    }
    match claim::find(wanted)? {
        Found::Missing => {}
        Found::Other(why) => return Ok(Removal::Left(why)),
        Found::Ours(mut tree) => {
            if let Some(why) = why_not(one, folder)? {
                return Ok(Removal::Left(why));
            }
            step();
            rename(&mut tree, &parked)?;
            step();
            // Another process may have written to it in between.
            if let Some(why) = why_not_parked(one, &parked)? {
                rename(&mut tree, folder)?;
                return Ok(Removal::Left(why));
            }
            delete(tree)?;
        }
    }
    step();
    // Only what git keeps of it is left.
    if let Some(why) = claim::forget(wanted, false)? {
        return Ok(Removal::Left(why));
    }
    step();
    Ok(Removal::Gone)
}

/// Removes whatever is at a place that only dogwatch uses, below its state directory: a worktree, or what a killed process left of
/// one. No part of the path may be a link.
pub fn clear(common: &Path, folder: &Path) {
    let mark = folder.file_name().unwrap_or_default().to_string_lossy();
    let wanted = Wanted { common, folder, session: None, identity: None };
    remove(Removable { wanted, mark: &mark, force: true }).logged("remove a worktree");
    // git locks a worktree that it is making.
    take_away(wanted).logged("remove a worktree");
}

/// Removes whatever is at the place of a worktree that nobody works in, and what git keeps of it, even if it is locked.
pub(super) fn take_away(wanted: Wanted<'_>) -> Result<(), Error> {
    let names = wanted.folder.strip_prefix("/").unwrap_or(wanted.folder);
    remove_beneath(Path::new("/"), names)
        .map_err(Error::io(format!("remove {}", wanted.folder.display())))?;
    claim::forget(wanted, true).map(drop)
}

/// The name of a folder that is about to be deleted, beside it.
pub fn parked(folder: &Path, mark: &str) -> PathBuf {
    folder.with_file_name(format!(".dogwatch-removing-{mark}"))
}

/// Why its folder must stay.
fn why_not(one: Removable<'_>, tree: &Path) -> Result<Option<String>, Error> {
    if let Some(why) = claim::locked(one.wanted)? {
        return Ok(Some(is_locked(&why)));
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

pub(super) fn is_locked(why: &str) -> String {
    format!("it is locked ({why}); unlock it with `git worktree unlock`")
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
fn delete(tree: OwnFolder) -> Result<(), Error> {
    let deleting = Error::io(format!("remove {}", tree.path().display()));
    if let Err(error) = tree.empty_but(".git") {
        return Err(deleting(error));
    }
    step();
    tree.remove().map_err(deleting)
}

fn rename(tree: &mut OwnFolder, to: &Path) -> Result<(), Error> {
    let renaming = Error::io(format!("rename {}", tree.path().display()));
    tree.rename(to.file_name().unwrap_or_default()).map_err(renaming)
}
