//! Saves the work of an item that was given up on a branch, and restores the tree.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use dogwatch_base::git::status::Change;
use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_store::ProjectFile;

use super::{LIMIT, Tree, program};
use crate::Error;
use crate::worktree::claim::Wanted;
use crate::worktree::remove::{Removable, Removal, remove};
use dogwatch_base::git::{self, PATHS_FROM_INPUT, literal};
use dogwatch_base::program::Ended;
use dogwatch_bmad::why_not;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::workflow) struct Aside {
    /// Number of files.
    pub(in crate::workflow) files: u32,
    /// Files that stay in the tree, with the reason.
    pub(in crate::workflow) left: Vec<String>,
}

impl Tree {
    /// Commits every change that is not in `before` to a separate branch, and reverts it in the tree. Only what is in that commit
    /// is removed. A person's earlier changes, nested repositories and files that look like secrets stay.
    pub(in crate::workflow) fn set_aside(
        &self,
        branch: &str,
        message: &str,
        before: &BTreeMap<String, String>,
    ) -> Result<Aside, Error> {
        let mut aside = Aside::default();
        let mut ours: Vec<Vec<u8>> = Vec::new();
        for change in self.changed()? {
            let shown = change.shown();
            match self.why_not_aside(&change, before)? {
                Stays::Untouched => {}
                Stays::Because(why) => aside.left.push(format!("{shown} ({why})")),
                Stays::Not => {
                    ours.push(change.path);
                    ours.extend(change.from);
                }
            }
        }
        if ours.is_empty() {
            return Ok(aside);
        }
        let commit = self.commit_aside(branch, message, &ours)?;
        aside.files = self.take_out(&commit)?;
        Ok(aside)
    }

    fn why_not_aside(
        &self,
        change: &Change,
        before: &BTreeMap<String, String>,
    ) -> Result<Stays, Error> {
        if change.is_unmerged() {
            return Ok(Stays::Because("unresolved merge conflict".into()));
        }
        if let Some(mark) = before.get(&change.shown()) {
            return Ok(if self.marks(std::slice::from_ref(change))?.contains(mark) {
                Stays::Untouched
            } else {
                Stays::Because("it had uncommitted changes of yours".into())
            });
        }
        Ok(why_not(&self.tree, change).map_or(Stays::Not, Stays::Because))
    }

    /// Commits these files on top of the branch, or of HEAD; does not touch the tree's index.
    fn commit_aside(
        &self,
        branch: &str,
        message: &str,
        paths: &[Vec<u8>],
    ) -> Result<String, Error> {
        let index = self.git_dir()?.join(format!("dogwatch-aside-{}", std::process::id()));
        let made = self.commit_with(&index, branch, message, paths);
        std::fs::remove_file(&index).logged_unless_missing("remove a file");
        made
    }

    fn commit_with(
        &self,
        index: &Path,
        branch: &str,
        message: &str,
        paths: &[Vec<u8>],
    ) -> Result<String, Error> {
        let ask = |args: &[&str], input: &[u8]| -> Result<String, Error> {
            let said = self.git_with(index, args, input)?;
            self.answer(args, &said).map(|text| text.trim().to_owned())
        };
        let head = self.head();
        match &head {
            Some(head) => ask(&["read-tree", head], b"")?,
            None => ask(&["read-tree", "--empty"], b"")?,
        };
        let paths: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
        ask(&[&["add", "-A"][..], &PATHS_FROM_INPUT].concat(), &literal(&paths))?;
        let tree = ask(&["write-tree"], b"")?;
        let mut args = vec!["commit-tree", &tree, "-m", message];
        let parent = self.commit_of(&format!("refs/heads/{branch}")).or(head);
        if let Some(parent) = &parent {
            args.extend(["-p", parent]);
        }
        let commit = ask(&args, b"")?;
        let name = format!("refs/heads/{branch}");
        ask(&["update-ref", "-m", "dogwatch: set aside", &name, &commit], b"")?;
        Ok(commit)
    }

