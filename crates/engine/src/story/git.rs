//! git, as far as stories need it: what has changed, and a commit of it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dogwatch_core::story::git_status::{self, Change};

use super::program::{self, Ended};

/// A commit may have to run a project's hooks, and those its tests.
const AT_MOST: Duration = Duration::from_mins(10);

/// What git could not do, with its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitFailed {
    pub code: i32,
    pub words: String,
}

/// The work tree that a folder is in.
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

    /// Every changed file by its name, those in new folders too.
    pub fn changes(&self) -> Result<Vec<Change>, GitFailed> {
        let words = ["status", "--porcelain=v1", "-z", "--untracked-files=all"];
        Ok(git_status::read(&checked(git(&self.top, &words, b""))?))
    }

    /// Adds these paths to the index, also if they are gone.
    pub(super) fn add(&self, paths: &[&[u8]]) -> Result<(), GitFailed> {
        self.with_paths(&["add", "-A"], paths)
    }

    /// Takes these paths back out of the index.
    pub(super) fn unstage(&self, paths: &[&[u8]]) -> Result<(), GitFailed> {
        self.with_paths(&["reset", "-q"], paths)
    }

    fn with_paths(&self, words: &[&str], paths: &[&[u8]]) -> Result<(), GitFailed> {
        if paths.is_empty() {
            return Ok(());
        }
        let words = [words, &["--pathspec-from-file=-", "--pathspec-file-nul"]].concat();
        checked(git(&self.top, &words, &paths.join(&0))).map(drop)
    }

    /// Whether there is anything in the index to commit.
    pub(super) fn has_staged(&self) -> bool {
        git(&self.top, &["diff", "--cached", "--quiet"], b"").code != 0
    }

    /// Commits the index and says which commit that is.
    pub(super) fn commit(&self, message: &str) -> Result<String, GitFailed> {
        checked(git(&self.top, &["commit", "-q", "-m", message], b""))?;
        let printed = checked(git(&self.top, &["rev-parse", "HEAD"], b""))?;
        Ok(String::from_utf8_lossy(&printed).trim().to_owned())
    }

    /// The file as it is in the last commit; nothing if it is not in it.
    pub(super) fn committed(&self, path: &[u8]) -> Vec<u8> {
        let name = [b"HEAD:", path].concat();
        let mut command = start(&self.top);
        command.arg("show").arg(bytes_to_path(&name));
        let ended = program::run(command, b"", AT_MOST);
        if ended.code == 0 { ended.output } else { Vec::new() }
    }

    pub(super) fn path(&self, path: &[u8]) -> PathBuf {
        self.top.join(bytes_to_path(path))
    }
}

fn start(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(folder)
        // Nobody is there to be asked, and a name with a star in it is that name.
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_LITERAL_PATHSPECS", "1");
    command
}

fn git(folder: &Path, words: &[&str], input: &[u8]) -> Ended {
    let mut command = start(folder);
    command.args(words);
    program::run(command, input, AT_MOST)
}

fn checked(ended: Ended) -> Result<Vec<u8>, GitFailed> {
    if ended.code == 0 {
        return Ok(ended.output);
    }
    Err(GitFailed { code: ended.code, words: ended.words() })
}

fn bytes_to_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(OsStr::from_bytes(bytes))
}
