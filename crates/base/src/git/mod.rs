//! Runs git without prompts and only on the given repository: changed files, and commits.

pub mod status;

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::git::status::Change;
use crate::program::{self, Ended};

/// A commit may run the project's hooks, and they its tests.
const AT_MOST: Duration = Duration::from_mins(10);

/// A git command failed; with its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitFailed {
    pub code: i32,
    pub words: String,
}

impl fmt::Display for GitFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "git ended with {}: {}", self.code, self.words.trim())
    }
}

/// The work tree that contains a directory.
#[derive(Debug, Clone)]
pub struct WorkTree {
    top: PathBuf,
}

impl WorkTree {
    pub fn of(folder: &Path) -> Result<Self, GitFailed> {
        let printed = checked(git(folder, &["rev-parse", "--show-toplevel"], b""))?;
        let printed = printed.strip_suffix(b"\n").unwrap_or(&printed);
        Ok(Self { top: bytes_to_path(printed) })
    }

    pub fn top(&self) -> &Path {
        &self.top
    }

    /// All changed files, those in new directories too.
    pub fn changes(&self) -> Result<Vec<Change>, GitFailed> {
        let words = ["status", "--porcelain=v1", "-z", "--untracked-files=all"];
        Ok(status::read(&checked(git(&self.top, &words, b""))?))
    }

    /// Adds these paths to the index, deleted ones too.
    pub fn add(&self, paths: &[&[u8]]) -> Result<(), GitFailed> {
        self.with_paths(&["add", "-A"], paths)
    }

    /// Removes these paths from the index.
    pub fn unstage(&self, paths: &[&[u8]]) -> Result<(), GitFailed> {
        self.with_paths(&["reset", "-q"], paths)
    }

    fn with_paths(&self, words: &[&str], paths: &[&[u8]]) -> Result<(), GitFailed> {
        if paths.is_empty() {
            return Ok(());
        }
        let words = [words, &PATHS_FROM_INPUT].concat();
        checked(git(&self.top, &words, &literal(paths))).map(drop)
    }

    pub fn has_staged(&self) -> bool {
        !git(&self.top, &["diff", "--cached", "--quiet"], b"").is_ok_and(|ended| ended.is_fine())
    }

    /// Commits the index and returns the commit's hash.
    pub fn commit(&self, message: &str) -> Result<String, GitFailed> {
        checked(git(&self.top, &["commit", "-q", "-m", message], b""))?;
        let printed = checked(git(&self.top, &["rev-parse", "HEAD"], b""))?;
        Ok(String::from_utf8_lossy(&printed).trim().to_owned())
    }

    /// The file's content in the last commit; empty if it is not in it.
    pub fn committed(&self, path: &[u8]) -> Vec<u8> {
        let name = [b"HEAD:", path].concat();
        let mut command = command(&self.top);
        command.arg("show").arg(bytes_to_path(&name));
        match program::run(command, b"", AT_MOST) {
            Ok(ended) if ended.is_fine() => ended.stdout.bytes,
            _ => Vec::new(),
        }
    }

    pub fn path(&self, path: &[u8]) -> PathBuf {
        self.top.join(bytes_to_path(path))
    }
}

/// Options that make git read paths from its input.
pub const PATHS_FROM_INPUT: [&str; 2] = ["--pathspec-from-file=-", "--pathspec-file-nul"];

/// Paths from the top of the work tree, taken literally: a `*` in a name is only that. `GIT_LITERAL_PATHSPECS` would do the same,
/// but the project's hooks inherit it, and their `*.py` would match nothing.
pub fn literal(paths: &[&[u8]]) -> Vec<u8> {
    paths.iter().flat_map(|path| [b":(top,literal)", *path, b"\0"].concat()).collect()
}

/// A git command in a directory, independent of the repository that the caller's environment names.
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder);
    // Git sets these for hooks; they would point to another repository.
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_PREFIX",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_LITERAL_PATHSPECS",
    ] {
        command.env_remove(name);
    }
    // There is no person to ask.
    command.env("GIT_TERMINAL_PROMPT", "0");
    command
}

/// The same, without programs that files in the repository's directory name: no hooks, no file system monitor, no maintenance.
/// Agents can write there, and what they wrote must not run by our hand. It takes no lock that it can do without: the agent's own
/// git must not fail because we look.
pub fn quiet_command(folder: &Path) -> Command {
    let mut command = command(folder);
    for setting in [
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "core.quotePath=off",
        "gc.auto=0",
        "maintenance.auto=false",
        "submodule.recurse=false",
        "advice.detachedHead=false",
        // What users set for themselves, and what would change what a command does or prints.
        "color.ui=false",
        "commit.cleanup=default",
        "diff.mnemonicPrefix=false",
        "diff.noPrefix=false",
        "diff.relative=false",
        "i18n.logOutputEncoding=UTF-8",
        "log.showSignature=false",
        "merge.autoStash=false",
        "merge.ff=true",
        "rebase.autoSquash=false",
        "rebase.autoStash=false",
        "rebase.rebaseMerges=false",
        "rebase.updateRefs=false",
        "rerere.autoUpdate=false",
        "rerere.enabled=false",
    ] {
        command.args(["-c", setting]);
    }
    command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_EDITOR", "true").env("LC_ALL", "C.UTF-8");
    command
}

fn git(folder: &Path, words: &[&str], input: &[u8]) -> io::Result<Ended> {
    let mut command = command(folder);
    command.args(words);
    program::run(command, input, AT_MOST)
}

fn checked(ended: io::Result<Ended>) -> Result<Vec<u8>, GitFailed> {
    let ended = ended
        .map_err(|error| GitFailed { code: program::NOT_STARTED, words: error.to_string() })?;
    match ended.shell_code() {
        0 if ended.stdout.is_whole => Ok(ended.stdout.bytes),
        0 => Err(GitFailed { code: 1, words: "not all of its answer was read".to_owned() }),
        code => Err(GitFailed { code, words: ended.words() }),
    }
}

fn bytes_to_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(OsStr::from_bytes(bytes))
}
