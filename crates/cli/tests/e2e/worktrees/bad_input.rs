//! Each kind of repository and name that cannot be used, or not in full.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use dogwatch_testkit::{TestEnv, is_root, skip};

use super::{Repo, commit, git, refused, write};

/// Nothing may be left of a spawn that failed.
fn nothing_is_left(repo: &Repo) {
    assert_eq!(repo.trees(), 1);
    assert_eq!(repo.branches(), "main");
    let listed = repo.dogwatch(&["ls", "--all", "--json"]).success().json();
    assert_eq!(listed["sessions"], serde_json::json!([]));
    let trees = repo.env.state_dir().join("worktrees");
    let left: Vec<_> = walk(&trees);
    assert!(left.is_empty(), "{left:?}");
}

/// Files below a folder; empty folders do not count.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(walk(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn not_a_repository_or_not_one_that_can_be_used() {
    let env = TestEnv::new();
    let args = ["spawn", "--json", "--worktree", "--", "true"];
    fs::remove_dir_all(env.work().join(".git")).unwrap();
    refused(env.dogwatch(&args), "not_a_repository");
    git(&env, env.work(), &["init", "-q", "-b", "main"]);
    refused(env.dogwatch(&args), "no_commits");
    let bare = env.root().join("bare");
    fs::create_dir(&bare).unwrap();
    git(&env, &bare, &["init", "-q", "--bare"]);
    let in_folder = |folder: &Path| {
        let mut command = env.command(&args);
        env.run(command.current_dir(folder))
    };
    refused(in_folder(&bare), "bare_repository");
    refused(in_folder(&env.work().join(".git")), "bare_repository");
    assert!(!env.socket().exists(), "tmux was never started");
}

/// The usual way to keep many worktrees: they work although the repository itself is bare.
#[test]
fn a_worktree_of_a_bare_repository_is_a_worktree() {
    let repo = Repo::new();
    let bare = repo.env.root().join("bare.git");
    repo.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let main = repo.env.root().join("main");
    git(&repo.env, &bare, &["worktree", "add", "-q", main.to_str().unwrap(), "main"]);
    git(&repo.env, &bare, &["config", "user.name", "T"]);
    git(&repo.env, &bare, &["config", "user.email", "t@example.invalid"]);
    let tree = repo.spawn("x", &["--cwd", main.to_str().unwrap()]);
    write(&tree.folder, "b", "b\n");
    commit(&repo.env, &tree.folder, "work");
    let _ = repo.finish(&["x", "--merge", "--kill"]).success();
    assert_eq!(fs::read_to_string(main.join("b")).unwrap(), "b\n");
}

#[test]
fn names_that_are_options_or_worse() {
    let repo = Repo::new();
    for bad in
        ["-x", "--force", "a..b", "../../x", "a b", "a.lock", "@", "HEAD", "a~1", "refs/heads/x"]
    {
        let branch = format!("--worktree={bad}");
        refused(repo.dogwatch(&["spawn", "--json", &branch, "--", "true"]), "bad_branch");
    }
    for bad in ["--force", "-f", "nowhere", "a..b", "HEAD:a", "refs/heads/none"] {
        let base = format!("--base={bad}");
        let args = ["spawn", "--json", "--worktree=x", &base, "--", "true"];
        refused(repo.dogwatch(&args), "no_such_base");
    }
    // A prompt after the option is taken for a branch; the hint says what to do.
    let output = repo.dogwatch(&["spawn", "--worktree", "Fix the bug", "--", "true"]);
    assert!(output.stderr.contains("--worktree=BRANCH"), "{output}");
    // A branch below one that exists.
    repo.git(&["branch", "feature"]);
    let output = repo.dogwatch(&["spawn", "--json", "--worktree=feature/x", "--", "true"]);
    refused(output, "git");
    repo.git(&["branch", "-D", "feature"]);
    // A program that does not exist is found before anything is made.
    let _ = repo.dogwatch(&["spawn", "--worktree", "--", "no-such-program"]).code(7);
    let none = ["diff", "--json", "nobody"];
    refused(repo.dogwatch(&none), "no_such_session");
    nothing_is_left(&repo);
    repo.env.spawn_script("plain", "exec sleep 300");
    for args in [&["diff", "--json", "plain"][..], &["finish", "plain", "--keep", "--json"]] {
        refused(repo.dogwatch(args), "no_worktree");
    }
    let _ = repo.dogwatch(&["finish", "plain"]).code(2);
    let _ = repo.dogwatch(&["finish", "plain", "--merge", "--squash"]).code(2);
}

