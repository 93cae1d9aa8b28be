//! Makes a worktree with a branch, or takes back what a killed process made of one.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::worktree::finish::Way;
use dogwatch_core::worktree::names::{self, DEFAULT_FOLDER, Surroundings};
use dogwatch_core::worktree::settings::hash;
use dogwatch_store::{Worktree, WorktreeStage, lock_file, tidy};

use super::claim::{self, Found, Wanted};
use super::repository::{self, Repository, is_tree_of};
use super::{owner, provide, step};
use crate::error::WorktreeError;
use crate::observe::arrival;
use crate::{Context, Error, config};

/// How many names are tried for a branch or a folder.
const TRIES: usize = 1000;
/// How long to wait for the git process of a killed maker.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is wanted.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Its branch; made from the session's name if there is none.
    pub branch: Option<String>,
    /// What it begins at; else what is checked out.
    pub base: Option<String>,
}

/// What will be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The session that it is for, if a record describes it.
    pub session: Option<String>,
    pub repository: Repository,
    pub folder: PathBuf,
    pub branch: String,
    /// The branch does not exist yet.
    pub owns_branch: bool,
    /// The branch that gets the work in the end.
    pub target: Option<String>,
    /// The commit that it begins at.
    pub base: String,
    /// What the caller should know.
    pub notes: Vec<String>,
}

/// Held while worktrees of a repository are made or finished.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, not read")] File);

/// Waits until no other dogwatch makes or finishes a worktree of this repository.
pub fn lock(context: &Context, common: &Path) -> Result<Lock, Error> {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = context.state.root().join("locks");
    let doing = || Error::io(format!("lock {}", common.display()));
    fs::create_dir_all(&folder).map_err(doing())?;
    let name = format!("git-{}", &hash(common.as_os_str().as_bytes())[..16]);
    Ok(Lock(lock_file::lock(&folder.join(name)).map_err(doing())?))
}

/// Decides branch and folder; changes nothing. `id` and `session` are the id and the name that the session
/// will have, as far as the name is known.
pub fn plan(
    context: &Context,
    dir: &Path,
    wish: &Wish,
    id: &str,
    session: &str,
) -> Result<Plan, Error> {
    let repository = Repository::of(dir)?;
    if let Some(branch) = &wish.branch
        && let Some(problem) = names::branch_problem(branch)
    {
        return Err(WorktreeError::BadBranch { branch: branch.clone(), problem }.into());
    }
    let Some(head) = repository.commit("HEAD")? else {
        return Err(WorktreeError::NoCommits { path: repository.top }.into());
    };
    let mut notes = Vec::new();
    let (target, mut base) = match &wish.base {
        None => (repository.branch()?, head),
        Some(name) => {
            let target = repository.tip(name)?.map(|_| name.clone());
            let commit = repository.commit(name)?;
            (target, commit.ok_or_else(|| WorktreeError::NoSuchBase { base: name.clone() })?)
        }
    };
    if target.is_none() {
        notes.push("no branch is checked out that could get the work; `dogwatch finish` needs --into BRANCH".into());
    }
    let (branch, is_there) = branch(&repository, wish, session)?;
    if let Some(tip) = is_there {
        let path = repository.checked_out(&branch)?.or(repository.rebased_in(&branch)?);
        if let Some(path) = path {
            return Err(WorktreeError::CheckedOut { branch, path }.into());
        }
        if wish.base.is_some() {
            return Err(WorktreeError::BranchExists { branch }.into());
        }
        base = repository.merge_base(&base, &tip)?.unwrap_or(tip);
        notes.push(format!("continuing on the existing branch {branch}"));
        let folder = folder(context, &repository, &branch)?;
        let owns_branch = false;
        let session = Some(id.to_owned());
        return Ok(Plan { session, repository, folder, branch, owns_branch, target, base, notes });
    }
    if wish.base.is_none() {
        let changed = repository::uncommitted(&repository.top)?.len();
        if changed > 0 {
            let files = if changed == 1 { "file is" } else { "files are" };
            notes.push(format!(
                "{changed} changed {files} not committed, and so not in the worktree"
            ));
        }
    }
    if repository.run(&["cat-file", "-e", &format!("{base}:.gitmodules")], b"")?.is_fine() {
        notes.push("submodules are not checked out in the worktree; a setup command can: git submodule update --init".into());
    }
    let folder = folder(context, &repository, &branch)?;
    let session = Some(id.to_owned());
    Ok(Plan { session, repository, folder, branch, owns_branch: true, target, base, notes })
}

/// The branch, and its last commit if it exists.
fn branch(
    repository: &Repository,
    wish: &Wish,
    session: &str,
) -> Result<(String, Option<String>), Error> {
    if let Some(branch) = &wish.branch {
        return Ok((branch.clone(), repository.tip(branch)?));
    }
    let wanted = names::branch_of_session(session);
    for n in 1..TRIES {
        let branch = names::numbered(&wanted, n);
        if repository.tip(&branch)?.is_none() {
            return Ok((branch, None));
        }
    }
    Err(WorktreeError::BranchExists { branch: wanted }.into())
}

