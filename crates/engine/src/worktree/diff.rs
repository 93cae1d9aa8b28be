//! Everything that was changed in a worktree since its base: committed, uncommitted and untracked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dogwatch_base::git::{self, PATHS_FROM_INPUT, literal, status::Change};
use dogwatch_base::program;
use dogwatch_protocol::worktree::{ChangedFile, Commit, FileChange};
use tempfile::TempDir;

use super::repository::{self, path_of};
use crate::Error;

/// A comparison that can be printed in several ways.
#[derive(Debug)]
pub struct Comparison {
    /// Where git is called.
    pub tree: PathBuf,
    /// The commit that it is compared with.
    pub base: String,
    /// The commit that is checked out, or that it ended at.
    pub head: String,
    changes: Vec<Change>,
    /// A copy of the index that also has the untracked files; `None` if two commits are compared.
    index: Option<(TempDir, PathBuf)>,
}

impl Comparison {
    /// Compares a work tree with a commit. Its own index is not touched: the agent may be using it.
    pub fn of_tree(tree: &Path, base: &str) -> Result<Self, Error> {
        let changes = repository::uncommitted(tree)?;
        let head = repository::ask(tree, &["rev-parse", "HEAD"])?;
        let folder = tempfile::Builder::new()
            .prefix("dogwatch-diff-")
            .tempdir()
            .map_err(Error::io("make a temporary folder"))?;
        let copy = folder.path().join("index");
        let index = repository::ask(tree, &["rev-parse", "--git-path", "index"])?;
        match std::fs::copy(tree.join(index), &copy) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("copy git's index")(error));
            }
            _ => {}
        }
        let untracked: Vec<&[u8]> = changes
            .iter()
            .filter(|change| change.index == b'?' && !change.is_repository())
            .map(|change| change.path.as_slice())
            .collect();
        if !untracked.is_empty() {
            // Only their names: their content is not stored.
            let args = [&["add", "--intent-to-add"][..], &PATHS_FROM_INPUT].concat();
            let with = |command: &mut Command| {
                command.env("GIT_INDEX_FILE", &copy);
            };
            let said = repository::run_with(tree, &args, with, &literal(&untracked))?;
            repository::whole(tree, &args, said)?;
        }
        let (tree, base) = (tree.to_owned(), base.to_owned());
        Ok(Self { tree, base, head, changes, index: Some((folder, copy)) })
    }

    /// Compares two commits, after the work tree is gone.
    pub fn of_commits(tree: &Path, base: &str, head: &str) -> Self {
        let (tree, base, head) = (tree.to_owned(), base.to_owned(), head.to_owned());
        Self { tree, base, head, changes: Vec::new(), index: None }
    }

    /// `git diff` with these options; no program that the repository names is run.
    fn command(&self, options: &[&str]) -> Command {
        let mut command = git::quiet_command(&self.tree);
        command.args(["diff", "--no-ext-diff", "--no-textconv", "--find-renames"]).args(options);
        command.arg(&self.base);
        match &self.index {
            Some((_, index)) => command.env("GIT_INDEX_FILE", index),
            None => command.arg(&self.head),
        };
        command.arg("--");
        command
    }

    fn output(&self, options: &[&str]) -> Result<Vec<u8>, Error> {
        let limit = std::time::Duration::from_mins(10);
        let said = program::run(self.command(options), b"", limit).map_err(Error::io("run git"))?;
        repository::whole(&self.tree, &["diff"], said)
    }

    /// What git prints, for people.
    pub fn text(&self, options: &[&str]) -> Result<Vec<u8>, Error> {
        self.output(options)
    }

    /// The same to our own standard output, however much it is.
    pub fn stream(&self, options: &[&str]) -> Result<(), Error> {
        let mut command = self.command(options);
        program::withhold_secrets(&mut command);
        let status = command.stdin(Stdio::null()).status().map_err(Error::io("run git"))?;
        // A reader that has seen enough closes the pipe.
        if status.success() || std::os::unix::process::ExitStatusExt::signal(&status).is_some() {
            return Ok(());
        }
        Err(repository::failed("diff", &self.tree, format!("{status}")))
    }

    pub fn files(&self) -> Result<Vec<ChangedFile>, Error> {
        let mut files = read_raw(&self.output(&["--raw", "-z", "--no-abbrev"])?);
        let counts = read_counts(&self.output(&["--numstat", "-z"])?);
        let args =
            ["diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", &self.base, &self.head];
        let committed = repository::bytes(&self.tree, &args)?;
        let committed: BTreeSet<&[u8]> = committed.split(|byte| *byte == 0).collect();
        let changed: BTreeSet<&[u8]> = self
            .changes
            .iter()
            .flat_map(|c| [Some(&*c.path), c.from.as_deref()])
            .flatten()
            .collect();
        for (path, file) in &mut files {
            if let Some((_, lines)) = counts.iter().find(|(counted, _)| counted == path) {
                (file.insertions, file.deletions) = *lines;
            }
            let is_untracked = |c: &Change| c.index == b'?' && c.path == *path;
            file.untracked = self.changes.iter().any(is_untracked);
            file.committed = committed.contains(path.as_slice());
            file.uncommitted = changed.contains(path.as_slice());
        }
        let nested = self.changes.iter().filter(|change| change.is_repository());
        files.extend(nested.map(|change| {
            let path = change.shown();
            let file = ChangedFile {
                path,
                untracked: true,
                uncommitted: true,
                ..FileChange::Repository.file()
            };
            (change.path.clone(), file)
        }));
        Ok(files.into_iter().map(|(_, file)| file).collect())
    }

    /// Commits since the base, oldest first.
    pub fn commits(&self) -> Result<Vec<Commit>, Error> {
        let range = format!("{}..{}", self.base, self.head);
        let args = ["log", "--reverse", "-n", "1000", "-z", "--format=%H %s", &range];
        let text = repository::bytes(&self.tree, &args)?;
        let text = String::from_utf8_lossy(&text);
        let commit = |line: &str| {
            let (hash, subject) = line.split_once(' ')?;
            Some(Commit { hash: hash.to_owned(), subject: subject.to_owned() })
        };
        Ok(text.split('\0').filter_map(commit).collect())
    }
}

