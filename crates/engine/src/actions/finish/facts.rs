//! What is true of a worktree now, as git and tmux say.

use dogwatch_base::git::status::Change;
use dogwatch_core::worktree::finish::{Facts, Target};
use dogwatch_store::{Worktree, WorktreeStage};

use crate::actions::diff;
use crate::observe::snapshot::{self, SessionSnapshot};
use crate::worktree::repository::{self, Repository};
use crate::worktree::{owner, values};
use crate::{Context, Error};

#[derive(Debug)]
pub struct Gathered {
    pub facts: Facts,
    /// A work tree of the repository that stays.
    pub home: Repository,
    /// The sessions that live in it, on our tmux server.
    pub living: Vec<SessionSnapshot>,
}

/// `into` is the target that the caller names.
pub fn gather(
    context: &Context,
    worktree: &Worktree,
    into: Option<&str>,
) -> Result<Gathered, Error> {
    let home = diff::repository(worktree)?;
    let Worktree { folder, branch, .. } = worktree;
    let mut facts = Facts { owns_branch: worktree.owns_branch, ..Facts::default() };
    let living = living(context, worktree)?;
    facts.living = living.iter().map(|seen| seen.session.name.clone()).collect();
    if let Some(session) = context.store()?.by_id(&worktree.session)?
        && session.socket != context.socket
        && values::lives(context, &session)
    {
        facts.living.push(session.name);
    }
    facts.tip = home.tip(branch)?;
    facts.has_folder = owner::has(worktree);
    if facts.has_folder {
        facts.uncommitted = repository::uncommitted(folder)?.iter().map(Change::shown).collect();
        facts.operation = repository::operation(folder)?.map(ToOwned::to_owned);
        facts.elsewhere = elsewhere(folder, branch, facts.tip.as_deref())?;
    }
    let before = match &worktree.stage {
        WorktreeStage::Finishing(before) => Some(before),
        _ => None,
    };
    let name = into.map(ToOwned::to_owned).or_else(|| worktree.target.clone());
    if let Some(name) = name {
        let tip = home.tip(&name)?;
        if let (Some(mine), Some(theirs)) = (&facts.tip, &tip) {
            facts.ahead = home.count(theirs, mine)?;
        }
        let rebased_in = home.rebased_in(&name)?.map(|folder| folder.display().to_string());
        facts.into = Some(Target { name, tip, rebased_in });
    }
    if let Some(before) = before
        && let (Some(result), Some(name)) = (&before.result, &before.into)
        && let Some(now) = home.tip(name)?
        && (facts.tip.is_none() || facts.tip == before.tip)
    {
        facts.is_combined = home.is_ancestor(result, &now)?;
    }
    Ok(Gathered { facts, home, living })
}

/// The sessions in it, on our tmux server.
pub fn living(context: &Context, worktree: &Worktree) -> Result<Vec<SessionSnapshot>, Error> {
    let mut seen = snapshot::look_at_current(context)?;
    // Not what a link in its place leads to: these sessions would be ended.
    let folder = owner::place(&worktree.folder);
    seen.retain(|seen| {
        let cwd = &seen.session.cwd;
        let is_in = cwd.starts_with(&worktree.folder)
            || owner::real(cwd).starts_with(&folder)
            || seen.session.id.as_str() == worktree.session.as_str();
        is_in && !seen.life.state.is_over()
    });
    Ok(seen)
}

/// What is checked out in the folder, if it has commits that the branch lacks.
fn elsewhere(
    folder: &std::path::Path,
    branch: &str,
    tip: Option<&str>,
) -> Result<Option<String>, Error> {
    let tree = Repository::of(folder)?;
    let at = tree.branch()?;
    if at.as_deref() == Some(branch) {
        return Ok(None);
    }
    let Some(head) = tree.commit("HEAD")? else { return Ok(None) };
    let is_in_branch = match tip {
        Some(tip) => tree.is_ancestor(&head, tip)?,
        None => false,
    };
    Ok((!is_in_branch).then(|| at.unwrap_or_else(|| head[..head.len().min(12)].to_owned())))
}
