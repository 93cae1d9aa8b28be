//! The folder of a worktree is replaced, as an agent can do: by a link to the user's own checkout, by another folder. What is there
//! then is never touched.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::{InTree, Repo, git, write};

/// A project with work that is nowhere else, and a session in a worktree of it, whose work is committed.
fn at_work() -> (Repo, InTree) {
    let repo = Repo::at("project");
    let tree = repo.worked("x", "x", "x\n");
    // The checkout is clean.
    repo.write(".git/info/exclude", "mine/\n");
    repo.write("mine/draft", "d\n");
    (repo, tree)
}

#[track_caller]
fn is_untouched(repo: &Repo, what: &str) {
    let read = |name: &str| fs::read_to_string(repo.top().join(name)).unwrap_or_default();
    assert_eq!((read("a").as_str(), read("mine/draft").as_str()), ("one\n", "d\n"), "{what}");
    assert!(repo.top().join(".git/HEAD").exists(), "{what}");
    let _ = repo.git(&["fsck", "--strict"]);
}

/// Puts the worktree aside, and a link in its place.
fn replace(tree: &InTree, with: &Path) {
    fs::rename(&tree.folder, tree.folder.with_file_name("aside")).unwrap();
    symlink(with, &tree.folder).unwrap();
}

fn gc(repo: &Repo) -> Value {
    repo.dogwatch(&["gc", "--older-than", "0s", "--json"]).success().json()
}

#[test]
fn a_link_to_the_checkout_is_not_followed() {
    for way in ["--squash", "--merge", "--rebase", "--discard", "gc"] {
        let (repo, tree) = at_work();
        if way == "gc" {
            repo.git(&["merge", "-q", &tree.branch]);
        }
        replace(&tree, repo.top());
        let said = match way {
            "gc" => gc(&repo),
            "--discard" => repo.finish(&["x", "--discard", "--yes"]).json(),
            way => repo.finish(&["x", way]).json(),
        };
        is_untouched(&repo, &format!("{way}: {said}"));
        assert!(said.to_string().contains("symbolic link"), "{way}: {said}");
        assert!(tree.folder.is_symlink(), "{way}: it is not ours");
        assert!(tree.folder.with_file_name("aside").join("x").exists(), "{way}");
        gc(&repo);
        is_untouched(&repo, way);
    }
}

/// The checkout has the branch of the worktree by then, so that it looks like it, and is where a session lives.
#[test]
fn nor_is_a_checkout_that_looks_like_it() {
    let (repo, tree) = at_work();
    replace(&tree, repo.top());
    let own = repo.dogwatch(&["spawn", "--json", "--name", "mine", "--", "sleep", "300"]);
    let _ = own.success();
    repo.git(&["symbolic-ref", "HEAD", &format!("refs/heads/{}", tree.branch)]);
    let said = repo.finish(&["x", "--discard", "--yes", "--kill"]).json();
    is_untouched(&repo, &said.to_string());
    assert_eq!(repo.env.seen("mine")["state"], "running", "{said}");
    gc(&repo);
    is_untouched(&repo, "gc");
}

/// Nor is a link that leads to the worktree's folder, or to what is about to be deleted.
#[test]
fn no_link_on_the_way_is_followed() {
    for parked in [false, true] {
        let (repo, tree) = at_work();
        let above = tree.folder.parent().unwrap();
        let aside = above.with_file_name("aside");
        fs::rename(above, &aside).unwrap();
        fs::create_dir(repo.top().join("trap")).unwrap();
        let name = tree.folder.file_name().unwrap().to_str().unwrap();
        let named =
            if parked { format!(".dogwatch-removing-{}", tree.id) } else { name.to_owned() };
        // As git would make it.
        let gitdir = fs::read_to_string(aside.join(name).join(".git")).unwrap();
        write(repo.top(), &format!("trap/{named}/.git"), &gitdir);
        write(repo.top(), &format!("trap/{named}/precious"), "p\n");
        symlink(repo.top().join("trap"), above).unwrap();
        let said = repo.finish(&["x", "--discard", "--yes"]).json();
        let is_there = repo.top().join("trap").join(&named).join("precious").exists();
        assert!(is_there, "{parked}: {said}");
        gc(&repo);
        is_untouched(&repo, &said.to_string());
        assert!(repo.top().join("trap").join(&named).join("precious").exists());
    }
}

