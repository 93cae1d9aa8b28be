//! The work goes where it should, or everything stays as it was.

use std::fs;

use dogwatch_testkit::dogwatch;

use super::{Repo, commit, git, refused, write};

#[test]
fn merged_rebased_and_squashed() {
    for (way, moved) in [
        ("--merge", false),
        ("--merge", true),
        ("--rebase", false),
        ("--rebase", true),
        ("--squash", false),
        ("--squash", true),
    ] {
        let repo = Repo::new();
        let tree = repo.spawn("x", &[]);
        for n in ["1", "2"] {
            write(&tree.folder, n, "work\n");
            commit(&repo.env, &tree.folder, &format!("work {n}"));
        }
        if moved {
            repo.write("meanwhile", "m\n");
            repo.commit("meanwhile");
        }
        refused(repo.finish(&["x", way]), "session_lives");
        let done = repo.finish(&["x", way, "--kill"]).success().json();
        assert_eq!(done["killed"], serde_json::json!(["x"]));
        assert_eq!(done["into"], "main");
        assert_eq!(done["commit"].as_str().unwrap(), repo.git(&["rev-parse", "main"]));
        assert!(!tree.folder.exists(), "{way}");
        assert_eq!((repo.branches().as_str(), repo.trees()), ("main", 1));
        // The user's tree has it too.
        assert_eq!(fs::read_to_string(repo.top().join("2")).unwrap(), "work\n");
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
        let subjects = repo.git(&["log", "--format=%s", "--topo-order", "--reverse"]);
        let subjects: Vec<&str> = subjects.lines().collect();
        let parents = repo.git(&["log", "-1", "--format=%P"]).split(' ').count();
        match way {
            "--merge" => {
                assert_eq!(*subjects.last().unwrap(), "Merge branch 'dogwatch/x' into main");
                assert_eq!(parents, 2);
            }
            "--rebase" => {
                assert_eq!(subjects[subjects.len() - 2..], ["work 1", "work 2"]);
                assert_eq!(parents, 1);
            }
            _ => {
                assert_eq!(*subjects.last().unwrap(), "Work of x");
                assert_eq!((parents, subjects.len()), (1, if moved { 3 } else { 2 }));
                assert!(repo.git(&["log", "-1", "--format=%b"]).contains("- work 2"));
            }
        }
        refused(repo.finish(&["x", way]), "already_finished");
        refused(repo.finish(&["x", "--discard", "--yes"]), "already_finished");
    }
}

/// What users set for their own use of git changes nothing.
#[test]
fn settings_of_the_user() {
    for way in ["--merge", "--rebase", "--squash"] {
        for ff in ["false", "only"] {
            let repo = Repo::new();
            for (name, value) in [
                ("merge.ff", ff),
                ("merge.autoStash", "true"),
                ("rebase.updateRefs", "true"),
                ("rebase.autoSquash", "true"),
                ("rebase.rebaseMerges", "true"),
                ("rerere.enabled", "true"),
                ("rerere.autoUpdate", "true"),
                ("commit.cleanup", "strip"),
                ("commit.template", "/no/such"),
                ("core.editor", "false"),
                ("color.ui", "always"),
                ("status.showUntrackedFiles", "no"),
                ("status.relativePaths", "true"),
                ("diff.noPrefix", "true"),
                ("diff.external", "false"),
                ("log.showSignature", "true"),
                ("core.quotePath", "true"),
            ] {
                repo.git(&["config", name, value]);
            }
            let tree = repo.worked("x", "größe", "x\n");
            let middle = git(&repo.env, &tree.folder, &["rev-parse", "HEAD"]);
            repo.git(&["branch", "-q", "middle", &middle]);
            write(&tree.folder, "größe", "y\n");
            commit(&repo.env, &tree.folder, "fixup! work of x");
            repo.write("meanwhile", "m\n");
            repo.commit("meanwhile");
            // Hidden by the settings, and not lost.
            write(&tree.folder, "draft", "d\n");
            let output = refused(repo.finish(&["x", way]), "uncommitted");
            assert!(output.contains("draft"), "{output}");
            fs::remove_file(tree.folder.join("draft")).unwrap();
            let diff = repo.dogwatch(&["diff", "x"]).success().text();
            assert!(diff.contains("+++ b/") && !diff.contains('\u{1b}'), "{diff}");
            let mut args = vec!["x", way];
            if way != "--rebase" {
                args.extend(["-m", "#1 of x"]);
            }
            let _ = repo.finish(&args).success();
            assert_eq!(repo.git(&["rev-parse", "middle"]), middle, "{way} {ff}");
            assert_eq!(fs::read_to_string(repo.top().join("größe")).unwrap(), "y\n");
            let subjects = repo.git(&["log", "--format=%s", "-2"]);
            match way {
                "--rebase" => assert_eq!(subjects, "fixup! work of x\nwork of x"),
                _ => assert!(subjects.starts_with("#1 of x\n"), "{subjects}"),
            }
        }
    }
}

