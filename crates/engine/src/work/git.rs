//! git, as far as a run needs it. Whatever is begun here may have been begun before by somebody who was killed, and is looked
//! for first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dogwatch_core::story::left_out;

use super::program::{self, Said};
use crate::Error;

/// Hooks of a repository may run all its tests.
const LIMIT: Duration = Duration::from_mins(30);
/// How long is waited for another git that is at it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A longer file is not read for keys: nobody writes one by hand.
const LONGEST_TEXT: u64 = 2 * 1024 * 1024;

/// A repository, or a worktree of it.
#[derive(Debug, Clone)]
pub struct Tree {
    dir: PathBuf,
}

/// How a commit or a merge went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Went {
    /// The commit that has it now.
    Well(String),
    /// There was nothing to be done.
    Nothing,
    Badly(String),
}

impl Tree {
    /// The tree that a folder is the root of, or is in.
    pub fn of(dir: &Path) -> Option<Self> {
        let tree = Self { dir: dir.to_owned() };
        let said = tree.git(&["rev-parse", "--is-inside-work-tree"]).ok()?;
        (said.is_fine() && said.out.trim() == "true").then_some(tree)
    }

    fn git(&self, args: &[&str]) -> Result<Said, Error> {
        let words: Vec<&str> =
            ["git", "-c", "core.quotepath=off"].iter().chain(args).copied().collect();
        let env = [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true"), ("LC_ALL", "C.UTF-8")];
        program::run(&words, &self.dir, &env, LIMIT).map_err(Error::io("run git"))
    }

    /// The answer of a git that must not fail.
    fn ask(&self, args: &[&str]) -> Result<String, Error> {
        let said = self.git(args)?;
        if said.is_fine() {
            return Ok(said.out.trim_end_matches('\n').to_owned());
        }
        let what = args.first().copied().unwrap_or_default();
        Err(Error::Git { what: what.to_owned(), dir: self.dir.clone(), said: said.complaint() })
    }

    /// The commit that is checked out; none in a new repository.
    pub fn head(&self) -> Option<String> {
        let said = self.git(&["rev-parse", "--verify", "-q", "HEAD"]).ok()?;
        said.is_fine().then(|| said.out.trim().to_owned())
    }

    /// Changed files with a mark of what is in them.
    pub fn changes(&self) -> Result<BTreeMap<String, String>, Error> {
        let text = self.ask(&["status", "--porcelain=v1", "-z", "--untracked-files=all"])?;
        let mut found = BTreeMap::new();
        let mut parts = text.split('\0').filter(|part| !part.is_empty());
        while let Some(part) = parts.next() {
            let (Some(state), Some(path)) = (part.get(..2), part.get(3..)) else { continue };
            if state.contains('R') || state.contains('C') {
                parts.next();
            }
            let said = self.git(&["hash-object", "--", path])?;
            let mark = if said.is_fine() { said.out.trim().to_owned() } else { "gone".into() };
            found.insert(path.to_owned(), mark);
        }
        Ok(found)
    }

    /// Commits everything but what was there before the run and is as it was. `mark` is a line that only this commit has.
    pub(super) fn commit(
        &self,
        message: &str,
        mark: &str,
        before: &BTreeMap<String, String>,
    ) -> Result<Went, Error> {
        let begun = Instant::now();
        loop {
            if let Some(sha) = self.marked(mark)? {
                return Ok(Went::Well(sha));
            }
            let changes = self.changes()?;
            let mut ours: Vec<&String> = changes
                .iter()
                .filter(|(path, now)| before.get(*path) != Some(now))
                .map(|(path, _)| path)
                .collect();
            let root = PathBuf::from(self.ask(&["rev-parse", "--show-toplevel"])?);
            ours.retain(|path| self.why_not(&root, path).is_none());
            if ours.is_empty() {
                return Ok(Went::Nothing);
            }
            let mut said = self.with_paths(&["add", "-A"], &ours)?;
            if said.is_fine() {
                // Only these, whatever else is in the index.
                let text = format!("{message}\n\n{mark}\n");
                said = self.with_paths(&["commit", "-q", "-m", &text], &ours)?;
            }
            if said.is_fine() {
                return Ok(self.head().map_or(Went::Nothing, Went::Well));
            }
            // One that was started by somebody who was killed may still be at it.
            let is_locked = said.err.contains("index.lock") || said.err.contains("cannot lock ref");
            if !is_locked || begun.elapsed() > PATIENCE {
                return Ok(self
                    .marked(mark)?
                    .map_or_else(|| Went::Badly(said.complaint()), Went::Well));
            }
            self.wait_for_lock();
        }
    }

    /// Changed files that are in no commit of ours, with the reason: they look like secrets.
    pub(super) fn left_out(&self) -> Result<Vec<String>, Error> {
        let root = PathBuf::from(self.ask(&["rev-parse", "--show-toplevel"])?);
        let changes = self.changes()?;
        let named = |path: &String| Some(format!("{path} {}", self.why_not(&root, path)?));
        Ok(changes.keys().filter_map(named).collect())
    }

    /// Why a file is left out, if it is. What is in the last commit already, somebody wanted there.
    fn why_not(&self, root: &Path, path: &str) -> Option<String> {
        let committed = self.git(&["show", &format!("HEAD:./{path}")]).ok().filter(Said::is_fine);
        if committed.is_none()
            && let Some(reason) = left_out::by_name(path)
        {
            return Some(reason.to_owned());
        }
        let file = root.join(path);
        if file.is_symlink() {
            return None;
        }
        let now = dogwatch_store::read_regular(&file, LONGEST_TEXT).ok()?;
        let now = std::str::from_utf8(&now).ok().filter(|text| !text.contains('\0'))?;
        left_out::by_content(now, committed.map(|said| said.out).unwrap_or_default().as_str())
    }

    pub(super) fn is_committed(&self, mark: &str) -> Result<bool, Error> {
        self.marked(mark).map(|found| found.is_some())
    }

    /// Paths in a file, for there may be more than a command line takes.
    fn with_paths(&self, args: &[&str], paths: &[&String]) -> Result<Said, Error> {
        let list = tempfile_in(&self.git_dir()?, paths)?;
        let from = format!("--pathspec-from-file={}", list.display());
        let words: Vec<&str> = ["--literal-pathspecs"]
            .iter()
            .chain(args)
            .copied()
            .chain([from.as_str(), "--pathspec-file-nul"])
            .collect();
        let said = self.git(&words);
        let _ = std::fs::remove_file(list);
        said
    }

    fn git_dir(&self) -> Result<PathBuf, Error> {
        Ok(self.dir.join(self.ask(&["rev-parse", "--absolute-git-dir"])?))
    }

    fn wait_for_lock(&self) {
        let Ok(dir) = self.git_dir() else { return };
        let lock = dir.join("index.lock");
        crate::sense::arrival::wait_in(&dir, Duration::from_secs(2), || {
            (!lock.exists()).then_some(())
        });
    }

    /// The commit of this branch that has the line, if one of the last has.
    fn marked(&self, mark: &str) -> Result<Option<String>, Error> {
        if self.head().is_none() {
            return Ok(None);
        }
        let found = self.ask(&[
            "log",
            "-n",
            "200",
            "--format=%H",
            "--fixed-strings",
            &format!("--grep={mark}"),
        ])?;
        Ok(found.lines().next().map(ToOwned::to_owned))
    }

    /// A worktree with a branch of its own that starts here. One of that name from before is thrown away.
    pub(super) fn add_worktree(&self, dir: &Path, branch: &str) -> Result<Self, Error> {
        self.remove_worktree(dir, branch);
        if let Some(parent) = dir.parent() {
            std::fs::create_dir_all(parent)
                .map_err(Error::io(format!("make {}", parent.display())))?;
        }
        self.ask(&["worktree", "add", "-q", "-f", "-B", branch, &dir.to_string_lossy(), "HEAD"])?;
        Ok(Self { dir: dir.to_owned() })
    }

    pub(super) fn remove_worktree(&self, dir: &Path, branch: &str) {
        let _ = self.git(&["worktree", "remove", "--force", "--force", &dir.to_string_lossy()]);
        let _ = std::fs::remove_dir_all(dir);
        let _ = self.git(&["worktree", "prune"]);
        let _ = self.git(&["branch", "-q", "-D", branch]);
    }

    /// Brings a branch home. `mend` may settle files that both sides changed: base, ours, theirs in, the text of both out.
    pub(super) fn merge(
        &self,
        branch: &str,
        message: &str,
        mend: impl Fn(&str, [&str; 3]) -> Option<String>,
    ) -> Result<Went, Error> {
        let begun = Instant::now();
        loop {
            if !self.git(&["rev-parse", "--verify", "-q", branch])?.is_fine() {
                return Ok(Went::Nothing);
            }
            if self.git(&["merge-base", "--is-ancestor", branch, "HEAD"])?.is_fine() {
                return Ok(self.head().map_or(Went::Nothing, Went::Well));
            }
            if self.git(&["rev-parse", "--verify", "-q", "MERGE_HEAD"])?.is_fine() {
                // Left by somebody who was killed.
                let _ = self.git(&["merge", "--abort"]);
            }
            let said = self.git(&["merge", "-q", "--no-ff", "-m", message, branch])?;
            if said.is_fine() || self.mended(&mend)? {
                return Ok(self.head().map_or(Went::Nothing, Went::Well));
            }
            let unmerged =
                self.ask(&["diff", "--name-only", "--diff-filter=U"]).unwrap_or_default();
            let _ = self.git(&["merge", "--abort"]);
            if !said.err.contains("index.lock") || begun.elapsed() > PATIENCE {
                let files = unmerged.lines().collect::<Vec<_>>().join(", ");
                let why = if files.is_empty() {
                    said.complaint()
                } else {
                    format!("both changed {files}")
                };
                return Ok(Went::Badly(why));
            }
            self.wait_for_lock();
        }
    }

    fn mended(&self, mend: impl Fn(&str, [&str; 3]) -> Option<String>) -> Result<bool, Error> {
        let unmerged = self.ask(&["diff", "--name-only", "--diff-filter=U"])?;
        if unmerged.is_empty() {
            return Ok(false);
        }
        let root = PathBuf::from(self.ask(&["rev-parse", "--show-toplevel"])?);
        for path in unmerged.lines() {
            let stage = |n: u8| self.ask(&["show", &format!(":{n}:{path}")]);
            let (Ok(base), Ok(ours), Ok(theirs)) = (stage(1), stage(2), stage(3)) else {
                return Ok(false);
            };
            let Some(text) = mend(path, [&base, &ours, &theirs]) else { return Ok(false) };
            let file = root.join(path);
            std::fs::write(&file, text).map_err(Error::io(format!("write {}", file.display())))?;
            self.ask(&["add", "--", &file.to_string_lossy()])?;
        }
        Ok(self.git(&["commit", "-q", "--no-edit"])?.is_fine())
    }

    /// Whether git knows the file.
    pub fn has(&self, path: &str) -> bool {
        self.git(&["ls-files", "--error-unmatch", "--", path]).is_ok_and(|said| said.is_fine())
    }

    /// Keeps files that are ours out of what git sees, without touching a file that the project shares.
    pub fn exclude(&self, pattern: &str) -> Result<(), Error> {
        let common = self.ask(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        let path = Path::new(&common).join("info/exclude");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text.lines().any(|line| line.trim() == pattern) {
            return Ok(());
        }
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        if let Some(info) = path.parent() {
            let _ = std::fs::create_dir_all(info);
        }
        dogwatch_store::replace(&path, format!("{text}{gap}{pattern}\n").as_bytes())?;
        Ok(())
    }
}

fn tempfile_in(dir: &Path, paths: &[&String]) -> Result<PathBuf, Error> {
    let path = dir.join(format!("dogwatch-paths-{}", uuid::Uuid::new_v4().simple()));
    let mut text = Vec::new();
    for one in paths {
        text.extend_from_slice(one.as_bytes());
        text.push(0);
    }
    std::fs::write(&path, text).map_err(Error::io(format!("write {}", path.display())))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn repository() -> (tempfile::TempDir, Tree) {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("repo");
        fs::create_dir(&dir).unwrap();
        let tree = Tree { dir };
        for args in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "T"],
            &["config", "user.email", "t@example.invalid"],
        ] {
            tree.ask(args).unwrap();
        }
        fs::write(tree.dir.join("a"), "one\n").unwrap();
        assert!(matches!(
            tree.commit("first", "Mark: 0", &BTreeMap::new()).unwrap(),
            Went::Well(_)
        ));
        (tmp, tree)
    }

