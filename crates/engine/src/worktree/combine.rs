//! Puts the commits of a branch on another one: first as a commit that no branch has, then by moving the target to it. A conflict
//! is found before any work tree is touched.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dogwatch_base::program::Ended;
use dogwatch_core::worktree::finish::Way;

use super::claim::Wanted;
use super::repository::{self, Repository};
use super::take_back::{Before, take_back};
use super::{remove, step};
use crate::Error;
use crate::observe::arrival;

/// How long to wait for another git process's lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// Resolves the conflicts in a work tree, or not.
pub type Resolve<'a> = dyn Fn(&Path) -> Result<bool, Error> + 'a;

/// What to combine.
#[derive(Clone, Copy)]
pub struct Combination<'a> {
    pub way: Way,
    /// The commit of the branch.
    pub tip: &'a str,
    /// The commit of the target.
    pub onto: &'a str,
    pub message: &'a str,
    /// A folder that does not exist, for a work tree to combine them in.
    pub scratch: &'a Path,
    /// May resolve the conflicts of a merge in that work tree, and commit it; returns whether it did.
    pub resolve: Option<&'a Resolve<'a>>,
}

impl fmt::Debug for Combination<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { way, tip, onto, .. } = self;
        f.debug_struct("Combination")
            .field("way", way)
            .field("tip", tip)
            .field("onto", onto)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Combined {
    /// The commit that the target is to be at.
    Commit(String),
    /// Files in which both have changed the same lines.
    Conflict(Vec<String>),
}

/// Makes the commit. Neither a branch nor a work tree of the user changes.
pub fn combine(home: &Repository, what: Combination<'_>) -> Result<Combined, Error> {
    let Combination { way, tip, onto, .. } = what;
    if home.is_ancestor(tip, onto)? {
        return Ok(Combined::Commit(onto.to_owned()));
    }
    if home.is_ancestor(onto, tip)? {
        // The target has not moved: the result is what the branch has, and nothing has to be checked out.
        return Ok(Combined::Commit(match way {
            Way::Merge => commit_tree(home, tip, &[onto, tip], what.message)?,
            Way::Squash => commit_tree(home, tip, &[onto], what.message)?,
            _ => tip.to_owned(),
        }));
    }
    remove_scratch(home, what.scratch)?;
    let combined = in_scratch(home, what);
    remove_scratch(home, what.scratch)?;
    combined
}

/// A commit with the files of another one.
fn commit_tree(
    home: &Repository,
    files_of: &str,
    parents: &[&str],
    message: &str,
) -> Result<String, Error> {
    let tree = format!("{files_of}^{{tree}}");
    let mut args = vec!["commit-tree", &tree, "-m", message];
    for parent in parents {
        args.extend(["-p", *parent]);
    }
    // `commit-tree` does not read this setting by itself.
    let signs = home.run(&["config", "--type=bool", "commit.gpgsign"], b"")?;
    if signs.stdout.bytes.trim_ascii() == b"true" {
        args.push("-S");
    }
    home.ask(&args)
}

/// Combines them in a work tree of its own, as git does everywhere else: with its merge drivers and strategies.
fn in_scratch(home: &Repository, what: Combination<'_>) -> Result<Combined, Error> {
    let Combination { way, tip, onto, message, scratch, resolve } = what;
    let begin = if way == Way::Rebase { tip } else { onto };
    if let Some(parent) = scratch.parent() {
        std::fs::create_dir_all(parent).map_err(Error::io(format!("make {}", parent.display())))?;
    }
    let add = |command: &mut std::process::Command| {
        command.arg(scratch).arg(begin);
    };
    let args = ["worktree", "add", "-q", "--detach"];
    let said = repository::run_with(&home.top, &args, add, b"")?;
    if !said.is_fine() {
        return Err(repository::failed("worktree add", &home.top, said.complaint()));
    }
    step();
    let args: Vec<&str> = match way {
        Way::Merge => vec!["merge", "-q", "--no-ff", "--no-verify", "-m", message, tip],
        Way::Squash => vec!["merge", "-q", "--squash", tip],
        _ => vec!["rebase", "-q", "--no-verify", onto],
    };
    let mut said = repository::run(scratch, &args, b"")?;
    if said.is_fine() && way == Way::Squash {
        let args = ["commit", "-q", "--no-verify", "--allow-empty", "-m", message];
        said = repository::run(scratch, &args, b"")?;
    }
    step();
    let is_resolved = match resolve {
        Some(resolve) if !said.is_fine() => resolve(scratch)?,
        _ => false,
    };
    if said.is_fine() || is_resolved {
        return repository::ask(scratch, &["rev-parse", "HEAD"]).map(Combined::Commit);
    }
    let names = ["diff", "--name-only", "--diff-filter=U", "-z"];
    let names = repository::ask(scratch, &names)?;
    let files: Vec<String> =
        names.split('\0').filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect();
    if files.is_empty() {
        return Err(repository::failed(args[0], &home.top, said.complaint()));
    }
    Ok(Combined::Conflict(files))
}

