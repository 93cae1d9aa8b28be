//! Starting a session in a git worktree of its own.

use std::collections::BTreeMap;

use dogwatch_base::log::Logged as _;
use dogwatch_core::worktree::settings::Settings;
use dogwatch_store::{Store, Worktree, WorktreeStage};
use jiff::{Timestamp, Zoned};

use super::{Plan, Request, Spawned, new_id, spawn_as};
use crate::error::SessionError;
use crate::observe::processes;
use crate::worktree::make::{self, Wish};
use crate::worktree::remove::{Removable, Removal, remove};
use crate::worktree::{Repository, claim, owner, provide, repository, step, trust, values};
use crate::{Context, Error};

/// How the worktree is made.
#[derive(Debug, Clone, Default)]
pub struct InWorktree {
    pub wish: Wish,
    /// Leave the project's `.dogwatch.toml` alone.
    pub no_setup: bool,
}

#[derive(Debug)]
pub struct SpawnedInWorktree {
    pub spawned: Spawned,
    pub worktree: Worktree,
    /// Numbers that the session has for itself.
    pub values: Vec<(String, String)>,
    /// What the caller should know.
    pub notes: Vec<String>,
}

/// Makes a worktree and starts a session in it. On failure nothing of either is left.
pub fn spawn(
    context: &Context,
    request: &Request,
    how: &InWorktree,
    now: &Zoned,
) -> Result<SpawnedInWorktree, Error> {
    recover(context)?;
    let repository = Repository::of(&request.cwd)?;
    // What can be known to be wrong is found before anything is made.
    let checked = Plan::make(context, request, new_id(), now)?;
    let settings =
        if how.no_setup { Settings::default() } else { trust::settings(context, &repository.top)? };
    let (worktree, cwd, mut notes) = begin(context, request, how, &checked)?;
    let finished = || -> Result<_, Error> {
        notes.extend(provide::files(&repository, &worktree.folder, &settings)?);
        // What the caller gave by hand needs no number.
        let is_given = |name: &String| request.env.iter().any(|(given, _)| given == name);
        let ranges: BTreeMap<_, _> =
            settings.values.clone().into_iter().filter(|(name, _)| !is_given(name)).collect();
        let values = values::allocate(context, &worktree.session, &ranges)?;
        step();
        let env = [request.env.clone(), values.clone()].concat();
        provide::setup(context, &repository, &worktree.folder, &worktree.session, &settings, &env)?;
        let mut store = context.store()?;
        store.set_worktree_stage(&worktree.session, &WorktreeStage::Ready, Timestamp::now())?;
        step();
        let request = Request { cwd, env, ..request.clone() };
        let spawned = spawn_as(context, &request, worktree.session.to_string(), now)?;
        Ok((spawned, values, notes))
    };
    match finished() {
        Ok((spawned, values, notes)) => {
            let mut worktree = worktree;
            worktree.name = spawned.name.to_string();
            worktree.stage = WorktreeStage::Ready;
            context
                .store()?
                .name_worktree(&worktree.session, &worktree.name)
                .logged("note the name of a worktree's session");
            Ok(SpawnedInWorktree { spawned, worktree, values, notes })
        }
        // It may have started all the same.
        Err(error @ Error::Session(SessionError::StartNotConfirmed { .. })) => Err(error),
        Err(error) => {
            take_back(context, &worktree).logged("remove a worktree that is not used");
            Err(error)
        }
    }
}

/// Records and makes the worktree. Returns it with the directory to start in.
fn begin(
    context: &Context,
    request: &Request,
    how: &InWorktree,
    checked: &Plan,
) -> Result<(Worktree, std::path::PathBuf, Vec<String>), Error> {
    let repository = Repository::of(&request.cwd)?;
    let _lock = make::lock(context, &repository.common)?;
    let plan =
        make::plan(context, &request.cwd, &how.wish, checked.id.as_str(), checked.name.as_str())?;
    let mut worktree = Worktree {
        session: checked.id.as_str().into(),
        name: checked.name.to_string(),
        repository: plan.repository.common.clone(),
        home: plan.repository.top.clone(),
        folder: plan.folder.clone(),
        identity: None,
        branch: plan.branch.clone(),
        owns_branch: plan.owns_branch,
        target: plan.target.clone(),
        base: plan.base.clone(),
        stage: WorktreeStage::Making,
        maker: processes::myself()?,
        made: Timestamp::now(),
    };
    step();
    context.store()?.add_worktree(&worktree)?;
    let made = || -> Result<_, Error> {
        let cwd = make::carry_out(&plan)?;
        let identity = claim::identity(&plan.folder)?;
        context.store()?.identify_worktree(&worktree.session, identity)?;
        step();
        Ok((cwd, identity))
    };
    match made() {
        Ok((cwd, identity)) => {
            worktree.identity = Some(identity);
            Ok((worktree, cwd, plan.notes))
        }
        Err(error) => {
            take_back(context, &worktree).logged("remove a worktree that is not used");
            Err(error)
        }
    }
}

/// Removes a worktree in which no session was started, and what is recorded of it.
fn take_back(context: &Context, worktree: &Worktree) -> Result<(), Error> {
    make::undo(worktree)?;
    let mut store = context.store()?;
    store.free(&worktree.session)?;
    store.forget_worktree(&worktree.session)?;
    Ok(())
}

/// Finds worktrees whose maker was killed before it started a session, and takes them back.
pub fn recover(context: &Context) -> Result<(), Error> {
    let store = context.store()?;
    for worktree in store.worktrees()? {
        if !processes::is_alive(worktree.maker) && is_abandoned(&store, &worktree)? {
            let _lock = make::lock(context, &worktree.repository)?;
            // Another process may have done it, and its folder and branch may be those of a new one.
            if store.worktree(&worktree.session)?.as_ref() != Some(&worktree) {
                continue;
            }
            if worktree.stage == WorktreeStage::Ready
                && is_removed(&worktree).logged("remove an unused worktree") != Some(true)
            {
                continue;
            }
            take_back(context, &worktree).logged("remove a worktree that was not completed");
        }
    }
    Ok(())
}

/// Removes one that was complete, unless there is something in it by now.
fn is_removed(worktree: &Worktree) -> Result<bool, Error> {
    Ok(remove(Removable::of(worktree, false))? == Removal::Gone)
}

fn is_abandoned(store: &Store, worktree: &Worktree) -> Result<bool, Error> {
    if store.knows(&worktree.session)? {
        return Ok(false);
    }
    match &worktree.stage {
        WorktreeStage::Making => Ok(true),
        // Complete, and its maker was killed before the session was recorded; or the session was forgotten since. Only if there is
        // nothing in it.
        WorktreeStage::Ready => {
            if !owner::has(worktree) {
                return Ok(false);
            }
            let Ok(repository) = Repository::of(&worktree.folder) else { return Ok(false) };
            let is_new = repository.tip(&worktree.branch)?.as_ref() == Some(&worktree.base);
            // What an agent left in ignored files is work, too.
            Ok(is_new
                && repository::uncommitted(&worktree.folder)?.is_empty()
                && repository::ignored(&worktree.folder, &worktree.home)?.is_empty())
        }
        WorktreeStage::Finishing(_) | WorktreeStage::Finished(_) => Ok(false),
    }
}