#[test]
fn a_detached_head_and_a_dirty_base() {
    let repo = Repo::new();
    repo.git(&["checkout", "-q", "--detach"]);
    repo.write("a", "changed\n");
    repo.write("new", "new\n");
    let args = ["spawn", "--name", "x", "--worktree", "--", "sleep", "300"];
    let output = repo.dogwatch(&args).success();
    assert!(output.stderr.contains("--into BRANCH"), "{output}");
    assert!(output.stderr.contains("2 changed files are not committed"), "{output}");
    let diff = repo.dogwatch(&["diff", "x", "--json"]).success().json();
    assert_eq!(diff["files"], serde_json::json!([]), "what was dirty is not in the worktree");
    let folder = diff["worktree"]["folder"].as_str().unwrap();
    write(folder.as_ref(), "b", "b\n");
    commit(&repo.env, folder.as_ref(), "work");
    let _ = repo.dogwatch(&["kill", "--now", "x"]).success();
    refused(repo.finish(&["x", "--merge"]), "no_target");
    let _ = repo.finish(&["x", "--merge", "--into", "main"]).success();
    assert_eq!(repo.git(&["show", "main:b"]), "b");
    assert_eq!(repo.git(&["status", "--porcelain"]), "M a\n?? new", "the tree is as it was");
}

#[test]
fn submodules_stay_where_their_commits_are() {
    let repo = Repo::new();
    let lib = repo.env.root().join("lib");
    fs::create_dir(&lib).unwrap();
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "T"],
        &["config", "user.email", "t@example.invalid"],
        &["commit", "-q", "--allow-empty", "-m", "lib"],
    ] {
        git(&repo.env, &lib, args);
    }
    let allow = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add", lib.to_str().unwrap(), "lib"];
    repo.git(&[&allow[..], &add].concat());
    repo.commit("with a submodule");
    let args = ["spawn", "--name", "x", "--worktree", "--", "sleep", "300"];
    let output = repo.dogwatch(&args).success();
    assert!(output.stderr.contains("submodules are not checked out"), "{output}");
    let diff = repo.dogwatch(&["diff", "x", "--json"]).success().json();
    let folder = PathBuf::from(diff["worktree"]["folder"].as_str().unwrap());
    let update = ["submodule", "--quiet", "update", "--init"];
    git(&repo.env, &folder, &[&allow[..], &update].concat());
    // A commit in the submodule that exists nowhere else.
    let sub = folder.join("lib");
    for args in [
        &["config", "user.name", "T"][..],
        &["config", "user.email", "t@example.invalid"],
        &["commit", "-q", "--allow-empty", "-m", "precious"],
    ] {
        git(&repo.env, &sub, args);
    }
    let _ = repo.dogwatch(&["kill", "--now", "x"]).success();
    refused(repo.finish(&["x", "--merge"]), "uncommitted");
    commit(&repo.env, &folder, "a newer lib");
    let done = repo.finish(&["x", "--merge"]).success().json();
    assert_eq!((&done["how"], &done["folder_removed"]), (&"merged".into(), &false.into()));
    assert!(done["notes"][0].as_str().unwrap().contains("submodules"), "{done}");
    assert_eq!(git(&repo.env, &sub, &["log", "-1", "--format=%s"]), "precious");
}

/// The disk of the worktrees is full: nothing is left, and the repository is as it was.
#[test]
fn no_space_for_a_worktree() {
    let repo = Repo::new();
    let Some(disk) = Disk::mount(&repo.env.root().join("disk"), "256k") else { return };
    repo.write("large", &"x".repeat(1024 * 1024));
    repo.commit("large");
    let config = repo.env.home().join(".config/dogwatch");
    fs::create_dir_all(&config).unwrap();
    let text = format!("[worktree]\nfolder = '{}'\n", disk.0.display());
    fs::write(config.join("config.toml"), text).unwrap();
    let output = repo.dogwatch(&["spawn", "--json", "--worktree", "--", "sleep", "300"]);
    let output = refused(output, "git");
    assert!(output.contains("No space left") || output.contains("unable to write"), "{output}");
    let left: Vec<_> = walk(&disk.0);
    assert!(left.is_empty(), "{left:?}");
    nothing_is_left(&repo);
}

