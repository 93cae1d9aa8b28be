//! Worktrees whose work is merged or was discarded. All others stay, with their sessions.

use std::collections::HashSet;
use std::path::PathBuf;

use dogwatch_core::worktree::finish::{Consent, Way};
use dogwatch_store::{Store, Worktree, WorktreeStage};
use jiff::Timestamp;

use super::What;
use crate::actions::finish::{self, Request};
use crate::actions::spawn::worktree::recover;
use crate::worktree::remove::{Removable, Removal, parked, remove};
use crate::worktree::{Repository, claim, make, owner, repository, values};
use crate::{Context, Error};

/// A worktree that stays although its work is merged or was discarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The name of its session.
    pub session: String,
    pub folder: PathBuf,
    pub why: String,
}

/// What becomes of one.
enum Outcome {
    /// It is in use, or its work is not finished.
    Stays,
    Removed,
    /// It could go, but for this.
    Left(String),
}

impl From<Removal> for Outcome {
    fn from(removal: Removal) -> Self {
        match removal {
            Removal::Gone => Self::Removed,
            Removal::Left(why) => Self::Left(why),
        }
    }
}

/// Removes what may be removed, or only finds it. Returns the folders, and what could not be removed.
pub(super) fn collect(
    context: &Context,
    store: &mut Store,
    before: Timestamp,
    what: What,
) -> Result<(Vec<PathBuf>, Vec<Left>), Error> {
    let dry_run = what.dry_run;
    if !dry_run {
        recover(context)?;
    }
    let (mut removed, mut left) = (Vec::new(), Vec::new());
    for worktree in store.worktrees()? {
        let (folder, session) = (worktree.folder.clone(), worktree.session.clone());
        let name = worktree.name.clone();
        // One that cannot be asked about is no reason to leave the others.
        match collect_one(context, store, worktree, before, what) {
            Ok(Outcome::Stays) => {}
            Ok(Outcome::Removed) => removed.push(folder),
            Ok(Outcome::Left(why)) => left.push(Left { session: name, folder, why }),
            Err(error) => left.push(Left { session: name, folder, why: error.to_string() }),
        }
        if !dry_run && is_forgettable(store, &session)? {
            store.forget_worktree(&session)?;
        }
    }
    Ok((removed, left))
}

fn collect_one(
    context: &Context,
    store: &Store,
    worktree: Worktree,
    before: Timestamp,
    what: What,
) -> Result<Outcome, Error> {
    let dry_run = what.dry_run;
    match &worktree.stage {
        // Its repository was deleted, or is on a disk that is not mounted.
        _ if !worktree.repository.exists() => Ok(Outcome::Stays),
        WorktreeStage::Making => Ok(Outcome::Stays),
        WorktreeStage::Finished(how) if how.way == Way::Keep => Ok(Outcome::Stays),
        WorktreeStage::Finished(how) => {
            if !is_left(store, &worktree)? || !finish::living(context, &worktree)?.is_empty() {
                return Ok(Outcome::Stays);
            }
            if dry_run {
                return found(&worktree);
            }
            let _lock = make::lock(context, &worktree.repository)?;
            if !is_unchanged(store, &worktree)? || !is_left(store, &worktree)? {
                return Ok(Outcome::Stays);
            }
            remove_finished(&worktree, how.way == Way::Discard).map(Outcome::from)
        }
        WorktreeStage::Ready | WorktreeStage::Finishing(_) => {
            if !is_over_since(context, store, &worktree, before)? {
                return Ok(Outcome::Stays);
            }
            let facts = finish::gather(context, &worktree, None)?.facts;
            let has_target = facts.into.as_ref().is_some_and(|into| into.tip.is_some());
            let is_merged =
                facts.is_combined || (has_target && facts.tip.is_some() && facts.ahead == 0);
            let is_clean = facts.uncommitted.is_empty()
                && facts.operation.is_none()
                && facts.elsewhere.is_none();
            if !is_merged || !is_clean || !facts.living.is_empty() {
                return Ok(Outcome::Stays);
            }
            // What is in its place now was not looked at.
            if let Some(why) = claim::other(&worktree)? {
                return Ok(Outcome::Left(why));
            }
            if let Some(why) = keeps_ignored(&worktree, what)? {
                return Ok(Outcome::Left(why));
            }
            if dry_run {
                return Ok(Outcome::Removed);
            }
            let _lock = make::lock(context, &worktree.repository)?;
            if !is_unchanged(store, &worktree)? {
                return Ok(Outcome::Stays);
            }
            let consent = Consent::default();
            let request = Request { way: Way::Merge, into: None, message: None, consent };
            let finished = finish::finish_locked(context, worktree, &request)?;
            if finished.folder_removed {
                return Ok(Outcome::Removed);
            }
            Ok(Outcome::Left(finished.notes.join("; ")))
        }
    }
}