#[test]
fn a_message_of_ones_own_and_the_only_commits_message() {
    let repo = Repo::new();
    repo.worked("x", "x", "x\n");
    let _ = repo.finish(&["x", "--squash"]).success();
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "work of x");
    repo.worked("y", "y", "y\n");
    let _ = repo.finish(&["y", "--merge", "-m", "Take y in"]).success();
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "Take y in");
}

#[test]
fn a_conflict_changes_nothing_and_says_what_to_do() {
    let repo = Repo::new();
    let tree = repo.worked("x", "a", "one\nx\n");
    repo.write("a", "one\nmain\n");
    repo.commit("meanwhile");
    repo.write("draft", "d\n");
    let before = repo.state();
    for way in ["--merge", "--rebase", "--squash"] {
        let output = refused(repo.finish(&["x", way]), "merge_conflict");
        assert!(output.contains("git -C") && output.contains(" main"), "{output}");
        assert_eq!(repo.state(), before, "{way}");
        assert!(
            !repo.env.state_dir().join("worktrees").join(format!(".combine-{}", tree.id)).exists()
        );
    }
    // As the hint says.
    let mut merge = repo.env.foreign("git");
    let merge = merge.args(["merge", "-q", "main"]).current_dir(&tree.folder);
    assert_ne!(repo.env.run(merge).code, Some(0));
    refused(repo.finish(&["x", "--merge"]), "git_busy");
    write(&tree.folder, "a", "one\nboth\n");
    commit(&repo.env, &tree.folder, "resolved");
    let _ = repo.finish(&["x", "--merge"]).success();
    assert_eq!(fs::read_to_string(repo.top().join("a")).unwrap(), "one\nboth\n");
}

#[test]
fn nothing_uncommitted_is_lost() {
    let repo = Repo::new();
    let tree = repo.worked("x", "b", "b\n");
    for (name, text) in [("a", "changed\n"), ("new", "new\n")] {
        write(&tree.folder, name, text);
        let before = repo.state();
        for way in ["--merge", "--rebase", "--squash"] {
            let output = refused(repo.finish(&["x", way]), "uncommitted");
            assert!(output.contains(name), "{output}");
        }
        // It needs confirmation, and there is no terminal to ask on.
        refused(repo.finish(&["x", "--discard"]), "not_confirmed");
        assert_eq!(repo.state(), before);
        git(&repo.env, &tree.folder, &["stash", "-q", "-u"]);
    }
    write(&tree.folder, "new", "new\n");
    let kept = repo.finish(&["x", "--keep"]).success().json();
    assert_eq!(kept["how"], "kept");
    assert!(tree.folder.join("new").exists());
    let gc = repo.dogwatch(&["gc", "--older-than", "0s", "--json"]).success().json();
    assert_eq!(gc["worktrees"], serde_json::json!([]));
    assert!(tree.folder.join("new").exists());
    // What was kept can be finished later, by its branch if the session is forgotten.
    let done = repo.finish(&["dogwatch/x", "--discard", "--yes"]).success().json();
    assert_eq!((&done["folder_removed"], &done["branch_removed"]), (&true.into(), &true.into()));
    let tip = done["tip"].as_str().unwrap();
    repo.git(&["branch", "again", tip]);
    assert_eq!(repo.git(&["show", "again:b"]), "b", "its commits can be had back");
    // How, is said if there are any.
    repo.worked("y", "b", "y\n");
    let said = repo.dogwatch(&["finish", "y", "--discard", "--yes"]).success();
    assert!(said.stderr.contains("git branch dogwatch/y "), "{said}");
    repo.spawn("z", &[]);
    let said = repo.dogwatch(&["finish", "z", "--discard", "--yes", "--kill"]).success();
    assert!(!said.stderr.contains("git branch"), "{said}");
}

