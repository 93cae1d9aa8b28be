//! Everything that was changed, whether it is committed or not, and without disturbing whoever works there.

use std::fs;

use serde_json::Value;

use super::{Repo, commit, git, write};

fn file<'a>(diff: &'a Value, path: &str) -> &'a Value {
    let files = diff["files"].as_array().unwrap();
    files.iter().find(|file| file["path"] == path).unwrap_or(&Value::Null)
}

#[test]
fn committed_uncommitted_and_untracked() {
    let repo = Repo::new();
    for name in ["gone", "moved", "staged"] {
        repo.write(name, &format!("{name}\n").repeat(20));
    }
    repo.write(".gitignore", "ignored\n");
    repo.commit("second");
    let tree = repo.spawn("x", &[]);
    let at = |name: &str| tree.folder.join(name);
    write(&tree.folder, "committed", "c\n");
    commit(&repo.env, &tree.folder, "its commit");
    write(&tree.folder, "a", "one\ntwo\n");
    write(&tree.folder, "staged", "staged\n");
    git(&repo.env, &tree.folder, &["add", "staged"]);
    git(&repo.env, &tree.folder, &["mv", "moved", "there"]);
    fs::remove_file(at("gone")).unwrap();
    write(&tree.folder, "new dir/ünï *", "u\n");
    write(&tree.folder, "ignored", "i\n");
    fs::write(at("binary"), b"\0\x01\x02").unwrap();
    fs::create_dir(at("nested")).unwrap();
    git(&repo.env, &at("nested"), &["init", "-q"]);
    write(&at("nested"), "x", "x\n");
    let index = fs::read(repo.top().join(".git/worktrees/dogwatch-x/index")).unwrap();
    let diff = repo.dogwatch(&["diff", "x", "--json"]).success().json();
    let short = |path: &str| {
        let one = file(&diff, path);
        let mark = |key: &str| if one[key] == true { key.chars().next().unwrap() } else { '-' };
        let marks: String = ["committed", "untracked"].map(mark).iter().collect();
        let is_open = if one["uncommitted"] == true { "open" } else { "-" };
        format!("{} {marks} {is_open}", one["change"].as_str().unwrap_or("none"))
    };
    for (path, wanted) in [
        ("committed", "added c- -"),
        ("a", "modified -- open"),
        ("staged", "modified -- open"),
        ("gone", "deleted -- open"),
        ("there", "renamed -- open"),
        ("new dir/ünï *", "added -u open"),
        ("binary", "added -u open"),
        ("nested/", "repository -u open"),
        ("ignored", "none -- -"),
    ] {
        assert_eq!(short(path), wanted, "{path}: {diff:#}");
    }
    assert_eq!(diff["files"].as_array().unwrap().len(), 8, "{diff:#}");
    assert_eq!(file(&diff, "a")["insertions"], 1);
    assert!(file(&diff, "binary")["insertions"].is_null());
    assert_eq!(file(&diff, "there")["from"], "moved");
    assert_eq!(diff["commits"][0]["subject"], "its commit");
    let names = repo.dogwatch(&["diff", "x", "--name-only"]).success().text();
    assert_eq!(names.lines().count(), 7, "{names}");
    let stat = repo.dogwatch(&["diff", "x", "--stat"]).success().text();
    assert!(stat.contains("files changed"), "{stat}");
    let text = repo.dogwatch(&["diff", "x"]).success().text();
    assert!(text.contains("+two") && text.contains("+u"), "{text}");
    let after = fs::read(repo.top().join(".git/worktrees/dogwatch-x/index")).unwrap();
    assert_eq!(index, after, "the agent's index is not touched");
}

/// What others did on the target since is not the session's work, also if it took it in.
#[test]
fn only_its_own_work() {
    let repo = Repo::new();
    let tree = repo.spawn("x", &[]);
    write(&tree.folder, "mine", "m\n");
    commit(&repo.env, &tree.folder, "mine");
    repo.write("theirs", "t\n");
    repo.commit("theirs");
    let names = || repo.dogwatch(&["diff", "x", "--name-only"]).success().text();
    assert_eq!(names().trim(), "mine");
    git(&repo.env, &tree.folder, &["merge", "-q", "--no-edit", "main"]);
    assert_eq!(names().trim(), "mine");
    // After the end too, and after it was finished, and if the folder was deleted by hand.
    let _ = repo.dogwatch(&["kill", "--now", "x"]).success();
    assert_eq!(names().trim(), "mine");
    fs::remove_dir_all(&tree.folder).unwrap();
    let output = repo.dogwatch(&["diff", "x", "--name-only"]).success();
    assert_eq!(output.text().trim(), "mine");
    assert!(output.stderr.contains("no longer exists"), "{output}");
    let _ = repo.finish(&["x", "--squash"]).success();
    assert_eq!(names().trim(), "mine");
    assert_eq!((repo.branches().as_str(), repo.trees()), ("main", 1));
}

/// Patches of a pipe can be applied, however large they are.
#[test]
fn a_large_difference_is_whole() {
    let repo = Repo::new();
    let tree = repo.spawn("x", &[]);
    let line = "a line that is long enough to make a large file soon\n";
    write(&tree.folder, "large", &line.repeat(400_000));
    let patch = repo.dogwatch(&["diff", "x"]).success().text();
    assert_eq!(patch.lines().filter(|line| line.starts_with("+a line")).count(), 400_000);
}
