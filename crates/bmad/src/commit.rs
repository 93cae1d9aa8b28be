//! Commits a story's changes, except for secrets.

use std::path::Path;

use crate::format::left_out;
use dogwatch_base::git::status::Change;
use dogwatch_base::log::LoggedIo as _;
use dogwatch_store::read_regular;

use dogwatch_base::git::{GitFailed, WorkTree};

/// A larger file is not searched for keys: it was not written by hand.
const MOST_BYTES: u64 = 2 * 1024 * 1024;

/// A file that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub path: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// `None` if there was nothing to commit.
    pub commit: Option<String>,
    pub left_out: Vec<LeftOut>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotCommitted {
    Status(GitFailed),
    /// A person must resolve a merge first.
    Unmerged(Vec<String>),
    Add(GitFailed),
    Commit(GitFailed),
}

pub fn commit(folder: &Path, message: &str) -> Result<Committed, NotCommitted> {
    let tree = WorkTree::of(folder).map_err(NotCommitted::Status)?;
    let changes = tree.changes().map_err(NotCommitted::Status)?;
    let unmerged: Vec<String> =
        changes.iter().filter(|change| change.is_unmerged()).map(Change::shown).collect();
    if !unmerged.is_empty() {
        return Err(NotCommitted::Unmerged(unmerged));
    }
    let (mut taken, mut staged_secrets, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for change in &changes {
        match why_not(&tree, change) {
            Some(reason) => {
                left_out.push(LeftOut { path: change.shown(), reason });
                if !matches!(change.index, b' ' | b'?') {
                    staged_secrets.push(change.path.as_slice());
                    staged_secrets.extend(change.from.as_deref());
                }
            }
            None if change.is_unstaged() => taken.push(change.path.as_slice()),
            None => {}
        }
    }
    tree.unstage(&staged_secrets).map_err(NotCommitted::Add)?;
    tree.add(&taken).map_err(NotCommitted::Add)?;
    if changes.is_empty() || !tree.has_staged() {
        return Ok(Committed { commit: None, left_out });
    }
    let commit = tree.commit(message).map_err(NotCommitted::Commit)?;
    Ok(Committed { commit: Some(commit), left_out })
}

/// Why a changed file is left out of a commit, if so.
pub fn why_not(tree: &WorkTree, change: &Change) -> Option<String> {
    if change.is_gone() {
        return None;
    }
    if change.is_repository() {
        return Some("a repository of its own".to_owned());
    }
    // A file that is already committed was accepted by a person.
    if change.is_new()
        && let Some(reason) = left_out::by_name(&change.shown())
    {
        return Some(reason.to_owned());
    }
    let path = tree.path(&change.path);
    // For a link, git commits only its target path.
    let now = if path.is_symlink() {
        None
    } else {
        read_regular(&path, MOST_BYTES).logged_unless_missing("read a file")
    }?;
    let now = text(&now)?;
    let reason = left_out::by_content(now, "")?;
    if change.is_new() {
        return Some(reason);
    }
    let committed = tree.committed(change.from.as_deref().unwrap_or(&change.path));
    left_out::by_content(now, text(&committed).unwrap_or_default())
}

/// `None` for binary files.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    struct Repository(tempfile::TempDir);

    impl Repository {
        fn new() -> Self {
            let repository = Self(tempfile::tempdir().unwrap());
            repository.git("init -q .");
            for (key, value) in [("user.name", "t"), ("user.email", "t@example.com")] {
                repository.git(&format!("config {key} {value}"));
            }
            repository.git("config commit.gpgsign false");
            repository.git("config core.hooksPath .git/hooks");
            repository
        }

        fn git(&self, words: &str) -> String {
            let output = Command::new("git")
                .arg("-C")
                .arg(self.0.path())
                .args(words.split(' '))
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn hook(&self, script: &str) {
            self.write(".git/hooks/pre-commit", &format!("#!/bin/sh\n{script}\n"));
            let hook = self.0.path().join(".git/hooks/pre-commit");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(hook, mode).unwrap();
        }

        fn commit(&self) -> Result<Committed, NotCommitted> {
            commit(self.0.path(), "feat(story-1.1): t")
        }

        fn left_out(&self) -> Vec<String> {
            self.commit().unwrap().left_out.into_iter().map(|file| file.path).collect()
        }

        fn committed(&self) -> String {
            self.git("show --format= --name-only HEAD")
        }
    }

    fn key() -> String {
        format!("token = \"AKIA{}\"\n", "QWERTYUIOPASDF12")
    }

    #[test]
    fn files_that_look_secret_are_left_out_and_reported() {
        let repository = Repository::new();
        repository.write("src/a.rs", "fn a() {}\n");
        repository.write(".env", "A=1\n");
        repository.write("src/key.py", &key());
        repository.write("a b*", "x\n");
        // Staging it does not make it acceptable.
        repository.git("add .env");
        assert_eq!(repository.left_out(), [".env", "src/key.py"]);
        assert_eq!(repository.committed(), "a b*\nsrc/a.rs");
        assert_eq!(repository.git("status --porcelain -uall"), "?? .env\n?? src/key.py");
        assert_eq!(repository.commit().unwrap().commit, None);
    }

    /// A hook must find the same files whoever commits.
    #[test]
    fn a_hook_that_looks_for_files_finds_them() {
        let repository = Repository::new();
        repository.write("a.py", "x\n");
        repository.hook("test -z \"$(git diff --cached --name-only -- '*.py')\"");
        assert!(matches!(repository.commit(), Err(NotCommitted::Commit(_))));
    }

    #[test]
    fn committed_files_are_updated_unless_a_key_is_new_in_them() {
        let repository = Repository::new();
        repository.write(".env", "A=1\n");
        repository.write("old.py", &key());
        repository.write("plain.py", "x\n");
        repository.git("add -A");
        repository.git("commit -q -m base");
        repository.write(".env", "A=2\n");
        repository.write("old.py", &format!("# more\n{}", key()));
        repository.write("plain.py", &key());
        assert_eq!(repository.left_out(), ["plain.py"]);
        assert_eq!(repository.committed(), ".env\nold.py");
    }

    #[test]
    fn deletions_renames_and_other_repositories() {
        let repository = Repository::new();
        repository.write("a", "a long text that a rename is seen by\n");
        repository.write("b", "b\n");
        repository.git("add -A");
        repository.git("commit -q -m base");
        repository.git("mv a c");
        std::fs::remove_file(repository.0.path().join("b")).unwrap();
        repository.git("init -q nested");
        repository.write("nested/x", "x\n");
        assert_eq!(repository.left_out(), ["nested/"]);
        assert_eq!(repository.git("ls-files"), "c");
        repository.write("c", &key());
        repository.git("mv c d");
        assert_eq!(repository.left_out(), ["d", "nested/"]);
        assert_eq!(repository.git("ls-files"), "c");
    }

    #[test]
    fn a_merge_is_not_resolved_by_a_commit() {
        let repository = Repository::new();
        repository.write("a", "1\n");
        repository.git("add -A");
        repository.git("commit -q -m base");
        repository.git("checkout -q -b other");
        repository.write("a", "2\n");
        repository.git("commit -q -a -m two");
        repository.git("checkout -q -");
        repository.write("a", "3\n");
        repository.git("commit -q -a -m three");
        repository.git("merge -q other");
        assert_eq!(repository.commit(), Err(NotCommitted::Unmerged(vec!["a".to_owned()])));
        assert_eq!(repository.git("status --porcelain"), "UU a");
    }

    #[test]
    fn a_hook_that_refuses_is_reported() {
        let repository = Repository::new();
        repository.write("a", "1\n");
        repository.hook("echo 'tests fail' >&2\nexit 1");
        let failed = repository.commit();
        assert!(
            matches!(&failed, Err(NotCommitted::Commit(git)) if git.words.contains("tests fail")),
            "{failed:?}"
        );
        let nowhere = tempfile::tempdir().unwrap();
        assert!(matches!(commit(nowhere.path(), "m"), Err(NotCommitted::Status(_))));
    }
}
