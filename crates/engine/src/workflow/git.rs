//! git operations of a run. A driver that was killed may have done part of any of them, so each first checks for traces of an
//! earlier try.

mod aside;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dogwatch_base::git::status::Change;
use dogwatch_base::log::Logged as _;
use dogwatch_core::worktree::finish::Way;
use dogwatch_store::{ProjectFile, Readers};

pub(super) use aside::Aside;

use crate::Error;
use crate::error::{ProjectError, WorktreeError};
use crate::worktree::combine::{self, Advanced, Combination, Combined};
use crate::worktree::{Repository, make, provide, remove};
use dogwatch_base::git::{self, PATHS_FROM_INPUT, WorkTree, literal};
use dogwatch_base::program::{self, Ended};
use dogwatch_bmad::why_not;

/// Hooks of a repository may run all its tests.
const LIMIT: Duration = Duration::from_mins(30);
/// How long to wait for another git process's lock.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often the tree may move under a merge.
const TRIES: u32 = 5;

/// A repository or worktree, seen from a directory inside it.
#[derive(Debug, Clone)]
pub struct Tree {
    dir: PathBuf,
    tree: WorkTree,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GitOutcome {
    /// The hash of the commit.
    Done(String),
    /// There was nothing to do.
    Nothing,
    Failed(String),
}

impl Tree {
    /// The work tree that contains the directory.
    pub fn of(dir: &Path) -> Option<Self> {
        let tree = WorkTree::of(dir).logged("find the work tree")?;
        Some(Self { dir: dir.to_owned(), tree })
    }

    pub(super) fn top(&self) -> &Path {
        self.tree.top()
    }

    /// Runs git at the top of the tree; paths are relative to it.
    fn git(&self, args: &[&str], input: &[u8]) -> Result<Ended, Error> {
        git_in(self.tree.top(), args, input)
    }

    /// The output of a git command that must not fail.
    fn ask(&self, args: &[&str]) -> Result<String, Error> {
        let said = self.git(args, b"")?;
        self.answer(args, &said).map(|text| text.trim_end_matches('\n').to_owned())
    }

    fn answer(&self, args: &[&str], said: &Ended) -> Result<String, Error> {
        if said.is_fine() && said.stdout.is_whole {
            return Ok(said.stdout.text());
        }
        let what = args.first().copied().unwrap_or_default().to_owned();
        let said =
            if said.is_fine() { "its output was cut off".to_owned() } else { said.complaint() };
        Err(ProjectError::Git { what, dir: self.dir.clone(), said }.into())
    }

    fn is_fine(&self, args: &[&str]) -> Result<bool, Error> {
        self.git(args, b"").map(|said| said.is_fine())
    }

    /// The commit that is checked out; `None` in a new repository.
    pub fn head(&self) -> Option<String> {
        self.commit_of("HEAD")
    }

    fn commit_of(&self, name: &str) -> Option<String> {
        let name = format!("{name}^{{commit}}");
        let said = self.git(&["rev-parse", "--verify", "-q", &name], b"").logged("run git")?;
        said.is_fine().then(|| said.stdout.text().trim().to_owned())
    }

    /// Changed files, relative to the top, each with a hash of its content.
    pub fn changes(&self) -> Result<BTreeMap<String, String>, Error> {
        let changed = self.changed()?;
        let marks = self.marks(&changed)?;
        Ok(changed.iter().map(Change::shown).zip(marks).collect())
    }

    fn changed(&self) -> Result<Vec<Change>, Error> {
        self.tree.changes().map_err(|failed| {
            Error::Project(ProjectError::Git {
                what: "status".into(),
                dir: self.dir.clone(),
                said: failed.words,
            })
        })
    }

