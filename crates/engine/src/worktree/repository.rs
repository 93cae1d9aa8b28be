//! What git says about a repository and its worktrees. Nothing here changes either.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_base::git::{self, status};
use dogwatch_base::log::LoggedIo as _;
use dogwatch_base::program::{self, Ended};

use dogwatch_store::read_regular;

use super::owner;
use crate::Error;
use crate::error::{ProjectError, WorktreeError};

/// What is copied into a worktree is configuration.
const MOST_COMPARED: u64 = 1024 * 1024;

/// Filters such as that of git-lfs may fetch large files.
const LIMIT: Duration = Duration::from_mins(30);

/// A repository, seen from one of its work trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Top of the work tree.
    pub top: PathBuf,
    /// git's directory that all work trees share.
    pub common: PathBuf,
    /// The directory it was looked for in, relative to the top.
    pub prefix: PathBuf,
}

/// An entry of `git worktree list`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    pub path: PathBuf,
    pub head: Option<String>,
    /// The short name of its branch; `None` if its head is detached.
    pub branch: Option<String>,
    /// Why it is locked; may be empty.
    pub locked: Option<String>,
}

impl Listed {
    /// Whether this is its folder. git prints paths without symbolic links.
    pub fn is_at(&self, folder: &Path) -> bool {
        self.path == folder || self.path == owner::real(folder)
    }
}

impl Repository {
    /// The repository whose work tree contains the directory.
    pub fn of(dir: &Path) -> Result<Self, Error> {
        let args = ["rev-parse", "--is-bare-repository", "--is-inside-work-tree"];
        let said = run(dir, &args, b"")?;
        let words = said.stdout.text();
        let mut words = words.lines();
        if !said.is_fine() {
            let complaint = said.complaint();
            // Such as a repository of another user, which git does not open.
            if complaint.contains("not a git repository") {
                return Err(ProjectError::NotARepository { path: dir.to_owned() }.into());
            }
            return Err(failed("rev-parse", dir, complaint));
        }
        if words.next() == Some("true") || words.next() != Some("true") {
            return Err(WorktreeError::Bare { path: dir.to_owned() }.into());
        }
        // One question each: names of folders may contain newlines.
        let path = |args: &[&str]| -> Result<PathBuf, Error> {
            let bytes = bytes(dir, args)?;
            Ok(path_of(bytes.strip_suffix(b"\n").unwrap_or(&bytes)))
        };
        let common = path(&["rev-parse", "--git-common-dir"])?;
        // Relative to the directory: `--path-format` is not known to git before 2.31.
        let common = dir.join(common);
        Ok(Self {
            top: path(&["rev-parse", "--show-toplevel"])?,
            common: common.canonicalize().unwrap_or(common),
            prefix: path(&["rev-parse", "--show-prefix"])?,
        })
    }

    /// A git command at the top of the work tree.
    pub(crate) fn run(&self, args: &[&str], input: &[u8]) -> Result<Ended, Error> {
        run(&self.top, args, input)
    }

    /// The output of a git command that must not fail, without its last newline.
    pub(crate) fn ask(&self, args: &[&str]) -> Result<String, Error> {
        ask(&self.top, args)
    }

    /// The commit of a name that a person gave, or of a branch; `None` if there is none.
    pub fn commit(&self, name: &str) -> Result<Option<String>, Error> {
        // A name like an option must not become one.
        if name.starts_with('-') {
            return Ok(None);
        }
        let name = format!("{name}^{{commit}}");
        let said = self.run(&["rev-parse", "--verify", "-q", &name], b"")?;
        Ok(said.is_fine().then(|| said.stdout.text().trim().to_owned()))
    }

    pub fn tip(&self, branch: &str) -> Result<Option<String>, Error> {
        self.commit(&format!("refs/heads/{branch}"))
    }