    #[test]
    fn a_commit_is_made_once_and_without_what_was_there_before() {
        let (_tmp, tree) = repository();
        fs::write(tree.dir.join("mine"), "draft").unwrap();
        fs::write(tree.dir.join("both"), "draft").unwrap();
        let before = tree.changes().unwrap();
        fs::write(tree.dir.join("both"), "more").unwrap();
        fs::write(tree.dir.join("with space ü"), "x").unwrap();
        fs::write(tree.dir.join(".env"), "KEY=1\n").unwrap();
        fs::remove_file(tree.dir.join("a")).unwrap();
        let Went::Well(sha) = tree.commit("work", "Mark: 1", &before).unwrap() else { panic!() };
        assert_eq!(tree.changes().unwrap().into_keys().collect::<Vec<_>>(), [".env", "mine"]);
        assert!(tree.left_out().unwrap()[0].starts_with(".env "));
        fs::write(tree.dir.join("late"), "x").unwrap();
        assert_eq!(tree.commit("work", "Mark: 1", &before).unwrap(), Went::Well(sha));
        fs::remove_file(tree.dir.join("late")).unwrap();
        assert_eq!(tree.commit("work", "Mark: 2", &before).unwrap(), Went::Nothing);
        assert_eq!(Tree::of(Path::new("/")).map(|_| ()), None);
    }