    /// A hash of each file's content. For a link it is the hash of its target path: git would read the file it points to.
    fn marks(&self, changes: &[Change]) -> Result<Vec<String>, Error> {
        let mut marks = vec!["gone".to_owned(); changes.len()];
        let mut files = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            let path = self.tree.path(&change.path);
            match path.symlink_metadata() {
                Ok(meta) if meta.is_symlink() => {
                    let target = path.read_link().logged("read a link").unwrap_or_default();
                    marks[at] = format!("link to {}", target.display());
                }
                Ok(meta) if meta.is_file() => files.push((at, change.path.as_slice())),
                _ => {}
            }
        }
        // One git process for all, except names with a newline or quote and files that are gone meanwhile.
        let is_line = |path: &[u8]| !path.contains(&b'\n') && !path.starts_with(b"\"");
        let (lines, odd): (Vec<_>, Vec<_>) = files.into_iter().partition(|(_, path)| is_line(path));
        let input: Vec<u8> = lines.iter().flat_map(|(_, path)| [*path, b"\n"].concat()).collect();
        let said = self.git(&["hash-object", "--stdin-paths"], &input)?;
        let answer = said.stdout.text();
        let hashes: Vec<&str> = answer.lines().collect();
        if said.is_fine() && said.stdout.is_whole && hashes.len() == lines.len() {
            for ((at, _), hash) in lines.iter().zip(hashes) {
                hash.clone_into(&mut marks[*at]);
            }
            for (at, path) in odd {
                marks[at] = self.mark_of(path)?;
            }
        } else {
            for (at, path) in lines.into_iter().chain(odd) {
                marks[at] = self.mark_of(path)?;
            }
        }
        Ok(marks)
    }

    fn mark_of(&self, path: &[u8]) -> Result<String, Error> {
        let mut command = git::command(self.tree.top());
        command.args(["hash-object", "--"]).arg(OsStr::from_bytes(path));
        let said = program::run(command, b"", LIMIT).map_err(Error::io("run git"))?;
        Ok(if said.is_fine() { said.stdout.text().trim().to_owned() } else { "gone".into() })
    }

    /// Commits all changes except those from before the run that are unchanged. `mark` is a line that identifies this commit.
    pub(super) fn commit(
        &self,
        message: &str,
        mark: &str,
        before: &BTreeMap<String, String>,
    ) -> Result<GitOutcome, Error> {
        let begun = Instant::now();
        loop {
            if let Some(sha) = self.marked(mark)? {
                return Ok(GitOutcome::Done(sha));
            }
            let changed = self.changed()?;
            let unmerged: Vec<String> =
                changed.iter().filter(|c| c.is_unmerged()).map(Change::shown).collect();
            if !unmerged.is_empty() {
                let files = unmerged.join(", ");
                return Ok(GitOutcome::Failed(format!(
                    "a merge has unresolved conflicts in {files}"
                )));
            }
            let (mut ours, mut to_add): (Vec<&[u8]>, Vec<&[u8]>) = (Vec::new(), Vec::new());
            let marks = self.marks(&changed)?;
            for (change, mark) in changed.iter().zip(&marks) {
                let is_ours = before.get(&change.shown()) != Some(mark);
                if is_ours && why_not(&self.tree, change).is_none() {
                    ours.push(&change.path);
                    // A file that is already deleted in the index cannot be added.
                    to_add.extend(change.is_unstaged().then_some(change.path.as_slice()));
                    // A rename also deletes the old path.
                    ours.extend(change.from.as_deref());
                }
            }
            if ours.is_empty() {
                return Ok(GitOutcome::Nothing);
            }
            let text = format!("{message}\n\n{mark}\n");
            let said = match self.added(&to_add)? {
                Some(refused) => refused,
                // Only these paths, whatever else is in the index.
                None => self.with_paths(&["commit", "-q", "-m", &text], &ours)?,
            };
            if said.is_fine() {
                // A hook may have rewritten the commit message.
                let made = self.marked(mark)?.or_else(|| self.head());
                return Ok(made.map_or(GitOutcome::Nothing, GitOutcome::Done));
            }
            // A git process of a driver that was killed may still hold the lock.
            let words = said.stderr.text();
            let is_locked = words.contains("index.lock") || words.contains("cannot lock ref");
            if !is_locked || begun.elapsed() > PATIENCE {
                return Ok(self
                    .marked(mark)?
                    .map_or_else(|| GitOutcome::Failed(said.complaint()), GitOutcome::Done));
            }
            self.wait_for_lock();
        }
    }

    /// Changed files that are left out of commits because they look like secrets, with the reason.
    pub(super) fn left_out(&self) -> Result<Vec<String>, Error> {
        let named =
            |change: &Change| Some(format!("{} {}", change.shown(), why_not(&self.tree, change)?));
        Ok(self.changed()?.iter().filter_map(named).collect())
    }

    pub(super) fn is_committed(&self, mark: &str) -> Result<bool, Error> {
        self.marked(mark).map(|found| found.is_some())
    }