#[test]
fn the_target_is_dirty_or_busy() {
    let repo = Repo::new();
    repo.worked("x", "a", "one\nx\n");
    repo.write("a", "draft\n");
    let before = repo.state();
    refused(repo.finish(&["x", "--merge"]), "target_dirty");
    assert_eq!(repo.state(), before);
    assert_eq!(fs::read_to_string(repo.top().join("a")).unwrap(), "draft\n");
    repo.git(&["stash", "-q"]);
    // A rebase of the target is under way.
    repo.git(&["branch", "other"]);
    repo.write("z", "z\n");
    repo.commit("z");
    repo.git(&["checkout", "-q", "other"]);
    repo.write("z", "other\n");
    repo.commit("other z");
    repo.git(&["checkout", "-q", "main"]);
    let mut rebase = repo.env.foreign("git");
    let rebase = rebase.args(["rebase", "-q", "other"]).current_dir(repo.top());
    assert_ne!(repo.env.run(rebase).code, Some(0));
    refused(repo.finish(&["x", "--merge"]), "git_busy");
    repo.git(&["rebase", "--abort"]);
    // Changes of other files are no obstacle.
    repo.write("draft", "d\n");
    let _ = repo.finish(&["x", "--merge"]).success();
    assert_eq!(fs::read_to_string(repo.top().join("a")).unwrap(), "one\nx\n");
    assert_eq!(repo.git(&["status", "--porcelain"]), "?? draft");
}

/// The branch that gets the work need not be checked out.
#[test]
fn into_a_branch_that_is_not_checked_out() {
    let repo = Repo::new();
    repo.worked("x", "b", "b\n");
    repo.git(&["checkout", "-q", "-b", "elsewhere"]);
    let _ = repo.finish(&["x", "--squash"]).success();
    assert_eq!(repo.git(&["show", "main:b"]), "b");
    assert!(!repo.top().join("b").exists());
    repo.worked("y", "c", "c\n");
    refused(repo.finish(&["y", "--merge", "--into", "nowhere"]), "no_such_branch");
    refused(repo.finish(&["y", "--merge", "--into", "--force"]), "no_such_branch");
}

#[test]
fn what_was_deleted_or_moved_by_hand() {
    let repo = Repo::new();
    // The folder.
    let tree = repo.worked("folder", "b", "b\n");
    fs::remove_dir_all(&tree.folder).unwrap();
    let _ = repo.finish(&["folder", "--merge"]).success();
    assert_eq!((repo.branches().as_str(), repo.trees()), ("main", 1));
    // Something else has its place: it is left alone.
    let tree = repo.worked("replaced", "c", "c\n");
    fs::remove_dir_all(&tree.folder).unwrap();
    write(&tree.folder, "precious", "p\n");
    let done = repo.finish(&["replaced", "--discard", "--yes"]).success().json();
    assert_eq!(done["folder_removed"], false, "{done}");
    assert_eq!(fs::read_to_string(tree.folder.join("precious")).unwrap(), "p\n");
    // The branch.
    let tree = repo.worked("branch", "d", "d\n");
    git(&repo.env, &tree.folder, &["checkout", "-q", "--detach"]);
    repo.git(&["branch", "-q", "-D", "dogwatch/branch"]);
    refused(repo.finish(&["branch", "--merge"]), "other_branch");
    git(&repo.env, &tree.folder, &["checkout", "-q", "--detach", "main"]);
    refused(repo.finish(&["branch", "--merge"]), "other_branch");
    let _ = repo.finish(&["branch", "--discard", "--yes"]).success();
    assert!(!tree.folder.exists());
    // Another branch is checked out, with work.
    let tree = repo.worked("moved", "e", "e\n");
    git(&repo.env, &tree.folder, &["checkout", "-q", "-b", "own"]);
    write(&tree.folder, "f", "f\n");
    commit(&repo.env, &tree.folder, "on its own branch");
    refused(repo.finish(&["moved", "--merge"]), "other_branch");
    git(&repo.env, &tree.folder, &["checkout", "-q", "dogwatch/moved"]);
    let _ = repo.finish(&["moved", "--merge"]).success();
    // The target.
    repo.git(&["checkout", "-q", "-b", "temporary"]);
    repo.worked("target", "g", "g\n");
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["branch", "-q", "-D", "temporary"]);
    refused(repo.finish(&["target", "--merge"]), "no_such_branch");
    let _ = repo.finish(&["target", "--merge", "--into", "main"]).success();
    // The work tree that it was made from.
    let first = repo.spawn("first", &[]);
    let second = repo.spawn("second", &["--cwd", first.folder.to_str().unwrap()]);
    write(&second.folder, "h", "h\n");
    commit(&repo.env, &second.folder, "h");
    let _ = repo.finish(&["first", "--discard", "--yes", "--kill"]).success();
    let _ = repo.finish(&["second", "--merge", "--into", "main", "--kill"]).success();
    assert_eq!(repo.git(&["show", "main:h"]), "h");
    // A locked one.
    let tree = repo.worked("locked", "i", "i\n");
    repo.git(&["worktree", "lock", "--reason", "mine", tree.folder.to_str().unwrap()]);
    let done = repo.finish(&["locked", "--merge"]).success().json();
    assert!(done["notes"][0].as_str().unwrap().contains("locked"), "{done}");
    assert!(tree.folder.exists());
}