/// Another folder with the same `.git` file: a copy, or the user's own.
#[test]
fn another_folder_in_its_place_stays() {
    let (repo, tree) = at_work();
    let gitdir = fs::read_to_string(tree.folder.join(".git")).unwrap();
    fs::rename(&tree.folder, tree.folder.with_file_name("aside")).unwrap();
    write(&tree.folder, ".git", &gitdir);
    write(&tree.folder, "precious", "p\n");
    let said = repo.finish(&["x", "--discard", "--yes"]).success().json();
    assert_eq!(said["folder_removed"], false, "{said}");
    assert!(said.to_string().contains("not the folder that dogwatch made"), "{said}");
    assert!(tree.folder.join("precious").exists());
    gc(&repo);
    assert!(tree.folder.join("precious").exists());
}

/// A link in the place of what a killed call was deleting.
#[test]
fn a_link_in_the_place_of_what_is_deleted() {
    let (repo, tree) = at_work();
    let parked = tree.folder.with_file_name(format!(".dogwatch-removing-{}", tree.id));
    symlink(repo.top(), &parked).unwrap();
    let said = repo.finish(&["x", "--discard", "--yes"]).success().json();
    assert_eq!(said["folder_removed"], false, "{said}");
    assert!(tree.folder.join("x").exists());
    gc(&repo);
    is_untouched(&repo, &said.to_string());
    // Without it, all is removed.
    fs::remove_file(&parked).unwrap();
    assert_eq!(gc(&repo)["worktrees"].as_array().map(Vec::len), Some(1));
    assert!(!tree.folder.exists());
    assert_eq!(repo.trees(), 1);
}

/// Links within it are removed, and what they lead to stays.
#[test]
fn links_within_it_are_only_links() {
    let (repo, tree) = at_work();
    for (name, leads_to) in [("up", repo.top()), ("mine", &repo.top().join("mine"))] {
        symlink(leads_to, tree.folder.join(name)).unwrap();
    }
    let said = repo.finish(&["x", "--discard", "--yes"]).success().json();
    assert_eq!(said["folder_removed"], true, "{said}");
    is_untouched(&repo, "links");
    assert_eq!((repo.branches().as_str(), repo.trees()), ("main", 1));
    assert!(!repo.top().join(".git/worktrees").exists(), "as git does with the last one");
}

/// Of a version that did not record which folder it was, and in older ones nor the session.
#[test]
fn worktrees_of_older_versions() {
    for has_session in [true, false] {
        let (repo, tree) = at_work();
        let database = repo.env.state_dir().join("dogwatch.db");
        let sql = "UPDATE worktrees SET device = NULL, inode = NULL";
        rusqlite::Connection::open(database).unwrap().execute(sql, []).unwrap();
        if !has_session {
            let dir = git(&repo.env, &tree.folder, &["rev-parse", "--absolute-git-dir"]);
            fs::remove_file(Path::new(&dir).join("dogwatch-session")).unwrap();
        }
        replace(&tree, repo.top());
        let said = repo.finish(&["x", "--discard", "--yes"]).json();
        is_untouched(&repo, &said.to_string());
        fs::remove_file(&tree.folder).unwrap();
        fs::rename(tree.folder.with_file_name("aside"), &tree.folder).unwrap();
        let _ = gc(&repo);
        assert!(!tree.folder.exists(), "{has_session}: it is what was made");
        assert_eq!(
            repo.dogwatch(&["ls", "--all", "--json"]).success().json()["sessions"],
            json!([])
        );
    }
}