/// Nobody said that its ignored files may go, and what an agent left in them cannot be told from what a build did.
fn keeps_ignored(worktree: &Worktree, what: What) -> Result<Option<String>, Error> {
    if what.ignored_too || !owner::has(worktree) {
        return Ok(None);
    }
    let files = repository::ignored(&worktree.folder, &worktree.home)?;
    let more = match files.len() {
        0 => return Ok(None),
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    Ok(Some(format!(
        "it has ignored files: {}{more}; remove them, or use `dogwatch gc --ignored` or `dogwatch finish {}`",
        files[0], worktree.name
    )))
}

/// What would become of one that is finished.
fn found(worktree: &Worktree) -> Result<Outcome, Error> {
    Ok(claim::other(worktree)?.map_or(Outcome::Removed, Outcome::Left))
}

/// Something of a finished worktree is left, and the folder is not one that was given to another session since.
fn is_left(store: &Store, worktree: &Worktree) -> Result<bool, Error> {
    let Worktree { folder, session, made, .. } = worktree;
    let place = owner::real(folder);
    let is_newer = |other: &Worktree| {
        other.session != *session
            && (other.finished().is_none() || other.made >= *made)
            && owner::real(&other.folder) == place
    };
    if store.worktrees()?.iter().any(is_newer) {
        return Ok(false);
    }
    if !folder.exists() {
        return Ok(parked(folder, session).exists());
    }
    if let Some(found) = owner::of_folder(folder)? {
        return Ok(found == session.as_str());
    }
    // Of a version that did not write it; a person's own has another branch.
    let Ok(tree) = Repository::of(folder) else { return Ok(false) };
    Ok(tree.branch()?.as_ref() == Some(&worktree.branch))
}

/// Removes what is left of a worktree. What is not committed goes with it only if it was discarded, and is certainly its own.
fn remove_finished(worktree: &Worktree, discarded: bool) -> Result<Removal, Error> {
    let Worktree { folder, session, .. } = worktree;
    let is_its_own =
        !folder.exists() || owner::of_folder(folder)?.as_deref() == Some(session.as_str());
    let force = discarded && is_its_own;
    remove(Removable::of(worktree, force))
}

/// Looked at again under the lock: another command may have been first.
fn is_unchanged(store: &Store, worktree: &Worktree) -> Result<bool, Error> {
    Ok(store.worktree(&worktree.session)?.as_ref() == Some(worktree))
}

fn is_over_since(
    context: &Context,
    store: &Store,
    worktree: &Worktree,
    before: Timestamp,
) -> Result<bool, Error> {
    let Some(session) = store.by_id(&worktree.session)? else { return Ok(worktree.made < before) };
    let since = session.ended().map_or(session.created, |ended| ended.at);
    Ok(!values::lives(context, &session) && since < before)
}

fn is_gone(store: &Store, worktree: &Worktree) -> Result<bool, Error> {
    if worktree.finished().is_some() {
        let is_parked = parked(&worktree.folder, &worktree.session).exists();
        return Ok(!is_parked && !is_left(store, worktree)?);
    }
    Ok(!worktree.folder.exists() && !parked(&worktree.folder, &worktree.session).exists())
}

/// Nothing is left that it describes.
fn is_forgettable(store: &Store, session: &str) -> Result<bool, Error> {
    let Some(worktree) = store.worktree(session)? else { return Ok(false) };
    let is_over = worktree.finished().is_some() || !worktree.repository.exists();
    Ok(is_over && !store.knows(session)? && is_gone(store, &worktree)?)
}

/// Sessions whose worktree is not finished: they are the names by which people find it.
pub(super) fn unfinished(store: &Store) -> Result<HashSet<String>, Error> {
    let all = store.worktrees()?.into_iter();
    let open = all.filter(|one| one.finished().is_none() && one.repository.exists());
    Ok(open.map(|one| one.session.to_string()).collect())
}
