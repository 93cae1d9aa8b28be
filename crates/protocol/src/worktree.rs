//! Worktrees of sessions.

use serde::Serialize;

use crate::id::SessionId;

/// The git worktree of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Worktree {
    /// Its directory.
    pub folder: String,
    pub branch: String,
    /// The commit that it began at.
    pub base: String,
    /// The branch that gets the work; null if none was checked out or named.
    pub into: Option<String>,
    /// The work tree that it was made from.
    pub home: String,
}

/// What was changed in a worktree since its base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Diff {
    /// Name of the session.
    pub name: String,
    pub id: SessionId,
    pub worktree: Worktree,
    /// The commit that it is compared with: where its branch and the one that gets the work parted.
    pub base: String,
    /// The commit that is checked out in it.
    pub head: String,
    /// Commits since the base, oldest first; at most 1000.
    pub commits: Vec<Commit>,
    pub files: Vec<ChangedFile>,
    /// Sum of the files; files that are not text count nothing.
    pub insertions: u64,
    pub deletions: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Commit {
    pub hash: String,
    /// The first line of its message.
    pub subject: String,
}

/// One file that differs from the base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ChangedFile {
    /// From the top of the work tree. Invalid UTF-8 is replaced.
    pub path: String,
    /// Its name before, if it was renamed or copied.
    pub from: Option<String>,
    pub change: FileChange,
    /// Lines; null if it is not text.
    pub insertions: Option<u64>,
    pub deletions: Option<u64>,
    /// A commit since the base changes it.
    pub committed: bool,
    /// It has changes that are not committed.
    pub uncommitted: bool,
    /// git does not track it.
    pub untracked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    Added,
    Modified,
    Deleted,
    Renamed,
    Copied,
    TypeChanged,
    /// A directory that is a repository of its own; its files are not compared.
    Repository,
}

impl FileChange {
    /// A file with this change and nothing else known.
    pub fn file(self) -> ChangedFile {
        ChangedFile {
            path: String::new(),
            from: None,
            change: self,
            insertions: None,
            deletions: None,
            committed: false,
            uncommitted: false,
            untracked: false,
        }
    }
}

/// How a worktree was finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Finished {
    /// Name of the session.
    pub name: String,
    pub id: SessionId,
    pub worktree: Worktree,
    pub how: FinishedHow,
    /// The branch that got the work, and the commit that it is at now; null if none did.
    pub into: Option<String>,
    pub commit: Option<String>,
    /// The last commit of the worktree's branch; null if the branch did not exist any more.
    pub tip: Option<String>,
    /// Whether the directory and the branch were removed.
    pub folder_removed: bool,
    pub branch_removed: bool,
    /// Names of sessions that were ended.
    pub killed: Vec<String>,
    /// What to know, for people: such as why the directory stays.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FinishedHow {
    Merged,
    Rebased,
    Squashed,
    Kept,
    Discarded,
}

/// A pull request for the branch of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PullRequest {
    /// Name of the session.
    pub name: String,
    pub id: SessionId,
    pub branch: String,
    /// The branch that it is to be merged into; null if the forge decides.
    pub into: Option<String>,
    pub remote: String,
    pub url: String,
    /// Whether it was opened now; else its branch was updated.
    pub opened: bool,
}

/// Whether a project's `.dogwatch.toml` is trusted, and what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TrustedFile {
    pub path: String,
    pub trust: TrustState,
    /// SHA-256 of its content; null if it does not exist.
    pub hash: Option<String>,
    pub copy: Vec<String>,
    pub link: Vec<String>,
    pub setup: Option<String>,
    pub values: Vec<ValueRange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrustState {
    Trusted,
    /// Another content was trusted.
    Changed,
    Untrusted,
}

/// A variable that gets a number of its own in each session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ValueRange {
    pub name: String,
    pub first: u32,
    pub last: u32,
}
