//! A folder or a branch that another worktree had before: what is recorded of the old one must not touch the new one.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{InTree, Repo, git, in_tree, write};

fn gc(repo: &Repo, args: &[&str]) -> serde_json::Value {
    let all = [&["gc", "--older-than", "0s", "--json"], args].concat();
    repo.dogwatch(&all).success().json()
}

/// Makes one, finishes it, and makes another one in the same folder.
fn again(repo: &Repo, way: &[&str]) -> InTree {
    let old = repo.worked("x", "x", &format!("{way:?}\n"));
    let _ = repo.finish(&[&["x"], way].concat()).success();
    let new = repo.spawn("x", &[]);
    assert_eq!((&new.folder, &new.branch), (&old.folder, &old.branch));
    assert_ne!(new.id, old.id);
    new
}

#[test]
fn gc_leaves_a_folder_that_a_new_session_has() {
    for way in [&["--discard", "--yes"][..], &["--merge"], &["--rebase"], &["--squash"]] {
        let repo = Repo::new();
        let new = again(&repo, way);
        assert_eq!(gc(&repo, &["--dry-run"])["worktrees"], json!([]), "{way:?}");
        assert_eq!(gc(&repo, &[])["worktrees"], json!([]), "{way:?}");
        assert_eq!(fs::read_to_string(new.folder.join("a")).unwrap(), "one\n", "{way:?}");
        write(&new.folder, "draft", "d\n");
        gc(&repo, &[]);
        assert_eq!(fs::read_to_string(new.folder.join("draft")).unwrap(), "d\n", "{way:?}");
        // Also when its agent has ended.
        let _ = repo.dogwatch(&["kill", "--now", "x"]).success();
        gc(&repo, &[]);
        assert!(new.folder.join("draft").exists(), "{way:?}");
        assert_eq!(repo.trees(), 2, "{way:?}");
        // It is finished itself.
        let _ = repo.finish(&["x", "--discard", "--yes"]).success();
        gc(&repo, &[]);
        assert!(!new.folder.exists());
        assert_eq!((repo.branches().as_str(), repo.trees()), ("main", 1), "{way:?}");
    }
}

/// Without a record, as a person makes it.
#[test]
fn gc_leaves_a_worktree_that_a_person_made() {
    let repo = Repo::new();
    let old = repo.worked("x", "x", "x\n");
    let _ = repo.finish(&["x", "--discard", "--yes"]).success();
    let folder = old.folder.to_str().unwrap();
    repo.git(&["worktree", "add", "-q", "-b", "mine", folder]);
    assert_eq!(gc(&repo, &[])["worktrees"], json!([]), "it is clean");
    assert!(old.folder.join("a").exists());
    write(&old.folder, "draft", "d\n");
    assert_eq!(gc(&repo, &[])["worktrees"], json!([]));
    assert!(old.folder.join("draft").exists());
}

/// What was kept and then removed by hand can still be finished, but not with the folder of another session.
#[test]
fn an_old_record_does_not_finish_a_new_worktree() {
    let repo = Repo::new();
    let old = repo.worked("x", "x", "x\n");
    let _ = repo.finish(&["x", "--keep"]).success();
    let folder = old.folder.to_str().unwrap();
    repo.git(&["worktree", "remove", "--force", folder]);
    repo.git(&["branch", "-q", "-D", &old.branch]);
    let new = repo.spawn("x", &[]);
    assert_ne!(new.folder, old.folder, "the record still stands for its folder");
    // As an older version would have done it.
    let _ = repo.dogwatch(&["kill", "--now", "x"]).success();
    repo.git(&["worktree", "move", new.folder.to_str().unwrap(), folder]);
    write(&old.folder, "draft", "d\n");
    let _ = repo.finish(&[&old.id, "--discard", "--yes"]);
    gc(&repo, &[]);
    assert!(old.folder.join("draft").exists());
}

/// A record of which git had made nothing yet, when its process was killed.
#[test]
fn what_a_person_put_in_the_place_of_a_killed_spawn_stays() {
    let repo = Repo::new();
    let other = repo.spawn("y", &[]);
    let folder = other.folder.with_file_name("dogwatch-x");
    let spawn = ["spawn", "--json", "--name", "x", "--worktree", "--", "sleep", "300"];
    let mut command = repo.command(&spawn);
    // Recorded, not made.
    assert_eq!(repo.env.run(command.env("DOGWATCH_TEST_DIE_AT_STEP", "2")).code, None);
    assert!(!folder.exists());
    repo.git(&["worktree", "add", "-q", "-b", "dogwatch/x", folder.to_str().unwrap()]);
    write(&folder, "draft", "d\n");
    gc(&repo, &[]);
    assert!(folder.join("draft").exists());
    assert_eq!(git(&repo.env, &folder, &["branch", "--show-current"]), "dogwatch/x");
    let next = in_tree(repo.dogwatch(&spawn).success().json());
    assert_ne!(next.folder, folder);
    assert!(folder.join("draft").exists());
}

/// git prints paths without symbolic links.
#[test]
fn a_folder_behind_a_symbolic_link() {
    let repo = Repo::at("project");
    let config = repo.env.home().join(".config/dogwatch");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[worktree]\nfolder = '~/link/trees'\n").unwrap();
    let real = repo.env.home().join("real");
    fs::create_dir_all(&real).unwrap();
    symlink(&real, repo.env.home().join("link")).unwrap();
    let tree = repo.spawn("x", &[]);
    assert_eq!(tree.folder, real.join("trees/dogwatch-x"));
    repo.git(&["worktree", "lock", tree.folder.to_str().unwrap()]);
    let _ = repo.dogwatch(&["kill", "--now", "x"]).success();
    let done = repo.finish(&["x", "--discard", "--yes"]).success().json();
    assert_eq!(done["folder_removed"], false, "it is locked: {done}");
    repo.git(&["worktree", "unlock", tree.folder.to_str().unwrap()]);
    assert_eq!(gc(&repo, &[])["worktrees"].as_array().unwrap().len(), 1);
    let _ = repo.spawn("y", &[]);
    let _ = repo.finish(&["y", "--discard", "--yes", "--kill"]).success();
    assert_eq!(repo.trees(), 1);
}