    #[test]
    fn a_hook_that_refuses_is_heard() {
        use std::os::unix::fs::PermissionsExt;
        let (_tmp, tree) = repository();
        let hook = tree.dir.join(".git/hooks/pre-commit");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\necho not today >&2\nexit 1\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(tree.dir.join("b"), "x").unwrap();
        let went = tree.commit("work", "Mark: 1", &BTreeMap::new()).unwrap();
        assert_eq!(went, Went::Badly("not today".into()));
    }

    #[test]
    fn branches_come_home_once_or_say_what_is_in_the_way() {
        let (tmp, tree) = repository();
        let work = |name: &str, text: &str| {
            let side = tree.add_worktree(&tmp.path().join(name), name).unwrap();
            fs::write(side.dir.join("a"), text).unwrap();
            side.commit(name, &format!("Mark: {name}"), &BTreeMap::new()).unwrap();
        };
        work("x", "one\nx\n");
        work("y", "one\ny\n");
        let none = |_: &str, _: [&str; 3]| None;
        let Went::Well(sha) = tree.merge("x", "merge x", none).unwrap() else { panic!() };
        assert_eq!(tree.merge("x", "merge x", none).unwrap(), Went::Well(sha));
        assert_eq!(tree.merge("y", "merge y", none).unwrap(), Went::Badly("both changed a".into()));
        assert!(tree.changes().unwrap().is_empty(), "nothing is left of the attempt");
        let both = |_: &str, [_, ours, theirs]: [&str; 3]| Some(format!("{ours}\n{theirs}\n"));
        assert!(matches!(tree.merge("y", "merge y", both).unwrap(), Went::Well(_)));
        tree.remove_worktree(&tmp.path().join("x"), "x");
        assert!(!tmp.path().join("x").exists());
        assert_eq!(tree.merge("x", "merge x", none).unwrap(), Went::Nothing);
        tree.exclude("/.mark").unwrap();
        tree.exclude("/.mark").unwrap();
        fs::write(tree.dir.join(".mark"), "").unwrap();
        assert!(tree.changes().unwrap().is_empty());
    }
}
