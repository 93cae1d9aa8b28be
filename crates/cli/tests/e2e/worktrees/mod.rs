//! A worktree per agent: real git, real tmux, real processes.

mod bad_input;
mod diff;
mod finish;
mod forge;
mod killed;
mod replaced;
mod reused;
mod settings;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dogwatch_testkit::{CommandOutput, TestEnv};
use serde_json::Value;

/// A repository with one commit on `main`, in the work folder of a test.
pub(crate) struct Repo {
    pub(crate) env: TestEnv,
    top: PathBuf,
}

/// A session in a worktree.
pub(crate) struct InTree {
    pub(crate) id: String,
    pub(crate) folder: PathBuf,
    pub(crate) branch: String,
    pub(crate) said: Value,
}

impl Repo {
    pub(crate) fn new() -> Self {
        Self::at("")
    }

    /// In a folder below the work folder.
    pub(crate) fn at(name: &str) -> Self {
        let env = TestEnv::new();
        let top = if name.is_empty() { env.work().to_owned() } else { env.work().join(name) };
        fs::create_dir_all(&top).unwrap();
        Self::of(env, top)
    }

    pub(crate) fn of(env: TestEnv, top: PathBuf) -> Self {
        let repo = Self { env, top };
        repo.init();
        repo
    }

    fn init(&self) {
        self.git(&["init", "-q", "-b", "main"]);
        self.git(&["config", "user.name", "T"]);
        self.git(&["config", "user.email", "t@example.invalid"]);
        self.write("a", "one\n");
        self.commit("first");
    }

    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        write(&self.top, name, text);
    }

    pub(crate) fn commit(&self, message: &str) {
        commit(&self.env, &self.top, message);
    }

    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.env, &self.top, args)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.env.command(args);
        command.current_dir(&self.top);
        command
    }

    pub(crate) fn dogwatch(&self, args: &[&str]) -> CommandOutput {
        self.env.run(&mut self.command(args))
    }

    /// Starts a command that waits, in a worktree.
    #[track_caller]
    pub(crate) fn spawn(&self, name: &str, args: &[&str]) -> InTree {
        let mut all = vec!["spawn", "--json", "--name", name, "--worktree"];
        all.extend(args);
        all.extend(["--", "sleep", "300"]);
        in_tree(self.dogwatch(&all).success().json())
    }

    /// The same, with a commit of its own, and ended.
    #[track_caller]
    pub(crate) fn worked(&self, name: &str, file: &str, text: &str) -> InTree {
        let tree = self.spawn(name, &[]);
        write(&tree.folder, file, text);
        commit(&self.env, &tree.folder, &format!("work of {name}"));
        let _ = self.dogwatch(&["kill", "--now", name]).success();
        tree
    }

    pub(crate) fn finish(&self, args: &[&str]) -> CommandOutput {
        let mut all = vec!["finish", "--json"];
        all.extend(args);
        self.dogwatch(&all)
    }

    /// What no failed call may change: branches, both trees, worktrees.
    pub(crate) fn state(&self) -> String {
        let mut text = self.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
        for line in self.git(&["worktree", "list", "--porcelain"]).lines() {
            text.push('\n');
            text.push_str(line);
            if let Some(path) = line.strip_prefix("worktree ") {
                text.push_str(&git(&self.env, Path::new(path), &["status", "--porcelain"]));
            }
        }
        text
    }

    pub(crate) fn branches(&self) -> String {
        self.git(&["branch", "--list", "--format=%(refname:short)"])
    }

    pub(crate) fn trees(&self) -> usize {
        self.git(&["worktree", "list"]).lines().count()
    }
}

pub(crate) fn in_tree(said: Value) -> InTree {
    let text = |key: &str| said["worktree"][key].as_str().unwrap().to_owned();
    let (folder, branch) = (text("folder").into(), text("branch"));
    InTree { id: said["id"].as_str().unwrap().to_owned(), folder, branch, said }
}

