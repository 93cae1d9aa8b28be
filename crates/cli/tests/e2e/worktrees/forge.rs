//! Pull requests, with a stand-in for gh and a remote on this disk.

use std::fs;

use super::{Repo, commit, refused, write};

/// Writes its arguments down and answers as gh does.
const GH: &str = r#"
printf '%s\n' "$*" >> "$GH_LOG"
case "$2" in
view) [ -e "$GH_LOG.open" ] && echo https://example.invalid/pull/1 ;;
create) [ -e "$GH_LOG.broken" ] && { echo 'not logged in' >&2; exit 4; }; touch "$GH_LOG.open"; echo 'Creating'; echo https://example.invalid/pull/1 ;;
esac
"#;

#[test]
fn a_pull_request_is_opened_once() {
    let repo = Repo::new();
    let tree = repo.worked("x", "b", "b\n");
    let log = repo.env.root().join("gh.log");
    let path = std::env::var("PATH").unwrap();
    let bin = repo.env.root().join("bin");
    let pr = |more: &[&str], with_gh: bool| {
        let mut all = vec!["pr", "x", "--json"];
        all.extend(more);
        let mut command = repo.command(&all);
        command.env("GH_LOG", &log);
        if with_gh {
            command.env("PATH", format!("{}:{path}", bin.display()));
        }
        repo.env.run(&mut command)
    };
    if !std::env::split_paths(&path).any(|dir| dir.join("gh").exists()) {
        refused(pr(&[], false), "gh_missing");
    }
    repo.env.write_program("gh", GH);
    refused(pr(&[], true), "no_remote");
    let remote = repo.env.root().join("remote.git");
    repo.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    repo.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    fs::write(repo.env.root().join("gh.log.broken"), "").unwrap();
    let output = refused(pr(&[], true), "forge");
    assert!(output.contains("not logged in"), "{output}");
    fs::remove_file(repo.env.root().join("gh.log.broken")).unwrap();
    let opened = pr(&["--draft", "--title", "A title"], true).success().json();
    assert_eq!(
        (&opened["opened"], &opened["url"]),
        (&true.into(), &"https://example.invalid/pull/1".into())
    );
    let called = fs::read_to_string(&log).unwrap();
    assert!(
        called.contains("pr create --head dogwatch/x --base main --title A title --body  --draft"),
        "{called}"
    );
    let pushed = || repo.git(&["ls-remote", "origin", "refs/heads/dogwatch/x"]);
    assert!(pushed().starts_with(&repo.git(&["rev-parse", "dogwatch/x"])));
    // More work: the same pull request.
    write(&tree.folder, "c", "c\n");
    commit(&repo.env, &tree.folder, "more");
    write(&tree.folder, "draft", "d\n");
    let again = pr(&[], true).success();
    assert!(again.stderr.contains("1 changed file is not committed"), "{again}");
    assert_eq!(again.json()["opened"], false);
    assert!(pushed().starts_with(&repo.git(&["rev-parse", "dogwatch/x"])));
    assert_eq!(fs::read_to_string(&log).unwrap().matches("pr create").count(), 2);
}

/// Nothing else touches a remote.
#[test]
fn finish_does_not_push() {
    let repo = Repo::new();
    let remote = repo.env.root().join("remote.git");
    repo.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    repo.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    repo.git(&["push", "-q", "-u", "origin", "main"]);
    let before = repo.git(&["ls-remote", "origin"]);
    repo.worked("x", "b", "b\n");
    let _ = repo.finish(&["x", "--merge"]).success();
    assert_eq!(repo.git(&["ls-remote", "origin"]), before);
}