/// Removes the work tree that they are combined in, also one that a killed call left.
pub fn remove_scratch(home: &Repository, scratch: &Path) -> Result<(), Error> {
    let common = &home.common;
    remove::take_away(Wanted { common, folder: scratch, session: None, identity: None })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advanced {
    Done,
    /// The target is at another commit than before.
    Moved,
    /// The work tree that has the target checked out could not be updated.
    Refused {
        folder: PathBuf,
        said: String,
    },
}

/// Moves a branch forward from one commit to another, with the work tree that has it checked out. git itself refuses to overwrite
/// what is not committed there.
pub fn advance(home: &Repository, branch: &str, from: &str, to: &str) -> Result<Advanced, Error> {
    match home.tip(branch)? {
        Some(tip) if tip == to => return Ok(Advanced::Done),
        Some(tip) if tip == from => {}
        _ => return Ok(Advanced::Moved),
    }
    step();
    let Some(folder) = home.checked_out(branch)? else {
        let name = format!("refs/heads/{branch}");
        let args = ["update-ref", "-m", "dogwatch finish", &name, to, from];
        let said = home.run(&args, b"")?;
        step();
        return Ok(match home.tip(branch)? {
            Some(tip) if tip == to => Advanced::Done,
            Some(tip) if tip != from => Advanced::Moved,
            _ => return Err(repository::failed("update-ref", &home.top, said.complaint())),
        });
    };
    let said = forward(&folder, from, to)?;
    step();
    if said.is_fine() {
        return Ok(Advanced::Done);
    }
    match home.tip(branch)? {
        Some(tip) if tip == to => Ok(Advanced::Done),
        Some(tip) if tip != from => Ok(Advanced::Moved),
        _ => refused(folder, &said),
    }
}

/// The same for whatever is checked out here, a branch or not.
pub fn advance_here(home: &Repository, from: &str, to: &str) -> Result<Advanced, Error> {
    let head = || home.commit("HEAD");
    match head()? {
        Some(now) if now == to => return Ok(Advanced::Done),
        Some(now) if now == from => {}
        _ => return Ok(Advanced::Moved),
    }
    step();
    let said = forward(&home.top, from, to)?;
    step();
    match head()? {
        Some(now) if now == to => Ok(Advanced::Done),
        Some(now) if now != from => Ok(Advanced::Moved),
        _ => refused(home.top.clone(), &said),
    }
}

/// What is not committed is in the way; anything else is an error, such as a full disk.
fn refused(folder: PathBuf, said: &Ended) -> Result<Advanced, Error> {
    // "… would be overwritten by merge", "… would lose untracked files"
    if said.stderr.text().contains("would ") {
        return Ok(Advanced::Refused { folder, said: said.complaint() });
    }
    Err(repository::failed("merge", &folder, said.complaint()))
}

/// Moves what is checked out in a work tree forward, or leaves it as it was. Waits for another git process there, such as one that a
/// killed call began.
fn forward(folder: &Path, from: &str, to: &str) -> Result<Ended, Error> {
    let begun = Instant::now();
    let before = repository::uncommitted(folder)?;
    loop {
        let said = repository::run(folder, &["merge", "-q", "--ff-only", to], b"")?;
        if said.is_fine() {
            return Ok(said);
        }
        let complaint = said.stderr.text();
        let is_locked = complaint.contains("index.lock") && complaint.contains("File exists");
        if repository::ask(folder, &["rev-parse", "HEAD"])? == from
            && take_back(folder, from, to, Before::Changed(&before))? > 0
        {
            return Err(repository::failed("merge", folder, said.complaint()));
        }
        if !is_locked || begun.elapsed() > PATIENCE {
            return Ok(said);
        }
        let Some(dir) = repository::git_dir(folder)? else { return Ok(said) };
        let lock = dir.join("index.lock");
        // The watch reports no deletions.
        arrival::wait_in(&dir, Duration::from_secs(1), || (!lock.exists()).then_some(()));
    }
}