    /// The branch that is checked out here; `None` if the head is detached.
    pub fn branch(&self) -> Result<Option<String>, Error> {
        let said = self.run(&["symbolic-ref", "-q", "--short", "HEAD"], b"")?;
        Ok(said.is_fine().then(|| said.stdout.text().trim().to_owned()))
    }

    pub fn is_ancestor(&self, one: &str, of: &str) -> Result<bool, Error> {
        let said = self.run(&["merge-base", "--is-ancestor", one, of], b"")?;
        match said.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(failed("merge-base", &self.top, said.complaint())),
        }
    }

    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, Error> {
        let said = self.run(&["merge-base", one, other], b"")?;
        Ok(said.is_fine().then(|| said.stdout.text().trim().to_owned()))
    }

    /// How many commits the second has that the first lacks.
    pub fn count(&self, from: &str, to: &str) -> Result<usize, Error> {
        let said = self.ask(&["rev-list", "--count", &format!("{from}..{to}")])?;
        Ok(said.parse().unwrap_or(0))
    }

    pub fn list(&self) -> Result<Vec<Listed>, Error> {
        list_in(&self.top)
    }

    /// The work tree in which a branch is checked out.
    pub fn checked_out(&self, branch: &str) -> Result<Option<PathBuf>, Error> {
        let listed = self.list()?.into_iter().find(|one| one.branch.as_deref() == Some(branch));
        Ok(listed.map(|one| one.path))
    }

    /// The work tree in which a rebase of a branch is under way: its head is detached meanwhile.
    pub fn rebased_in(&self, branch: &str) -> Result<Option<PathBuf>, Error> {
        let name = format!("refs/heads/{branch}");
        for listed in self.list()?.into_iter().filter(|one| one.branch.is_none()) {
            let Some(dir) = git_dir(&listed.path)? else { continue };
            let is_it = |file: &str| {
                let read = read_regular(&dir.join(file), 4096);
                read.is_ok_and(|text| text.trim_ascii() == name.as_bytes())
            };
            if is_it("rebase-merge/head-name") || is_it("rebase-apply/head-name") {
                return Ok(Some(listed.path));
            }
        }
        Ok(None)
    }
}

/// Whether a directory is the top of a work tree of that repository.
pub fn is_tree_of(dir: &Path, common: &Path) -> bool {
    dir.join(".git").symlink_metadata().is_ok()
        && Repository::of(dir).is_ok_and(|found| found.common == common)
}

/// git's own directory of a work tree; `None` if it is none any more.
pub fn git_dir(tree: &Path) -> Result<Option<PathBuf>, Error> {
    let said = run(tree, &["rev-parse", "--absolute-git-dir"], b"")?;
    let bytes = &said.stdout.bytes;
    Ok(said.is_fine().then(|| path_of(bytes.strip_suffix(b"\n").unwrap_or(bytes))))
}

/// A merge, rebase or the like that is under way in a work tree; the word is that of the git command that aborts it.
pub fn operation(tree: &Path) -> Result<Option<&'static str>, Error> {
    let Some(dir) = git_dir(tree)? else { return Ok(None) };
    let signs = [
        ("rebase-merge", "rebase"),
        ("rebase-apply", "rebase"),
        ("MERGE_HEAD", "merge"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
    ];
    Ok(signs.into_iter().find(|(file, _)| dir.join(file).exists()).map(|(_, word)| word))
}

/// Files that are not committed in a work tree, also within its submodules.
pub fn uncommitted(tree: &Path) -> Result<Vec<status::Change>, Error> {
    let args =
        ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=none"];
    Ok(status::read(&bytes(tree, &args)?))
}

/// Files that git ignores in a worktree, and that are nowhere else: no links, and not what is the same in the work tree that it was
/// made from. A folder that is ignored as a whole is one entry.
pub fn ignored(tree: &Path, home: &Path) -> Result<Vec<String>, Error> {
    let args = [
        "ls-files",
        "-z",
        "--others",
        "--ignored",
        "--exclude-standard",
        "--directory",
        "--no-empty-directory",
    ];
    let names = bytes(tree, &args)?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let is_elsewhere = |name: &&[u8]| {
        let (here, there) = (tree.join(path_of(name)), home.join(path_of(name)));
        here.is_symlink() || is_same_file(&here, &there)
    };
    let shown = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    Ok(names.filter(|name| !is_elsewhere(name)).map(shown).collect())
}

