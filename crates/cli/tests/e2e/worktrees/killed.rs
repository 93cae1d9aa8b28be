//! Killed at every step: the next call finds out how far it came, and nothing is lost or done twice.

use std::fs;

use super::{Repo, commit, in_tree, write};

const STEP: &str = "DOGWATCH_TEST_DIE_AT_STEP";

/// Calls until the command no longer dies: with the `n`th step as the last one of each try. Returns how many steps there are.
fn dying_at_each(each: impl Fn(u32) -> bool) -> u32 {
    for n in 1..200 {
        if !each(n) {
            return n - 1;
        }
    }
    panic!("it does not come to an end");
}

#[test]
fn spawn_killed_at_every_step() {
    let repo = Repo::new();
    repo.write(".dogwatch.toml", "copy = ['.env']\nsetup = 'true'\n[values]\nSLOT = '7'\n");
    repo.write(".env", "x");
    repo.write(".gitignore", ".env\n");
    repo.commit("settings");
    let _ = repo.dogwatch(&["trust"]).success();
    let steps = dying_at_each(|n| {
        let name = format!("x{n}");
        let mut command =
            repo.command(&["spawn", "--json", "--name", &name, "--worktree", "--", "sleep", "300"]);
        let died = repo.env.run(command.env(STEP, n.to_string())).code.is_none();
        // The next call: the only number is free, no tree or branch of the dead one is left.
        let next = repo.dogwatch(&[
            "spawn",
            "--json",
            "--name",
            &name,
            "--worktree",
            "--",
            "sleep",
            "300",
        ]);
        let next = if died {
            in_tree(next.success().json())
        } else {
            in_tree(repo_worktree(&repo, &name))
        };
        let branch = next.branch.clone();
        assert_eq!(repo.branches(), format!("{branch}\nmain"), "step {n}");
        assert_eq!(repo.trees(), 2, "step {n}");
        let _ = repo.finish(&[&name, "--discard", "--yes", "--kill"]).success();
        let folder = next.folder.parent().unwrap().to_owned();
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0, "step {n}");
        assert_eq!((repo.branches().as_str(), repo.trees()), ("main", 1), "step {n}");
        died
    });
    assert!(steps >= 6, "{steps}");
}

/// What `spawn` would have printed.
fn repo_worktree(repo: &Repo, name: &str) -> serde_json::Value {
    let diff = repo.dogwatch(&["diff", name, "--json"]).success().json();
    serde_json::json!({ "id": diff["id"], "worktree": diff["worktree"] })
}

#[test]
fn merge_killed_at_every_step() {
    finish_killed_at_every_step("--merge", true);
}

#[test]
fn rebase_killed_at_every_step() {
    finish_killed_at_every_step("--rebase", true);
}

#[test]
fn squash_killed_at_every_step() {
    finish_killed_at_every_step("--squash", false);
}

#[test]
fn discard_killed_at_every_step() {
    finish_killed_at_every_step("--discard", false);
}

/// `moved`: the target has moved on.
fn finish_killed_at_every_step(way: &str, moved: bool) {
    let repo = Repo::new();
    let yes: &[&str] = if way == "--discard" { &["--yes"] } else { &[] };
    let steps = dying_at_each(|n| {
        let name = format!("x{n}");
        let tree = repo.worked(&name, &name, "work\n");
        if way == "--discard" {
            write(&tree.folder, "draft", "d\n");
        }
        if moved {
            repo.write(&format!("m{n}"), "m\n");
            repo.commit("meanwhile");
        }
        let commits = count(&repo);
        let args = [&["finish", &name, way, "--json"][..], yes].concat();
        let mut command = repo.command(&args);
        let died = repo.env.run(command.env(STEP, n.to_string())).code.is_none();
        if died {
            // Nothing is lost in between: the work is on its branch or in the target.
            if way != "--discard" {
                let on_branch = repo.git(&["log", "--branches", "--format=%H", "--", &name]);
                assert!(!on_branch.is_empty(), "{way} {n}");
            }
            let _ = repo.dogwatch(&args).success();
        }
        assert!(!tree.folder.exists(), "{way} {n}");
        assert_eq!((repo.branches().as_str(), repo.trees()), ("main", 1), "{way} {n}");
        assert_eq!(repo.git(&["status", "--porcelain"]), "", "{way} {n}");
        assert_eq!(repo.top().join(&name).exists(), way != "--discard", "{way} {n}");
        let wanted = match way {
            "--merge" => 2,
            "--discard" => 0,
            _ => 1,
        };
        assert_eq!(count(&repo), commits + wanted, "{way} {n}: done once");
        let folder = tree.folder.parent().unwrap().to_owned();
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0, "{way} {n}");
        died
    });
    assert!(steps >= 6, "{way}: {steps}");
}

fn count(repo: &Repo) -> u32 {
    repo.git(&["rev-list", "--count", "main"]).parse().unwrap()
}

/// Killed, and then another way was asked for, or more work was done.
#[test]
fn the_next_call_may_want_something_else() {
    let repo = Repo::new();
    for n in 1..12 {
        let name = format!("x{n}");
        let tree = repo.worked(&name, &name, "work\n");
        let commits = count(&repo);
        let mut command = repo.command(&["finish", &name, "--squash"]);
        let _ = repo.env.run(command.env(STEP, n.to_string()));
        if tree.folder.exists() {
            // What was written after the kill is not lost.
            write(&tree.folder, "late", &name);
            let output = repo.finish(&[&name, "--merge"]);
            assert_eq!(output.json()["error"]["code"], "uncommitted", "{n}: {output}");
            assert_eq!(fs::read_to_string(tree.folder.join("late")).unwrap(), name);
            commit(&repo.env, &tree.folder, "late");
            let _ = repo.finish(&[&name, "--merge"]).success();
            assert_eq!(fs::read_to_string(repo.top().join("late")).unwrap(), name);
        } else {
            // `gc` completes it, too.
            let _ = repo.dogwatch(&["gc", "--older-than", "0s"]).success();
            assert_eq!(count(&repo), commits + 1, "{n}");
        }
        assert!(repo.top().join(&name).exists(), "{n}");
        assert_eq!((repo.branches().as_str(), repo.trees()), ("main", 1), "{n}");
    }
}