    fn git_with(&self, index: &Path, args: &[&str], input: &[u8]) -> Result<Ended, Error> {
        let mut command = git::command(self.tree.top());
        command.args(["-c", "core.quotepath=off"]).args(args);
        command.env("GIT_INDEX_FILE", index).env("LC_ALL", "C.UTF-8");
        // The user may not have set a name in git; this commit is dogwatch's.
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "dogwatch");
            command.env(format!("GIT_{role}_EMAIL"), "dogwatch@localhost");
        }
        program::run(command, input, LIMIT).map_err(Error::io("run git"))
    }

    /// Reverts the files of that commit in the tree; returns how many.
    fn take_out(&self, commit: &str) -> Result<u32, Error> {
        let head = self.head();
        let args: Vec<&str> = match &head {
            Some(head) => {
                vec!["diff-tree", "-r", "-z", "--no-renames", "--name-status", head, commit]
            }
            None => vec!["ls-tree", "-r", "-z", "--format=A%x00%(path)", commit],
        };
        let said = self.git(&args, b"")?;
        self.answer(&args, &said)?;
        let bytes = said.stdout.bytes;
        let mut parts = bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty());
        let (mut new, mut old): (Vec<&[u8]>, Vec<&[u8]>) = (Vec::new(), Vec::new());
        while let (Some(status), Some(path)) = (parts.next(), parts.next()) {
            if status == b"A" { new.push(path) } else { old.push(path) }
        }
        if !old.is_empty() {
            let restore = ["restore", "--source=HEAD", "--staged", "--worktree"];
            let said = self.with_paths(&restore, &old)?;
            self.answer(&restore, &said)?;
        }
        if !new.is_empty() {
            let forget = ["rm", "--cached", "-q", "-f", "--ignore-unmatch"];
            let said = self.with_paths(&forget, &new)?;
            self.answer(&forget, &said)?;
        }
        for path in &new {
            self.remove(Path::new(OsStr::from_bytes(path)))?;
        }
        Ok(u32::try_from(new.len() + old.len()).unwrap_or(u32::MAX))
    }

    /// Removes a file that is saved elsewhere, and directories that become empty.
    fn remove(&self, path: &Path) -> Result<(), Error> {
        ProjectFile::below(self.tree.top(), path)
            .and_then(|file| file.unlink())
            .map_err(Error::io(format!("remove {}", path.display())))?;
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            if std::fs::remove_dir(self.tree.top().join(folder)).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Removes a worktree whose work was set aside and keeps its branch; removes the branch too if it has no commits of its own.
    pub(in crate::workflow) fn retire_worktree(
        &self,
        dir: &Path,
        branch: &str,
    ) -> Result<bool, Error> {
        let home = self.repository()?;
        let mark = dir.file_name().unwrap_or_default().to_string_lossy();
        let wanted = Wanted { common: &home.common, folder: dir, session: None, identity: None };
        let one = Removable {
            wanted,
            mark: &mark,
            // Setting aside moved its branch under it, so git sees changes.
            force: true,
        };
        if matches!(remove(one)?, Removal::Left(_)) {
            return Ok(true);
        }
        let Some(tip) = self.commit_of(&format!("refs/heads/{branch}")) else { return Ok(false) };
        if self.is_fine(&["merge-base", "--is-ancestor", &tip, "HEAD"])? {
            self.git(&["branch", "-q", "-D", branch], b"").logged("run git");
            return Ok(false);
        }
        Ok(true)
    }
}

enum Stays {
    /// Unchanged since before.
    Untouched,
    Because(String),
    Not,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::repository;
    use super::*;

    #[test]
    fn all_work_is_on_the_branch_and_the_tree_is_restored() {
        let (_tmp, tree) = repository();
        let at = |name: &str| tree.dir.join(name);
        fs::write(at("b"), "two\n").unwrap();
        fs::write(at("gone"), "x\n").unwrap();
        assert!(matches!(
            tree.commit("second", "Mark: 1", &BTreeMap::new()),
            Ok(super::super::GitOutcome::Done(_))
        ));
        fs::write(at("mine"), "draft").unwrap();
        fs::write(at("both"), "draft").unwrap();
        let before = tree.changes().unwrap();
        fs::write(at("both"), "draft and more").unwrap();
        fs::write(at("a"), "changed\n").unwrap();
        fs::remove_file(at("gone")).unwrap();
        fs::create_dir_all(at("new/deep")).unwrap();
        fs::write(at("new/deep/file ü*"), "new").unwrap();
        fs::write(at("staged"), "staged").unwrap();
        tree.ask(&["add", "staged"]).unwrap();
        tree.ask(&["mv", "b", "c"]).unwrap();
        fs::write(at(".env"), "KEY=1\n").unwrap();
        let aside = tree.set_aside("dogwatch/r/1.1", "kept", &before).unwrap();
        assert_eq!(aside.files, 6, "{aside:?}");
        assert_eq!(aside.left.len(), 2, "{aside:?}");
        assert!(aside.left[0].starts_with(".env (") && aside.left[1].starts_with("both ("));
        let left: Vec<String> = tree.changes().unwrap().into_keys().collect();
        assert_eq!(left, [".env", "both", "mine"]);
        assert_eq!(fs::read_to_string(at("a")).unwrap(), "one\n");
        assert!(
            at("gone").exists() && at("b").exists() && !at("c").exists() && !at("new").exists()
        );
        let kept = tree.ask(&["ls-tree", "-r", "--name-only", "-z", "dogwatch/r/1.1"]).unwrap();
        let kept: Vec<&str> = kept.split('\0').filter(|name| !name.is_empty()).collect();
        assert_eq!(kept, ["a", "c", "new/deep/file ü*", "staged"]);
        assert_eq!(tree.ask(&["show", "dogwatch/r/1.1:a"]).unwrap(), "changed");
        // Again, as the driver after a killed one does.
        fs::write(at("late"), "late").unwrap();
        assert_eq!(tree.set_aside("dogwatch/r/1.1", "kept", &before).unwrap().files, 1);
        assert_eq!(tree.ask(&["show", "dogwatch/r/1.1:late"]).unwrap(), "late");
        assert_eq!(tree.ask(&["show", "dogwatch/r/1.1~1:staged"]).unwrap(), "staged");
        assert_eq!(tree.set_aside("dogwatch/r/1.1", "kept", &before).unwrap().files, 0);
    }

    #[test]
    fn work_is_set_aside_in_a_repository_without_commits() {
        let tmp = tempfile::tempdir().unwrap();
        assert!(super::super::git_in(tmp.path(), &["init", "-q"], b"").unwrap().is_fine());
        let tree = Tree::of(tmp.path()).unwrap();
        fs::write(tmp.path().join("x"), "x").unwrap();
        assert_eq!(tree.set_aside("dogwatch/r/x", "kept", &BTreeMap::new()).unwrap().files, 1);
        assert!(!tmp.path().join("x").exists());
        assert_eq!(tree.ask(&["show", "dogwatch/r/x:x"]).unwrap(), "x");
    }
}
