//! What a session changed in its worktree.

use dogwatch_base::log::Logged as _;
use dogwatch_store::Worktree;

use crate::error::{ProjectError, SessionError, WorktreeError};
use crate::observe::snapshot;
use crate::worktree::Repository;
use crate::worktree::diff::Comparison;
use crate::worktree::owner;
use crate::worktree::repository::list_in;
use crate::{Context, Error};

/// The worktree of a session, by what a person calls it: name, id or pane of the session, or the branch. It is found after the
/// session was ended, too.
pub fn find(context: &Context, target: &str) -> Result<Worktree, Error> {
    let seen = snapshot::find(context, target);
    let store = context.store()?;
    if let Ok(seen) = &seen
        && let Some(worktree) = store.worktree(&seen.session.id)?
    {
        return Ok(worktree);
    }
    let called = store.worktrees_called(target)?.into_iter().next();
    match (called, seen) {
        (Some(worktree), _) => Ok(worktree),
        (None, Ok(seen)) => Err(WorktreeError::NoWorktree { name: seen.session.name }.into()),
        (None, Err(Error::Session(SessionError::NotOurs { target }))) => {
            Err(WorktreeError::NoWorktree { name: target }.into())
        }
        (None, Err(error)) => Err(error),
    }
}

/// A repository from which the worktree can be asked about, even if its folder is gone.
pub fn repository(worktree: &Worktree) -> Result<Repository, Error> {
    let is_it = |found: &Repository| found.common == worktree.repository;
    let error = match Repository::of(&worktree.home) {
        Ok(found) if is_it(&found) => return Ok(found),
        Ok(_) => ProjectError::NotARepository { path: worktree.home.clone() }.into(),
        Err(error) => error,
    };
    // The work tree that it was made from is gone: any other one will do.
    let listed = list_in(&worktree.folder).or_else(|_| list_in(&worktree.repository));
    let others = listed.logged("list worktrees").unwrap_or_default().into_iter();
    let mut others = others.filter(|one| !one.is_at(&worktree.folder));
    others.find_map(|one| Repository::of(&one.path).ok().filter(is_it)).ok_or(error)
}

/// Compares the worktree with where its branch parted from the one that gets the work.
pub fn compare(worktree: &Worktree) -> Result<Comparison, Error> {
    let home = repository(worktree)?;
    if let Some(how) = worktree.finished()
        && let (Some(onto), Some(tip)) = (&how.onto, &how.tip)
    {
        let base = home.merge_base(onto, tip)?.unwrap_or_else(|| worktree.base.clone());
        return Ok(Comparison::of_commits(&home.top, &base, tip));
    }
    if owner::has(worktree) {
        let tree = Repository::of(&worktree.folder)?;
        let head = tree.commit("HEAD")?.unwrap_or_else(|| worktree.base.clone());
        let base = base(&home, worktree, &head)?;
        return Comparison::of_tree(&worktree.folder, &base);
    }
    let gone = || WorktreeError::BranchGone { branch: worktree.branch.clone() };
    let tip = home.tip(&worktree.branch)?.ok_or_else(gone)?;
    let base = base(&home, worktree, &tip)?;
    Ok(Comparison::of_commits(&home.top, &base, &tip))
}

/// If the branch took in newer commits of the target since, those are not its own changes.
fn base(home: &Repository, worktree: &Worktree, head: &str) -> Result<String, Error> {
    let target = match &worktree.target {
        Some(target) => home.tip(target)?,
        None => None,
    };
    let Some(target) = target else { return Ok(worktree.base.clone()) };
    let Some(parted) = home.merge_base(&target, head)? else { return Ok(worktree.base.clone()) };
    let is_later = home.is_ancestor(&worktree.base, &parted).logged("ask git").unwrap_or(true);
    Ok(if is_later { parted } else { worktree.base.clone() })
}