pub(crate) fn write(top: &Path, name: &str, text: &str) {
    let path = top.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[track_caller]
pub(crate) fn git(env: &TestEnv, dir: &Path, args: &[&str]) -> String {
    let mut command = env.foreign("git");
    command.args(args).current_dir(dir);
    env.run(&mut command).success().text().trim().to_owned()
}

#[track_caller]
pub(crate) fn commit(env: &TestEnv, dir: &Path, message: &str) {
    git(env, dir, &["add", "-A"]);
    git(env, dir, &["commit", "-q", "-m", message]);
}

#[track_caller]
pub(crate) fn refused(output: CommandOutput, code: &str) -> String {
    assert_ne!(output.code, Some(0), "{output}");
    assert_eq!(output.json()["error"]["code"], code, "{output}");
    output.to_string()
}

/// A session lives in its own tree, on its own branch, and the user's tree is as it was.
#[test]
fn an_agent_has_a_tree_of_its_own() {
    let repo = Repo::new();
    let one = repo.spawn("api", &[]);
    let two = repo.spawn("web", &["feature/größe"]);
    assert_eq!(one.branch, "dogwatch/api");
    assert_eq!(two.branch, "feature/größe");
    assert!(one.folder.starts_with(repo.env.state_dir().join("worktrees")));
    assert_ne!(one.folder, two.folder);
    for tree in [&one, &two] {
        assert_eq!(fs::read_to_string(tree.folder.join("a")).unwrap(), "one\n");
        assert_eq!(tree.said["cwd"].as_str().unwrap(), tree.folder.to_str().unwrap());
        assert_eq!(tree.said["worktree"]["into"], "main");
    }
    assert_eq!(git(&repo.env, &two.folder, &["branch", "--show-current"]), "feature/größe");
    // It belongs to the project that it was made from.
    let seen = repo.env.seen("api");
    assert_eq!(seen["project"].as_str().unwrap(), repo.top().to_str().unwrap());
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(repo.git(&["branch", "--show-current"]), "main");
    assert_eq!(repo.trees(), 3);
}

/// In a folder of the user's choice, which may be in the project itself.
#[test]
fn the_folder_is_configurable() {
    let repo = Repo::at("my ünï project");
    let config = repo.env.home().join(".config/dogwatch");
    fs::create_dir_all(&config).unwrap();
    let set = |folder: &str| {
        fs::write(config.join("config.toml"), format!("[worktree]\nfolder = '{folder}'\n"))
            .unwrap();
    };
    set("../{project}.trees");
    let beside = repo.spawn("beside", &[]);
    let wanted = repo.env.work().join("my-ünï-project.trees/dogwatch-beside");
    assert_eq!(beside.folder, wanted);
    set(".worktrees");
    let inside = repo.spawn("inside", &[]);
    assert_eq!(inside.folder, repo.top().join(".worktrees/dogwatch-inside"));
    assert_eq!(repo.git(&["status", "--porcelain"]), "", "it is not in the way");
    set("~/trees");
    let home = repo.spawn("home", &[]);
    assert_eq!(home.folder, repo.env.home().join("trees/dogwatch-home"));
    set("/x/{branch}");
    let args = ["spawn", "--json", "--worktree", "x", "--", "true"];
    refused(repo.dogwatch(&args), "bad_settings");
    for tree in [beside, inside, home] {
        write(&tree.folder, "b c/ü", "x\n");
        commit(&repo.env, &tree.folder, "work");
        let _ = repo.finish(&[&tree.branch, "--discard", "--yes", "--kill"]).success();
        assert!(!tree.folder.exists());
    }
    assert_eq!((repo.branches().as_str(), repo.trees()), ("main", 1));
}

/// From a folder of the project, in the same folder of the worktree, and with the base that was named.
#[test]
fn base_and_folder_are_those_that_were_asked_for() {
    let repo = Repo::new();
    repo.write("sub/dir/x", "x\n");
    repo.commit("second");
    repo.git(&["branch", "old", "HEAD~1"]);
    repo.git(&["tag", "v1", "HEAD~1"]);
    let sub = repo.env.work().join("sub/dir");
    let sub = sub.to_str().unwrap();
    let tree = repo.spawn("sub", &["--cwd", sub]);
    assert_eq!(tree.said["cwd"].as_str().unwrap(), tree.folder.join("sub/dir").to_str().unwrap());
    let old = repo.spawn("old", &["--base", "old"]);
    assert_eq!(old.said["worktree"]["into"], "old");
    assert!(!old.folder.join("sub").exists());
    let tag = repo.spawn("tag", &["--base", "v1"]);
    assert!(tag.said["worktree"]["into"].is_null());
    let _ = repo.dogwatch(&["kill", "--now", "tag"]).success();
    refused(repo.finish(&["tag", "--merge"]), "no_target");
    let _ = repo.finish(&["tag", "--merge", "--into", "old"]).success();
    // A worktree of a worktree.
    let nested = repo.spawn("nested", &["--cwd", old.folder.to_str().unwrap()]);
    assert_eq!(nested.said["worktree"]["into"], "dogwatch/old");
}

/// A branch that exists is continued on, unless it is in use.
#[test]
fn a_branch_that_exists() {
    let repo = Repo::new();
    repo.git(&["checkout", "-q", "-b", "feature"]);
    repo.write("f", "f\n");
    repo.commit("feature");
    let args = ["spawn", "--json", "--worktree", "feature", "--", "true"];
    let output = refused(repo.dogwatch(&args), "branch_checked_out");
    assert!(output.contains("$WORK"), "{output}");
    repo.git(&["checkout", "-q", "main"]);
    let with_base = ["spawn", "--json", "--worktree", "feature", "--base", "main", "--", "true"];
    refused(repo.dogwatch(&with_base), "branch_exists");
    let tree = repo.spawn("x", &["feature"]);
    assert!(tree.folder.join("f").exists());
    refused(repo.dogwatch(&args), "branch_checked_out");
    let diff = repo.dogwatch(&["diff", "x", "--name-only"]).success();
    assert_eq!(diff.text().trim(), "f");
    // It was not made for the session, so it stays.
    let done = repo.finish(&["x", "--discard", "--yes", "--kill"]).success().json();
    assert_eq!((&done["folder_removed"], &done["branch_removed"]), (&true.into(), &false.into()));
    assert_eq!(repo.branches(), "feature\nmain");
    // The name that is made from the session's is numbered.
    repo.git(&["branch", "dogwatch/api"]);
    assert_eq!(repo.spawn("api", &[]).branch, "dogwatch/api-2");
}