type Lines = (Option<u64>, Option<u64>);

/// Reads `--raw -z`: `:modes hashes STATUS NUL path NUL`, with a second path for renames.
fn read_raw(output: &[u8]) -> Vec<(Vec<u8>, ChangedFile)> {
    let mut files = Vec::new();
    let mut parts = output.split(|byte| *byte == 0);
    while let (Some(head), Some(path)) = (parts.next(), parts.next()) {
        let letter = head.rsplit(|byte| *byte == b' ').next().and_then(|word| word.first());
        let change = match letter {
            Some(b'A') => FileChange::Added,
            Some(b'D') => FileChange::Deleted,
            Some(b'R') => FileChange::Renamed,
            Some(b'C') => FileChange::Copied,
            Some(b'T') => FileChange::TypeChanged,
            _ => FileChange::Modified,
        };
        let has_two = matches!(change, FileChange::Renamed | FileChange::Copied);
        let (from, path) =
            if has_two { (Some(path), parts.next().unwrap_or_default()) } else { (None, path) };
        let shown = |path: &[u8]| path_of(path).to_string_lossy().into_owned();
        let file = ChangedFile { path: shown(path), from: from.map(shown), ..change.file() };
        files.push((path.to_vec(), file));
    }
    files
}

/// Reads `--numstat -z`: `added TAB deleted TAB path NUL`, or with an empty path and two more for renames.
fn read_counts(output: &[u8]) -> Vec<(Vec<u8>, Lines)> {
    let mut counts = Vec::new();
    let mut parts = output.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        let mut fields = part.splitn(3, |byte| *byte == b'\t');
        let number = |field: Option<&[u8]>| {
            field.and_then(|text| std::str::from_utf8(text).ok()).and_then(|text| text.parse().ok())
        };
        let lines = (number(fields.next()), number(fields.next()));
        let path = match fields.next().unwrap_or_default() {
            b"" => {
                parts.next();
                parts.next().unwrap_or_default()
            }
            path => path,
        };
        counts.push((path.to_vec(), lines));
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_of_git_are_read() {
        let raw = b":100644 100644 a b M\0x y\0:000000 100644 0 c A\0new\0:100644 100644 a a R100\0old\0moved\0\
                    :100644 000000 a 0 D\0gone\0";
        let files = read_raw(raw);
        let shown: Vec<(&str, FileChange)> =
            files.iter().map(|(_, file)| (file.path.as_str(), file.change)).collect();
        let wanted = [
            ("x y", FileChange::Modified),
            ("new", FileChange::Added),
            ("moved", FileChange::Renamed),
            ("gone", FileChange::Deleted),
        ];
        assert_eq!(shown, wanted);
        assert_eq!(files[2].1.from.as_deref(), Some("old"));
        let counts = read_counts(
            &[&b"1\t2\tx y"[..], b"-\t-\tbinary", b"0\t0\t", b"old", b"moved", b"3\t0\tnew", b""]
                .join(&0),
        );
        let counts: Vec<(&[u8], Lines)> = counts.iter().map(|(p, l)| (p.as_slice(), *l)).collect();
        assert_eq!(
            counts,
            [
                (&b"x y"[..], (Some(1), Some(2))),
                (b"binary", (None, None)),
                (b"moved", (Some(0), Some(0))),
                (b"new", (Some(3), Some(0))),
            ]
        );
    }
}
