use std::path::PathBuf;

use dogwatch_core::config::ConfigError;

use super::kind::codes;

/// Why a worktree cannot be made, compared or finished.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("{} is a bare repository, or inside of git's own directory", path.display())]
    Bare { path: PathBuf },
    #[error("the repository in {} has no commits yet", path.display())]
    NoCommits { path: PathBuf },
    #[error("{branch:?} is not a valid branch name: {problem}")]
    BadBranch { branch: String, problem: &'static str },
    #[error("the branch {branch} already exists, so --base does not apply")]
    BranchExists { branch: String },
    #[error("the branch {branch} is checked out in {}", path.display())]
    CheckedOut { branch: String, path: PathBuf },
    #[error("no commit {base:?}")]
    NoSuchBase { base: String },
    #[error("[worktree] folder in config.toml: {problem}")]
    BadFolder { problem: String },
    #[error("{} is not trusted: it may run commands and copy files", path.display())]
    NotTrusted { path: PathBuf, changed: bool },
    #[error("{}: {problem}", path.display())]
    BadSettings { path: PathBuf, problem: ConfigError },
    #[error("{} does not exist", path.display())]
    NoSettings { path: PathBuf },
    #[error("cannot {verb} {path} into the worktree: {problem}")]
    NotProvided { verb: &'static str, path: String, problem: String },
    #[error("the setup command failed: {said}")]
    SetupFailed { said: String, log: PathBuf },
    #[error("no number from {first} to {last} is free for {name}")]
    NoFreeValue { name: String, first: u32, last: u32 },
    #[error("session {name} has no worktree")]
    NoWorktree { name: String },
    #[error("{} still lives in the worktree", names.join(", "))]
    Lives { names: Vec<String> },
    #[error("dogwatch finish --kill would end the session that it runs in")]
    WouldEndItself,
    #[error("{} has uncommitted changes: {files}", folder.display())]
    Uncommitted { folder: PathBuf, files: String },
    #[error("a {what} is in progress in {}", folder.display())]
    Operation { folder: PathBuf, what: String },
    #[error("{} has {at} checked out, with commits that {branch} lacks", folder.display())]
    OtherBranch { folder: PathBuf, at: String, branch: String },
    #[error("it is not known which branch gets the work")]
    NoTarget,
    #[error("the branch {branch} no longer exists")]
    BranchGone { branch: String },
    #[error("there is no branch {branch}")]
    TargetGone { branch: String },
    #[error("a rebase of {branch} is in progress in {}", folder.display())]
    TargetBusy { branch: String, folder: PathBuf },
    #[error("conflict with {into} in {files}; nothing was changed")]
    Conflict { files: String, into: String, folder: PathBuf, way: &'static str },
    #[error("cannot update the work tree {}: {said}", folder.display())]
    TargetDirty { folder: PathBuf, said: String },
    #[error("{branch} changed while dogwatch worked; nothing was changed")]
    TargetMoved { branch: String },
    #[error("not confirmed; --discard needs --yes when standard input is not a terminal")]
    NotConfirmed,
    #[error("the worktree of {name} is already {how}")]
    AlreadyFinished { name: String, how: &'static str },
    #[error("the worktree of {name} is still being made")]
    BeingMade { name: String },
    #[error("gh was not found in PATH")]
    NoGh,
    #[error("the repository has no remote")]
    NoRemote,
    #[error("{branch} has no commits that {into} lacks")]
    NothingToPropose { branch: String, into: String },
    #[error("{program} failed: {said}")]
    Forge { program: &'static str, said: String },
}

codes! { WorktreeError:
    Self::Bare { .. } => Usage "bare_repository";
    Self::NoCommits { .. } => Usage "no_commits";
    Self::BadBranch { .. } => Usage "bad_branch";
    Self::BranchExists { .. } => Conflict "branch_exists";
    Self::CheckedOut { .. } => Conflict "branch_checked_out";
    Self::NoSuchBase { .. } => NotFound "no_such_base";
    Self::BadFolder { .. } | Self::BadSettings { .. } => Usage "bad_settings";
    Self::NotTrusted { .. } => Conflict "settings_not_trusted";
    Self::NoSettings { .. } => NotFound "no_settings";
    Self::NotProvided { .. } => Failed "not_provided";
    Self::SetupFailed { .. } => Failed "setup_failed";
    Self::NoFreeValue { .. } => Conflict "no_free_value";
    Self::NoWorktree { .. } => NotFound "no_worktree";
    Self::Lives { .. } | Self::WouldEndItself => Conflict "session_lives";
    Self::Uncommitted { .. } => Conflict "uncommitted";
    Self::Operation { .. } | Self::TargetBusy { .. } => Conflict "git_busy";
    Self::OtherBranch { .. } => Conflict "other_branch";
    Self::NoTarget => Usage "no_target";
    Self::BranchGone { .. } | Self::TargetGone { .. } => NotFound "no_such_branch";
    Self::Conflict { .. } => Conflict "merge_conflict";
    Self::TargetDirty { .. } => Conflict "target_dirty";
    Self::TargetMoved { .. } => Conflict "target_moved";
    Self::NotConfirmed => Usage "not_confirmed";
    Self::AlreadyFinished { .. } => Conflict "already_finished";
    Self::BeingMade { .. } => Conflict "being_made";
    Self::NoGh => NotFound "gh_missing";
    Self::NoRemote => NotFound "no_remote";
    Self::NothingToPropose { .. } => Conflict "nothing_to_propose";
    Self::Forge { .. } => Failed "forge";
}

impl WorktreeError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Bare { .. } => "run this in a work tree of the repository".into(),
            Self::NoCommits { .. } => {
                "commit something first: git add -A && git commit -m 'Initial commit'".into()
            }
            Self::BadBranch { branch, .. } if branch.contains(' ') => {
                "a prompt goes before --worktree, or use --worktree=BRANCH".into()
            }
            Self::BranchExists { .. } => {
                "leave out --base to continue on that branch, or choose another name".into()
            }
            Self::CheckedOut { path, .. } => {
                format!("choose another branch, or start the agent there: --cwd {}", path.display())
            }
            Self::NotTrusted { changed: true, .. } => {
                "it changed since you trusted it; read it with `dogwatch trust --show`, then `dogwatch trust` again, or pass --no-setup".into()
            }
            Self::NotTrusted { .. } => {
                "read it with `dogwatch trust --show`, then `dogwatch trust`, or pass --no-setup".into()
            }
            Self::SetupFailed { log, .. } => {
                format!("nothing was left behind; its whole output: {}", log.display())
            }
            Self::NoFreeValue { .. } => "end a session, or widen the range in .dogwatch.toml".into(),
            Self::NoWorktree { .. } => "start it with `dogwatch spawn --worktree`".into(),
            Self::Lives { names } => format!(
                "end it first: dogwatch kill {}, or pass --kill", names.join(" ")
            ),
            Self::WouldEndItself => "run this outside of the session".into(),
            Self::Uncommitted { folder, .. } => {
                let folder = shell_word(folder);
                format!("commit them: git -C {folder} add -A && git -C {folder} commit; or keep everything with --keep")
            }
            Self::Operation { folder, what } => {
                let folder = shell_word(folder);
                format!("finish it, or undo it: git -C {folder} {what} --abort")
            }
            Self::OtherBranch { folder, branch, .. } => {
                let folder = shell_word(folder);
                format!("put the commits on its branch: git -C {folder} branch -f {branch} HEAD && git -C {folder} checkout {branch}; or --keep")
            }
            Self::NoTarget => "name it: --into BRANCH".into(),
            Self::BranchGone { .. } => {
                "its commits may still be found with `git reflog`; --keep or --discard finish without them".into()
            }
            Self::TargetGone { .. } => "name another one: --into BRANCH".into(),
            Self::TargetBusy { .. } => "finish or abort that rebase first".into(),
            Self::Conflict { into, folder, way, .. } => {
                let folder = shell_word(folder);
                let verb = if *way == "rebase" { "rebase" } else { "merge" };
                format!("resolve it in the worktree: git -C {folder} {verb} {into}; commit, then run finish again")
            }
            Self::TargetDirty { .. } => {
                "commit or stash the changes there, then run finish again".into()
            }
            Self::TargetMoved { .. } => "run finish again".into(),
            Self::NoGh => "install the GitHub CLI (https://cli.github.com), or push the branch yourself".into(),
            Self::NoRemote => "add one: git remote add origin URL".into(),
            _ => return None,
        })
    }
}

/// A path that can be pasted into a shell.
fn shell_word(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