    /// Adds the paths; returns git's result if it refused.
    fn added(&self, paths: &[&[u8]]) -> Result<Option<Ended>, Error> {
        if paths.is_empty() {
            return Ok(None);
        }
        let said = self.with_paths(&["add", "-A"], paths)?;
        Ok((!said.is_fine()).then_some(said))
    }

    /// Passes paths on stdin: there may be more than a command line can hold.
    fn with_paths(&self, args: &[&str], paths: &[&[u8]]) -> Result<Ended, Error> {
        self.git(&[args, &PATHS_FROM_INPUT].concat(), &literal(paths))
    }

    fn git_dir(&self) -> Result<PathBuf, Error> {
        self.ask(&["rev-parse", "--absolute-git-dir"]).map(PathBuf::from)
    }

    fn wait_for_lock(&self) {
        let Some(dir) = self.git_dir().logged("run git") else { return };
        let lock = dir.join("index.lock");
        crate::observe::arrival::wait_in(&dir, Duration::from_secs(2), || {
            (!lock.exists()).then_some(())
        });
    }

    /// The commit on this branch, among the latest, whose message has the line.
    fn marked(&self, mark: &str) -> Result<Option<String>, Error> {
        if self.head().is_none() {
            return Ok(None);
        }
        let grep = format!("--grep={mark}");
        let found =
            self.ask(&["log", "-n", "200", "--format=%H%n%B%x00", "--fixed-strings", &grep])?;
        // git matches substrings: another step's mark may start with ours.
        let has_line = |text: &&str| text.lines().any(|line| line == mark);
        let commit = found.split('\0').find(has_line);
        Ok(commit.and_then(|text| text.trim_start().lines().next()).map(ToOwned::to_owned))
    }

    /// The repository, as worktrees are made from it.
    fn repository(&self) -> Result<Repository, Error> {
        Repository::of(&self.dir)
    }

    /// Creates a worktree with a new branch from here, and replaces an existing one of that name. Returns the directory in it that
    /// corresponds to ours.
    pub(super) fn add_worktree(&self, dir: &Path, branch: &str) -> Result<PathBuf, Error> {
        self.remove_worktree(dir, branch)?;
        let repository = self.repository()?;
        let none = || WorktreeError::NoCommits { path: repository.top.clone() };
        let base = repository.commit("HEAD")?.ok_or_else(none)?;
        make::carry_out(&make::Plan {
            session: None,
            repository,
            folder: dir.to_owned(),
            branch: branch.to_owned(),
            owns_branch: true,
            target: None,
            base,
            notes: Vec::new(),
        })
    }

    /// Removes the worktree of an item and its branch, or what is left of them.
    pub(super) fn remove_worktree(&self, dir: &Path, branch: &str) -> Result<(), Error> {
        let home = self.repository()?;
        remove::clear(&home.common, dir);
        self.git(&["branch", "-q", "-D", branch], b"").logged("run git");
        Ok(())
    }

    /// Our directory relative to the top, with a trailing slash; empty at the top.
    fn prefix(&self) -> Result<String, Error> {
        let args = ["rev-parse", "--show-prefix"];
        let said = git_in(&self.dir, &args, b"")?;
        self.answer(&args, &said).map(|text| text.trim_end_matches('\n').to_owned())
    }

