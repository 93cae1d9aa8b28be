use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;

pub(super) fn repository() -> (tempfile::TempDir, Tree) {
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path().join("repo");
    fs::create_dir(&dir).unwrap();
    assert!(git_in(&dir, &["init", "-q", "-b", "main"], b"").unwrap().is_fine());
    let tree = Tree::of(&dir).unwrap();
    for args in [
        &["config", "user.name", "T"][..],
        &["config", "user.email", "t@example.invalid"],
        &["config", "commit.gpgsign", "false"],
    ] {
        tree.ask(args).unwrap();
    }
    fs::write(tree.dir.join("a"), "one\n").unwrap();
    well(tree.commit("first", "Mark: 0", &BTreeMap::new()));
    (tmp, tree)
}

fn well(went: Result<GitOutcome, Error>) -> String {
    match went.unwrap() {
        GitOutcome::Done(sha) => sha,
        other => panic!("{other:?}"),
    }
}

fn none(_: &str, _: [&str; 3]) -> Option<String> {
    None
}

#[test]
fn a_commit_is_made_once_and_without_earlier_changes() {
    let (_tmp, tree) = repository();
    fs::write(tree.dir.join("mine"), "draft").unwrap();
    fs::write(tree.dir.join("both"), "draft").unwrap();
    let before = tree.changes().unwrap();
    fs::write(tree.dir.join("both"), "more").unwrap();
    fs::write(tree.dir.join("with space ü*"), "x").unwrap();
    fs::write(tree.dir.join(OsStr::from_bytes(b"caf\xe9")), "x").unwrap();
    fs::write(tree.dir.join(".env"), "KEY=1\n").unwrap();
    fs::remove_file(tree.dir.join("a")).unwrap();
    let sha = well(tree.commit("work", "Mark: 1", &before));
    assert_eq!(tree.changes().unwrap().into_keys().collect::<Vec<_>>(), [".env", "mine"]);
    assert!(tree.left_out().unwrap()[0].starts_with(".env "));
    fs::write(tree.dir.join("late"), "x").unwrap();
    assert_eq!(tree.commit("work", "Mark: 1", &before).unwrap(), GitOutcome::Done(sha));
    fs::remove_file(tree.dir.join("late")).unwrap();
    assert_eq!(tree.commit("work", "Mark: 2", &before).unwrap(), GitOutcome::Nothing);
    assert_eq!(Tree::of(Path::new("/")).map(|_| ()), None);
}

#[test]
fn a_file_that_was_moved_is_committed_with_its_old_name() {
    let (_tmp, tree) = repository();
    fs::write(tree.dir.join("c"), "three\n").unwrap();
    well(tree.commit("work", "Mark: 1", &BTreeMap::new()));
    tree.ask(&["mv", "a", "b"]).unwrap();
    tree.ask(&["rm", "-q", "c"]).unwrap();
    well(tree.commit("work", "Mark: 2", &BTreeMap::new()));
    assert_eq!(tree.ask(&["ls-tree", "--name-only", "HEAD"]).unwrap(), "b");
    assert!(tree.changes().unwrap().is_empty());
}

#[test]
fn the_commit_of_another_step_does_not_count() {
    let (_tmp, tree) = repository();
    fs::write(tree.dir.join("b"), "x").unwrap();
    let theirs = well(tree.commit("work", "Run: r 1.1/commit-all", &BTreeMap::new()));
    fs::write(tree.dir.join("c"), "x").unwrap();
    let ours = well(tree.commit("work", "Run: r 1.1/commit", &BTreeMap::new()));
    assert_ne!(ours, theirs);
    assert!(tree.is_committed("Run: r 1.1/commit").unwrap());
    assert!(!tree.is_committed("Run: r 1.1/comm").unwrap());
}

#[test]
fn a_project_below_the_top_of_a_repository() {
    let (tmp, top) = repository();
    let sub = top.dir.join("apps/one*");
    fs::create_dir_all(&sub).unwrap();
    fs::write(sub.join("f"), "1").unwrap();
    let tree = Tree::of(&sub).unwrap();
    let before = tree.changes().unwrap();
    fs::write(sub.join("f"), "2").unwrap();
    fs::write(top.dir.join("shared"), "x").unwrap();
    well(tree.commit("work", "Mark: 1", &before));
    assert!(tree.changes().unwrap().is_empty());
    assert!(tree.has("f") && !tree.has("g"));
    tree.exclude("out/").unwrap();
    fs::create_dir(sub.join("out")).unwrap();
    fs::write(sub.join("out/x"), "").unwrap();
    assert!(tree.changes().unwrap().is_empty());
    let folder = tree.add_worktree(&tmp.path().join("w"), "w").unwrap();
    assert_eq!(fs::read_to_string(folder.join("f")).unwrap(), "2");
}

#[test]
fn a_hook_that_refuses_is_reported() {
    let (_tmp, tree) = repository();
    let hook = tree.dir.join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(
        &hook,
        "#!/bin/sh\ngit diff --cached --name-only -- '*.py' | grep . >&2 && exit 1\nexit 0\n",
    )
    .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(tree.dir.join("b.py"), "x").unwrap();
    let went = tree.commit("work", "Mark: 1", &BTreeMap::new()).unwrap();
    assert_eq!(went, GitOutcome::Failed("b.py".into()));
}

