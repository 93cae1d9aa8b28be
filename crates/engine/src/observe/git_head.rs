//! The branch that is checked out in a folder, read from git's files: git itself takes milliseconds for each.

use std::fs;
use std::path::{Path, PathBuf};

use dogwatch_core::git_head::{self, Head};

use crate::observe::files;

const MOST: u64 = 64 * 1024;

/// A checkout: a repository or one of its worktrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The folder of the repository itself, also for a worktree of it.
    pub repository: PathBuf,
    /// The folder of the work tree.
    pub tree: PathBuf,
    pub head: Option<Head>,
}

/// The checkout that a folder is in.
pub fn of(folder: &Path) -> Option<Checkout> {
    let (root, dot_git) = folder
        .ancestors()
        .map(|dir| (dir, dir.join(".git")))
        .find(|(_, git)| fs::symlink_metadata(git).is_ok())?;
    if dot_git.is_dir() {
        let (repository, tree) = (root.to_owned(), root.to_owned());
        return Some(Checkout { repository, tree, head: head(&dot_git) });
    }
    // A worktree or a submodule: a file that says where the rest is.
    let text = read(&dot_git)?;
    let dir = root.join(git_head::git_dir(&text)?);
    // A worktree shares a repository, a submodule has its own.
    let common = read(&dir.join("commondir")).map(|common| dir.join(common.trim_end()));
    let shared = common.and_then(|common| common.canonicalize().ok());
    let repository = match shared {
        Some(common) if common.file_name().is_some_and(|name| name == ".git") => {
            common.parent().map(Path::to_owned)
        }
        // A bare repository, whose worktrees are elsewhere.
        shared => shared,
    };
    let repository = repository.unwrap_or_else(|| root.to_owned());
    Some(Checkout { repository, tree: root.to_owned(), head: head(&dir) })
}

fn head(git_dir: &Path) -> Option<Head> {
    let path = git_dir.join("HEAD");
    if let Ok(target) = fs::read_link(&path) {
        return git_head::head(&target.to_string_lossy());
    }
    git_head::head(&read(&path)?)
}

fn read(path: &Path) -> Option<String> {
    Some(String::from_utf8_lossy(&files::read_regular(path, MOST)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(dir: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command
            .current_dir(dir)
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
            .args(args);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The name of the repository and what is checked out.
    fn shown(folder: &Path) -> Option<(String, Option<String>)> {
        let found = of(folder)?;
        let name = found.repository.file_name().unwrap().to_string_lossy().into_owned();
        Some((name, found.head.map(|head| head.shown().to_owned())))
    }

    #[test]
    fn as_git_makes_them() {
        let tmp = tempfile::tempdir().unwrap();
        let base = tmp.path().canonicalize().unwrap();
        assert_eq!(of(&base), None);
        let repo = base.join("my repo");
        fs::create_dir_all(repo.join("deep/er")).unwrap();
        git(&repo, &["init", "-q"]);
        let on = |branch: &str| Some(("my repo".to_owned(), Some(branch.to_owned())));
        assert_eq!(shown(&repo), on("main"), "without a commit");
        git(&repo, &["commit", "-q", "--allow-empty", "-m", "x"]);
        git(&repo, &["checkout", "-q", "-b", "feature/größe"]);
        assert_eq!(shown(&repo.join("deep/er")), on("feature/größe"));
        git(&repo, &["pack-refs", "--all"]);
        assert_eq!(shown(&repo), on("feature/größe"));
        git(&repo, &["worktree", "add", "-q", "-b", "side", "../tree"]);
        assert_eq!(shown(&base.join("tree")), on("side"));
        git(&base.join("tree"), &["checkout", "-q", "--detach"]);
        let (_, head) = shown(&base.join("tree")).unwrap();
        assert_eq!(head.unwrap().len(), 8);
        git(&base, &["clone", "-q", "--bare", "my repo", "bare.git"]);
        git(&base.join("bare.git"), &["worktree", "add", "-q", "../of-bare", "main"]);
        assert_eq!(
            shown(&base.join("of-bare")),
            Some(("bare.git".to_owned(), Some("main".to_owned())))
        );
        fs::write(repo.join(".git/HEAD"), "rubbish").unwrap();
        assert_eq!(shown(&repo), Some(("my repo".to_owned(), None)));
    }
}