    /// Merges a branch. `commits` are known to be on it. `resolve` may resolve a file that both sides changed: it gets base, ours
    /// and theirs, and returns the merged text. They are combined in `scratch`, so that a conflict does not touch this tree.
    pub(super) fn merge(
        &self,
        branch: &str,
        commits: &[String],
        message: &str,
        scratch: &Path,
        resolve: impl Fn(&str, [&str; 3]) -> Option<String>,
    ) -> Result<GitOutcome, Error> {
        let home = self.repository()?;
        let in_scratch = |scratch: &Path| match Tree::of(scratch) {
            Some(tree) => tree.resolve_conflicts(&resolve),
            None => Ok(false),
        };
        for _ in 0..TRIES {
            let Some(tip) = self.commit_of(branch) else { return self.merged_before(commits) };
            let Some(onto) = self.head() else { return Ok(GitOutcome::Nothing) };
            if home.is_ancestor(&tip, &onto)? {
                return Ok(GitOutcome::Done(onto));
            }
            match self.commit_of("MERGE_HEAD") {
                None => {}
                // Left by the driver of an older version that was killed.
                Some(merging) if merging == tip => self.abort_merge(&tip),
                Some(_) => {
                    let dir = self.tree.top().display();
                    return Ok(GitOutcome::Failed(format!(
                        "another merge is in progress in {dir}"
                    )));
                }
            }
            let (way, resolve) = (Way::Merge, Some(&in_scratch as _));
            let what = Combination { way, tip: &tip, onto: &onto, message, scratch, resolve };
            let result = match combine::combine(&home, what) {
                Ok(Combined::Commit(result)) => result,
                Ok(Combined::Conflict(files)) => {
                    return Ok(GitOutcome::Failed(format!("conflict in {}", files.join(", "))));
                }
                Err(Error::Project(ProjectError::Git { said, .. })) => {
                    return Ok(GitOutcome::Failed(said));
                }
                Err(error) => return Err(error),
            };
            match combine::advance_here(&home, &onto, &result)? {
                Advanced::Done => return Ok(GitOutcome::Done(result)),
                Advanced::Moved => {}
                Advanced::Refused { said, .. } => return Ok(GitOutcome::Failed(said)),
            }
        }
        Ok(GitOutcome::Failed("the work tree changed while dogwatch merged".into()))
    }

    /// The branch is gone: checks whether it was merged before it was removed.
    fn merged_before(&self, commits: &[String]) -> Result<GitOutcome, Error> {
        for commit in commits {
            if !self.is_fine(&["merge-base", "--is-ancestor", commit, "HEAD"])? {
                let why =
                    format!("its branch no longer exists, and {commit} is not in the history");
                return Ok(GitOutcome::Failed(why));
            }
        }
        Ok(GitOutcome::Nothing)
    }

    /// Aborts a merge of this commit; leaves any other merge alone.
    fn abort_merge(&self, of: &str) {
        if self.commit_of("MERGE_HEAD").as_deref() == Some(of) {
            self.git(&["merge", "--abort"], b"").logged("run git");
        }
    }

    fn unmerged(&self) -> Result<Vec<String>, Error> {
        let names = self.ask(&["diff", "--name-only", "--diff-filter=U", "-z"])?;
        Ok(names.split('\0').filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect())
    }

    fn resolve_conflicts(
        &self,
        resolve: impl Fn(&str, [&str; 3]) -> Option<String>,
    ) -> Result<bool, Error> {
        let unmerged = self.unmerged()?;
        if unmerged.is_empty() {
            return Ok(false);
        }
        for path in &unmerged {
            let stage = |n: u8| -> Result<String, Error> {
                let args = ["show", &format!(":{n}:{path}")];
                self.answer(&args, &self.git(&args, b"")?)
            };
            let (Ok(base), Ok(ours), Ok(theirs)) = (stage(1), stage(2), stage(3)) else {
                return Ok(false);
            };
            let Some(text) = resolve(path, [&base, &ours, &theirs]) else { return Ok(false) };
            let file = ProjectFile::below(self.tree.top(), Path::new(path));
            file.and_then(|file| file.replace(text.as_bytes(), Readers::Usual))
                .map_err(Error::io(format!("write {path}")))?;
            self.with_paths(&["add"], &[path.as_bytes()])?;
        }
        self.is_fine(&["commit", "-q", "--no-edit", "--no-verify"])
    }

    /// Whether git tracks a file; relative to our directory.
    pub fn has(&self, path: &str) -> bool {
        let Some(prefix) = self.prefix().logged("run git") else { return false };
        let path = format!(":(top,literal){prefix}{path}");
        self.is_fine(&["ls-files", "--error-unmatch", "--", &path]).unwrap_or(false)
    }

    /// Adds a path of ours to `.git/info/exclude`, so that no shared file changes. `path` is relative to our directory.
    pub fn exclude(&self, path: &str) -> Result<(), Error> {
        let path = format!("{}{path}", self.prefix()?);
        provide::exclude(&self.repository()?, Path::new(&path))
    }
}

fn git_in(dir: &Path, args: &[&str], input: &[u8]) -> Result<Ended, Error> {
    let mut command = git::command(dir);
    command.args(["-c", "core.quotepath=off"]).args(args);
    command.env("GIT_EDITOR", "true").env("LC_ALL", "C.UTF-8");
    program::run(command, input, LIMIT).map_err(Error::io("run git"))
}

#[cfg(test)]
mod tests;