/// Whether both are regular files with the same content. Large ones are not compared: they count as different.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let read = |path: &Path| read_regular(path, MOST_COMPARED).logged_unless_missing("read a file");
    read(one).is_some_and(|text| Some(text) == read(other))
}

pub(crate) fn list_in(dir: &Path) -> Result<Vec<Listed>, Error> {
    Ok(read_list(&bytes(dir, &["worktree", "list", "--porcelain"])?))
}

/// Reads `git worktree list --porcelain`; `-z` is not known to git before 2.36.
fn read_list(output: &[u8]) -> Vec<Listed> {
    let mut all: Vec<Listed> = Vec::new();
    for line in output.split(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        if let Some(path) = line.strip_prefix(b"worktree ") {
            all.push(Listed { path: path_of(path), ..Listed::default() });
        } else if let Some(last) = all.last_mut() {
            if let Some(head) = text.strip_prefix("HEAD ") {
                last.head = Some(head.to_owned());
            } else if let Some(branch) = text.strip_prefix("branch refs/heads/") {
                last.branch = Some(branch.to_owned());
            } else if let Some(why) = text.strip_prefix("locked") {
                last.locked = Some(why.trim().to_owned());
            }
        }
    }
    all
}

pub(crate) fn run(dir: &Path, args: &[&str], input: &[u8]) -> Result<Ended, Error> {
    let mut command = git::quiet_command(dir);
    command.args(args);
    program::run(command, input, LIMIT).map_err(Error::io("run git"))
}

pub(crate) fn run_with(
    dir: &Path,
    args: &[&str],
    more: impl FnOnce(&mut std::process::Command),
    input: &[u8],
) -> Result<Ended, Error> {
    let mut command = git::quiet_command(dir);
    command.args(args);
    more(&mut command);
    program::run(command, input, LIMIT).map_err(Error::io("run git"))
}

pub(crate) fn bytes(dir: &Path, args: &[&str]) -> Result<Vec<u8>, Error> {
    whole(dir, args, run(dir, args, b"")?)
}

pub(crate) fn whole(dir: &Path, args: &[&str], said: Ended) -> Result<Vec<u8>, Error> {
    if said.is_fine() && said.stdout.is_whole {
        return Ok(said.stdout.bytes);
    }
    let complaint =
        if said.is_fine() { "its output was cut off".to_owned() } else { said.complaint() };
    Err(failed(args.first().copied().unwrap_or_default(), dir, complaint))
}

pub(crate) fn ask(dir: &Path, args: &[&str]) -> Result<String, Error> {
    let text = bytes(dir, args)?;
    Ok(String::from_utf8_lossy(&text).trim_end_matches('\n').to_owned())
}

pub(crate) fn failed(what: &str, dir: &Path, said: String) -> Error {
    ProjectError::Git { what: what.to_owned(), dir: dir.to_owned(), said }.into()
}

pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read() {
        let text = "worktree /a b\nHEAD 12\nbranch refs/heads/x/y\n\nworktree /c\nHEAD 34\ndetached\nlocked\n\n\
                    worktree /d\nHEAD 56\ndetached\nlocked being made\n";
        let listed = read_list(text.as_bytes());
        assert_eq!(listed.len(), 3);
        assert_eq!(listed[0].path, Path::new("/a b"));
        assert_eq!(listed[0].branch.as_deref(), Some("x/y"));
        assert_eq!(listed[1].locked.as_deref(), Some(""));
        assert_eq!((&listed[2].branch, listed[2].locked.as_deref()), (&None, Some("being made")));
    }
}