/// A folder that does not exist yet, and that no other worktree may come back to.
fn folder(context: &Context, repository: &Repository, branch: &str) -> Result<PathBuf, Error> {
    let told = config::read(context)?.worktree.folder;
    let around = Surroundings {
        top: &repository.top,
        home: context.home.as_deref(),
        state: context.state.root(),
    };
    let folder = names::folder(told.as_deref().unwrap_or(DEFAULT_FOLDER), around)
        .map_err(|problem| WorktreeError::BadFolder { problem })?;
    // As git prints it.
    let folder = owner::real(&tidy(&folder));
    let name = names::slug(branch);
    let listed = repository.list()?;
    let taken = taken(context)?;
    let is_free = |path: &PathBuf| {
        path.symlink_metadata().is_err()
            && !taken.contains(path)
            && !listed.iter().any(|one| one.is_at(path))
    };
    let found = (1..TRIES).map(|n| folder.join(names::numbered(&name, n))).find(is_free);
    let none = || WorktreeError::BadFolder { problem: format!("{} is full", folder.display()) };
    Ok(found.ok_or_else(none)?)
}

/// The folders of worktrees that are not finished, or were kept: their records stand for them, even if the folder is gone for now.
fn taken(context: &Context) -> Result<HashSet<PathBuf>, Error> {
    let mut all = context.store()?.worktrees()?;
    all.retain(|one| one.finished().is_none_or(|how| how.way == Way::Keep));
    Ok(all.into_iter().map(|one| owner::real(&one.folder)).collect())
}

/// Makes the worktree. Returns the directory in it that corresponds to the one of the plan.
pub fn carry_out(plan: &Plan) -> Result<PathBuf, Error> {
    let Plan { repository, folder, branch, owns_branch, base, session, .. } = plan;
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(Error::io(format!("make {}", parent.display())))?;
    }
    if let Ok(inside) = folder.strip_prefix(&repository.top) {
        provide::exclude(repository, inside)?;
    }
    step();
    let said = repository::run_with(
        &repository.top,
        &["worktree", "add", "-q"],
        |command| {
            if *owns_branch {
                command.args(["--no-track", "-b", branch]).arg(folder).arg(base);
            } else {
                command.arg(folder).arg(branch);
            }
        },
        b"",
    )?;
    if !said.is_fine() {
        return Err(repository::failed("worktree add", &repository.top, said.complaint()));
    }
    step();
    if let Some(session) = session {
        owner::write(folder, session)?;
        step();
    }
    // Without the slash at the end of a prefix.
    let dir: PathBuf = folder.join(&repository.prefix).components().collect();
    // Its folder may not be in the commit.
    Ok(if dir.is_dir() { dir } else { folder.clone() })
}

/// Takes back a worktree in which no session was ever started. What a person put in its place, and a branch that has moved, stay.
pub fn undo(worktree: &Worktree) -> Result<(), Error> {
    let Worktree { home, folder, branch, repository: common, .. } = worktree;
    wait_for_git(home, folder);
    step();
    match claim::find(Wanted::of(worktree))? {
        Found::Ours(tree) if is_tree_of(folder, common) => {
            if !is_unused(worktree)? {
                return Ok(());
            }
            tree.remove().logged("remove a folder");
        }
        // git made the folder and was killed before it wrote anything: it is empty, or it is not ours.
        Found::Ours(_) | Found::Other(_) => {
            fs::remove_dir(folder).logged_unless_missing("remove a folder");
        }
        Found::Missing => {}
    }
    step();
    if home.is_dir() && folder.symlink_metadata().is_err() {
        // Before what git keeps of it is removed.
        let listed = repository::list_in(home)?;
        // git locks a worktree that it is making.
        claim::forget(Wanted::of(worktree), true)?;
        step();
        // `update-ref` would delete it under a worktree that has it checked out.
        let is_used =
            |one: &repository::Listed| !one.is_at(folder) && one.branch.as_ref() == Some(branch);
        if worktree.owns_branch && !listed.iter().any(is_used) {
            let name = format!("refs/heads/{branch}");
            repository::run(home, &["update-ref", "-d", &name, &worktree.base], b"")
                .logged("delete a branch");
        }
    }
    Ok(())
}

/// Whether the worktree in the folder is the one that was made, without work in it. Its owner is written as soon as git is done.
fn is_unused(worktree: &Worktree) -> Result<bool, Error> {
    let Worktree { home, folder, branch, base, session, .. } = worktree;
    if let Some(found) = owner::of_folder(folder)? {
        return Ok(found == session.as_str());
    }
    if worktree.stage != WorktreeStage::Making {
        // Of a version that did not write it.
        return Ok(repository::uncommitted(folder)?.is_empty());
    }
    let listed = repository::list_in(home)?;
    let Some(listed) = listed.iter().find(|one| one.is_at(folder)) else { return Ok(false) };
    let is_as_made = listed.branch.as_ref() == Some(branch)
        && (!worktree.owns_branch || listed.head.as_ref() == Some(base));
    Ok(is_as_made && (is_initializing(listed) || repository::uncommitted(folder)?.is_empty()))
}

/// git locks a worktree that it is making.
fn is_initializing(listed: &repository::Listed) -> bool {
    listed.locked.as_deref() == Some("initializing")
}

/// The git process of a maker that was killed goes on for a moment; it has locked the worktree meanwhile. If it was killed too, the
/// lock stays.
fn wait_for_git(home: &Path, folder: &Path) {
    let is_at_work = || {
        let listed = repository::list_in(home).logged("list worktrees").unwrap_or_default();
        listed.iter().any(|one| one.is_at(folder) && is_initializing(one))
    };
    arrival::wait_in(folder, PATIENCE, || (!is_at_work()).then_some(()));
}