/// Two calls at once: one does it, the other says so.
#[test]
fn two_finishes_at_once() {
    let repo = Repo::new();
    for round in 0..3 {
        let name = format!("x{round}");
        repo.worked(&name, &name, "x\n");
        repo.write(&format!("m{round}"), "m\n");
        repo.commit("meanwhile");
        let ends: Vec<_> = std::thread::scope(|scope| {
            let ways = ["--merge", "--squash", "--rebase"];
            let call = |way| {
                scope.spawn({
                    let (repo, name) = (&repo, &name);
                    move || repo.finish(&[name, way])
                })
            };
            let begun: Vec<_> = ways.into_iter().map(call).collect();
            begun.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let well = ends.iter().filter(|end| end.code == Some(0)).count();
        assert_eq!(well, 1, "{ends:#?}");
        for end in ends.into_iter().filter(|end| end.code != Some(0)) {
            refused(end, "already_finished");
        }
        assert_eq!((repo.branches().as_str(), repo.trees()), ("main", 1));
    }
    // And two different ones into the same target.
    repo.worked("p", "p", "p\n");
    repo.worked("q", "q", "q\n");
    std::thread::scope(|scope| {
        for name in ["p", "q"] {
            let repo = &repo;
            scope.spawn(move || drop(repo.finish(&[name, "--merge"]).success()));
        }
    });
    assert!(repo.top().join("p").exists() && repo.top().join("q").exists());
}

#[test]
fn several_sessions_in_one_worktree() {
    let repo = Repo::new();
    let tree = repo.worked("x", "b", "b\n");
    let folder = tree.folder.to_str().unwrap();
    repo.env.spawn(&["--name", "second", "--cwd", folder, "--", "sleep", "300"]);
    let output = refused(repo.finish(&["x", "--merge"]), "session_lives");
    assert!(output.contains("second"), "{output}");
    let done = repo.finish(&["x", "--merge", "--kill"]).success().json();
    assert_eq!(done["killed"], serde_json::json!(["second"]));
}

/// Only what is merged or discarded; and a session whose worktree is open stays to be found.
#[test]
fn gc_removes_only_what_is_merged() {
    let repo = Repo::new();
    let open = repo.worked("open", "b", "b\n");
    let dirty = repo.worked("dirty", "c", "c\n");
    let merged = repo.worked("merged", "d", "d\n");
    repo.spawn("living", &[]);
    repo.git(&["merge", "-q", "--no-edit", "dogwatch/dirty"]);
    repo.git(&["merge", "-q", "--no-edit", "dogwatch/merged"]);
    write(&dirty.folder, "draft", "d\n");
    let gc = |args: &[&str]| {
        let mut all = vec!["gc", "--older-than", "0s", "--json"];
        all.extend(args);
        repo.dogwatch(&all).success().json()
    };
    let wanted = serde_json::json!([merged.folder.to_str().unwrap()]);
    assert_eq!(gc(&["--dry-run"])["worktrees"], wanted);
    assert!(merged.folder.exists());
    let collected = gc(&[]);
    assert_eq!(collected["worktrees"], wanted);
    assert_eq!(collected["sessions"], serde_json::json!(["merged"]), "{collected}");
    assert!(!merged.folder.exists() && open.folder.exists() && dirty.folder.exists());
    assert_eq!(repo.branches(), "dogwatch/dirty\ndogwatch/living\ndogwatch/open\nmain");
    let _ = repo.finish(&["open", "--merge"]).success();
    assert_eq!(gc(&[])["sessions"], serde_json::json!(["open"]));
}

/// An agent's results may be in files that git ignores: nobody can tell them from what a build leaves.
#[test]
fn gc_leaves_what_git_ignores() {
    let repo = Repo::new();
    repo.write(".gitignore", "/out/\n.env\n");
    repo.write(".env", "KEY=1\n");
    repo.commit("ignores");
    let trees = ["report", "same", "forgotten"].map(|name| {
        let tree = repo.spawn(name, &[]);
        let _ = repo.dogwatch(&["kill", "--now", name]).success();
        // As `copy` in `.dogwatch.toml` does.
        write(&tree.folder, ".env", "KEY=1\n");
        tree
    });
    let [report, same, forgotten] = &trees;
    write(&report.folder, "out/results", "weeks of work\n");
    write(&forgotten.folder, "out/results", "weeks of work\n");
    let sql = format!("DELETE FROM sessions WHERE id = '{}'", forgotten.id);
    let database = repo.env.state_dir().join("dogwatch.db");
    rusqlite::Connection::open(database).unwrap().execute(&sql, []).unwrap();
    let gc = |args: &[&str]| {
        let all = [&["gc", "--older-than", "0s", "--json"], args].concat();
        repo.dogwatch(&all).success().json()
    };
    let gone = serde_json::json!([same.folder.to_str().unwrap()]);
    for args in [&["--dry-run"][..], &[]] {
        let said = gc(args);
        assert_eq!(said["worktrees"], gone, "{said}");
        let left = said["left"].as_array().unwrap();
        assert_eq!(left.len(), 2, "{said}");
        for left in left {
            assert!(left["why"].as_str().unwrap().contains("ignored files: out/"), "{left}");
        }
    }
    assert!(!same.folder.exists());
    for tree in [report, forgotten] {
        assert!(tree.folder.join("out/results").exists(), "{}", tree.branch);
    }
    let said = repo.dogwatch(&["gc", "--older-than", "0s"]).success().to_string();
    assert!(said.contains("kept the worktree of report"), "{said}");
    // The question of `--discard` names them.
    let cwd = repo.top().to_str().unwrap();
    let _ = repo.env.spawn(&[
        "--name",
        "ask",
        "--cwd",
        cwd,
        "--",
        dogwatch(),
        "finish",
        "report",
        "--discard",
    ]);
    repo.env.wait_screen("ask", "0 uncommitted files, and 1 ignored path?");
    assert_eq!(gc(&["--ignored"])["worktrees"].as_array().map(Vec::len), Some(2));
    assert!(!report.folder.exists() && !forgotten.folder.exists());
}

/// On a terminal, dogwatch lists what would be lost, and asks.
#[test]
fn discarding_is_confirmed_by_a_person() {
    let repo = Repo::new();
    let tree = repo.worked("x", "b", "b\n");
    write(&tree.folder, "draft", "d\n");
    let cwd = repo.top().to_str().unwrap();
    let ask = |name: &str| {
        let asked = ["--name", name, "--cwd", cwd, "--", dogwatch(), "finish", "x", "--discard"];
        let asker = repo.env.spawn(&asked);
        repo.env.wait_screen(name, "1 commit in no other branch and 1 uncommitted file?");
        asker
    };
    let no = ask("no");
    repo.env.keys(&no, &["n", "Enter"]);
    repo.env.wait_state("no", "crashed");
    assert!(tree.folder.join("draft").exists());
    let yes = ask("yes");
    repo.env.keys(&yes, &["y", "Enter"]);
    repo.env.wait_state("yes", "exited");
    assert!(!tree.folder.exists());
    assert_eq!((repo.branches().as_str(), repo.trees()), ("main", 1));
}
