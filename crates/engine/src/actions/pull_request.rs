//! A pull request for the branch of a worktree, by GitHub's own tool. The only thing here that touches a remote.

use std::process::Command;
use std::time::Duration;

use dogwatch_base::{git, program};
use dogwatch_store::Worktree;

use crate::actions::diff;
use crate::error::WorktreeError;
use crate::observe::agents;
use crate::worktree::Repository;
use crate::worktree::owner;
use crate::worktree::repository::uncommitted;
use crate::{Context, Error};

const LIMIT: Duration = Duration::from_mins(5);

#[derive(Debug, Clone, Default)]
pub struct Request {
    pub title: Option<String>,
    pub body: Option<String>,
    pub draft: bool,
    pub into: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Opened {
    pub worktree: Worktree,
    pub into: Option<String>,
    pub remote: String,
    pub url: String,
    /// Opened now; else it was open before, and its branch was updated.
    pub is_new: bool,
    pub notes: Vec<String>,
}

/// Pushes the branch and opens a pull request, or updates the one that is open.
pub fn open(context: &Context, target: &str, request: &Request) -> Result<Opened, Error> {
    let worktree = diff::find(context, target)?;
    let home = diff::repository(&worktree)?;
    let gh = agents::find_program("gh", &context.path, &home.top).ok_or(WorktreeError::NoGh)?;
    let branch = &worktree.branch;
    let gone = || WorktreeError::BranchGone { branch: branch.clone() };
    let tip = home.tip(branch)?.ok_or_else(gone)?;
    let into = request.into.clone().or_else(|| worktree.target.clone());
    let remote = remote(&home, into.as_deref())?;
    if let Some(into) = &into
        && let Some(base) = home.tip(into)?
        && home.is_ancestor(&tip, &base)?
    {
        return Err(
            WorktreeError::NothingToPropose { branch: branch.clone(), into: into.clone() }.into()
        );
    }
    let mut notes = Vec::new();
    if owner::has(&worktree) {
        let left = uncommitted(&worktree.folder)?.len();
        if left > 0 {
            let files = if left == 1 { "file is" } else { "files are" };
            notes.push(format!(
                "{left} changed {files} not committed, and so not in the pull request"
            ));
        }
    }
    push(&home, &remote, branch)?;
    let forge = |args: &[&str]| -> Result<program::Ended, Error> {
        let mut command = Command::new(&gh);
        command.args(args).current_dir(&home.top);
        command.env("GH_PROMPT_DISABLED", "1").env("GIT_TERMINAL_PROMPT", "0");
        program::run(command, b"", LIMIT).map_err(Error::io("run gh"))
    };
    // One that is open already got the new commits by the push.
    let found = forge(&[
        "pr",
        "view",
        branch,
        "--json",
        "url,state",
        "--jq",
        "select(.state==\"OPEN\").url",
    ])?;
    let url = found.stdout.text().trim().to_owned();
    if found.is_fine() && !url.is_empty() {
        return Ok(Opened { worktree, into, remote, url, is_new: false, notes });
    }
    let mut args = vec!["pr", "create", "--head", branch];
    if let Some(into) = &into {
        args.extend(["--base", into]);
    }
    match (&request.title, &request.body) {
        (None, None) => args.push("--fill"),
        (title, body) => {
            let title = title.as_deref().unwrap_or(branch);
            args.extend(["--title", title, "--body", body.as_deref().unwrap_or_default()]);
        }
    }
    if request.draft {
        args.push("--draft");
    }
    let said = forge(&args)?;
    if !said.is_fine() {
        return Err(WorktreeError::Forge { program: "gh pr create", said: said.complaint() }.into());
    }
    let text = said.stdout.text();
    let url = text.lines().rev().find(|line| line.contains("://")).unwrap_or(text.trim());
    let url = url.trim().to_owned();
    Ok(Opened { url, worktree, into, remote, is_new: true, notes })
}

/// The remote of the target, else `origin`, else the only one.
fn remote(home: &Repository, into: Option<&str>) -> Result<String, Error> {
    let all = home.ask(&["remote"])?;
    let all: Vec<&str> = all.lines().collect();
    if let Some(into) = into {
        let said = home.run(&["config", &format!("branch.{into}.remote")], b"")?;
        let name = said.stdout.text().trim().to_owned();
        if all.contains(&name.as_str()) {
            return Ok(name);
        }
    }
    let origin = all.iter().find(|name| **name == "origin").or(all.first());
    Ok(origin.ok_or(WorktreeError::NoRemote)?.to_string())
}

/// With the user's hooks: `pre-push` is theirs, and git-lfs uploads files in it. Never by force.
fn push(home: &Repository, remote: &str, branch: &str) -> Result<(), Error> {
    let mut command = git::command(&home.top);
    let refspec = format!("refs/heads/{branch}:refs/heads/{branch}");
    command.args(["push", "--quiet", "--set-upstream", "--", remote, &refspec]);
    let said = program::run(command, b"", LIMIT).map_err(Error::io("run git"))?;
    if said.is_fine() {
        return Ok(());
    }
    Err(WorktreeError::Forge { program: "git push", said: said.complaint() }.into())
}