/// The disk of the repository is full when the work is to be merged: both trees stay as they were, and later it is merged.
#[test]
fn no_space_to_finish() {
    let env = TestEnv::new();
    let Some(disk) = Disk::mount(&env.work().join("disk"), "4m") else { return };
    let repo = Repo::of(env, disk.0.clone());
    for way in ["--merge", "--rebase", "--squash"] {
        let name = &way[2..];
        let tree = repo.spawn(name, &[]);
        let _ = repo.dogwatch(&["kill", "--now", name]).success();
        write(&tree.folder, "a", &format!("{name}\n"));
        for number in 0..4 {
            let noise = (0..20_000_u32).map(|n| n.wrapping_mul(2_654_435_761 + number).to_string());
            write(&tree.folder, &format!("new/{name}/{number}"), &noise.collect::<String>());
        }
        commit(&repo.env, &tree.folder, "work");
        let before = repo.state();
        // Room for the commit and some of the files, and not for all.
        for room in [0, 600_000] {
            disk.fill(room);
            let output = refused(repo.finish(&[name, way]), "git");
            let words = ["space", "unable to write", "couldn't write"];
            assert!(words.iter().any(|word| output.contains(word)), "{output}");
            disk.make_room();
            assert_eq!(repo.state(), before, "{way} {room}: {output}");
            assert!(!repo.top().join("new").join(name).exists());
        }
        let done = repo.finish(&[name, way]).success().json();
        assert_eq!(done["folder_removed"], true, "{done}");
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
        assert_eq!(fs::read_to_string(repo.top().join("a")).unwrap(), format!("{name}\n"));
        repo.git(&["rm", "-rq", "new"]);
        repo.git(&["commit", "-qm", "smaller"]);
        repo.git(&["reflog", "expire", "--all", "--expire=now"]);
        repo.git(&["gc", "-q", "--prune=now"]);
    }
}

/// A small disk, unmounted on drop.
struct Disk(PathBuf);

impl Disk {
    /// `None`, with a word, where no disk can be made.
    fn mount(at: &Path, size: &str) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let options = format!("size={size}");
        let mounted = is_root()
            && Command::new("mount")
                .args(["-t", "tmpfs", "-o", &options, "none"])
                .arg(at)
                .output()
                .is_ok_and(|output| output.status.success());
        if !mounted {
            skip::skipped(None, "only root can mount a small disk, where mounting is allowed");
            return None;
        }
        Some(Self(at.to_owned()))
    }

    /// Leaves about this many bytes free.
    fn fill(&self, room: u64) {
        let mut ballast = fs::File::create(self.0.join(".git/ballast")).unwrap();
        for size in [65536, 4096, 512, 1] {
            let block = vec![b'x'; size];
            while ballast.write_all(&block).is_ok() {}
        }
        let length = ballast.metadata().unwrap().len();
        ballast.set_len(length - room).unwrap();
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join(".git/ballast")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// A repository of the project's own choice cannot make dogwatch run its programs.
#[test]
fn programs_that_an_agent_put_into_git_do_not_run() {
    let repo = Repo::new();
    let ran = repo.env.root().join("ran");
    let script = format!("#!/bin/sh\necho $0 >> '{}'\n", ran.display());
    let tree = repo.worked("x", "b", "b\n");
    let hooks = repo.top().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let program =
        repo.env.write_program("monitor", &format!("echo monitor >> '{}'", ran.display()));
    for hook in [
        "pre-commit",
        "post-commit",
        "post-checkout",
        "post-merge",
        "pre-rebase",
        "commit-msg",
        "prepare-commit-msg",
        "pre-merge-commit",
        "post-rewrite",
        "reference-transaction",
        "post-index-change",
        "pre-auto-gc",
    ] {
        let path = hooks.join(hook);
        fs::write(&path, &script).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let file = repo.top().join(".git/config");
    let config = fs::read_to_string(&file).unwrap();
    let program = program.display();
    let more = format!("[core]\n\tfsmonitor = {program}\n[diff]\n\texternal = {program}\n");
    fs::write(&file, config + &more).unwrap();
    // With a target that moved on, so that all is used: a scratch tree, a rebase, a fast-forward.
    write(repo.top(), "c", "c\n");
    let mut plain = repo.env.foreign("git");
    plain
        .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
        .current_dir(repo.top());
    let _ = repo.env.run(plain.args(["add", "c"])).success();
    let mut plain = repo.env.foreign("git");
    plain
        .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
        .current_dir(repo.top());
    let _ = repo.env.run(plain.args(["commit", "-q", "-m", "meanwhile"])).success();
    let _ = repo.dogwatch(&["diff", "x"]).success();
    let _ = repo.dogwatch(&["diff", "x", "--json"]).success();
    let _ = repo.finish(&["x", "--rebase"]).success();
    let other = repo.spawn("y", &[]);
    let _ = repo.finish(&["y", "--discard", "--yes", "--kill"]).success();
    assert!(!tree.folder.exists() && !other.folder.exists());
    assert_eq!(fs::read_to_string(&ran).unwrap_or_default(), "");
}