#[test]
fn branches_are_merged_once_or_the_conflict_is_reported() {
    let (tmp, tree) = repository();
    let work = |name: &str, text: &str| {
        let side = tree.add_worktree(&tmp.path().join(name), name).unwrap();
        fs::write(side.join("a"), text).unwrap();
        let side = Tree::of(&side).unwrap();
        vec![well(side.commit(name, &format!("Mark: {name}"), &BTreeMap::new()))]
    };
    let (x, y) = (work("x", "one\nx\n"), work("y", "one\ny\n"));
    let sha = well(tree.merge("x", &x, "merge x", &tmp.path().join("scratch"), none));
    assert_eq!(
        tree.merge("x", &x, "merge x", &tmp.path().join("scratch"), none).unwrap(),
        GitOutcome::Done(sha)
    );
    let failed = GitOutcome::Failed("conflict in a".into());
    assert_eq!(tree.merge("y", &y, "merge y", &tmp.path().join("scratch"), none).unwrap(), failed);
    assert!(tree.changes().unwrap().is_empty(), "nothing is left of the attempt");
    let both = |_: &str, [_, ours, theirs]: [&str; 3]| Some(format!("{ours}{theirs}"));
    well(tree.merge("y", &y, "merge y", &tmp.path().join("scratch"), both));
    assert_eq!(fs::read_to_string(tree.dir.join("a")).unwrap(), "one\nx\none\ny\n");
    tree.remove_worktree(&tmp.path().join("x"), "x").unwrap();
    assert!(!tmp.path().join("x").exists());
    assert_eq!(
        tree.merge("x", &x, "merge x", &tmp.path().join("scratch"), none).unwrap(),
        GitOutcome::Nothing
    );
}

#[test]
fn a_branch_that_was_removed_by_hand_was_not_merged() {
    let (tmp, tree) = repository();
    let dir = tmp.path().join("x");
    let side = tree.add_worktree(&dir, "x").unwrap();
    fs::write(side.join("b"), "work").unwrap();
    let made = well(Tree::of(&side).unwrap().commit("x", "Mark: x", &BTreeMap::new()));
    tree.remove_worktree(&dir, "x").unwrap();
    let went = tree
        .merge("x", std::slice::from_ref(&made), "merge x", &tmp.path().join("scratch"), none)
        .unwrap();
    assert!(matches!(went, GitOutcome::Failed(why) if why.contains(&made)));
}

#[test]
fn a_persons_merge_is_left_alone() {
    let (tmp, tree) = repository();
    for (name, text) in [("theirs", "two\n"), ("x", "x\n")] {
        let side = tree.add_worktree(&tmp.path().join(name), name).unwrap();
        fs::write(side.join("a"), text).unwrap();
        well(Tree::of(&side).unwrap().commit(name, "Mark: n", &BTreeMap::new()));
    }
    fs::write(tree.dir.join("a"), "three\n").unwrap();
    well(tree.commit("here", "Mark: h", &BTreeMap::new()));
    assert!(!tree.is_fine(&["merge", "-q", "theirs"]).unwrap());
    fs::write(tree.dir.join("a"), "settled by hand\n").unwrap();
    let went = tree.merge("x", &[], "merge x", &tmp.path().join("scratch"), none).unwrap();
    assert!(matches!(&went, GitOutcome::Failed(why) if why.contains("another merge")), "{went:?}");
    assert_eq!(fs::read_to_string(tree.dir.join("a")).unwrap(), "settled by hand\n");
    assert!(tree.commit_of("MERGE_HEAD").is_some());
    let went = tree.commit("work", "Mark: 9", &BTreeMap::new()).unwrap();
    assert!(matches!(&went, GitOutcome::Failed(why) if why.contains("conflicts in a")), "{went:?}");
}

#[test]
fn what_a_person_has_excluded_stays_so() {
    let (_tmp, tree) = repository();
    let file = tree.dir.join(".git/info/exclude");
    fs::write(&file, b"# caf\xe9\n*.log").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    tree.exclude(".mark").unwrap();
    tree.exclude(".mark").unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"# caf\xe9\n*.log\n/.mark\n");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    fs::write(tree.dir.join(".mark"), "").unwrap();
    assert!(tree.changes().unwrap().is_empty());
}

/// git would read what a link leads to, and a name need not be a line.
#[test]
fn marks_of_many_files_and_of_links() {
    let (_tmp, tree) = repository();
    let top = tree.tree.top().to_owned();
    let names = ["a.md", "b c", "new\nline", "\"quoted\"", "-dash", "é"];
    for name in names {
        fs::write(top.join(name), format!("text of {name}")).unwrap();
    }
    std::os::unix::fs::symlink("/dev/zero", top.join("endless")).unwrap();
    let marks = tree.changes().unwrap();
    assert_eq!(marks["endless"], "link to /dev/zero");
    assert_eq!(marks.len(), names.len() + 1, "{marks:?}");
    let hashes: std::collections::BTreeSet<&String> = marks.values().collect();
    assert_eq!(hashes.len(), marks.len(), "each has a mark of its own: {marks:?}");
    assert!(!marks.values().any(|mark| mark == "gone"), "{marks:?}");
}
