//! `.dogwatch.toml`: read only if it is trusted, and it cannot reach beyond the project.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::{Repo, git, in_tree, refused};

const FILE: &str = ".dogwatch.toml";

/// The environment of a session, as it prints it itself.
fn environment(repo: &Repo, name: &str, args: &[&str]) -> serde_json::Value {
    let mut all = vec!["spawn", "--json", "--name", name, "--worktree"];
    all.extend(args);
    all.extend(["--", "sh", "-c", "env > env.txt; mv env.txt env.done; exec sleep 300"]);
    repo.dogwatch(&all).success().json()
}

#[test]
fn a_file_is_read_only_if_this_content_is_trusted() {
    let repo = Repo::new();
    let ran = repo.env.root().join("ran");
    let text = format!("setup = \"echo ran >> '{}'\"\n", ran.display());
    repo.write(FILE, &text);
    let spawn = |more: &[&str]| {
        let mut all = vec!["spawn", "--json", "--worktree"];
        all.extend(more);
        all.extend(["--", "sleep", "300"]);
        repo.dogwatch(&all)
    };
    refused(spawn(&[]), "settings_not_trusted");
    let shown = repo.dogwatch(&["trust", "--show"]).success();
    assert!(shown.text().contains("setup =") && shown.stderr.contains("is not trusted"), "{shown}");
    refused(spawn(&[]), "settings_not_trusted");
    assert!(!ran.exists() && repo.trees() == 1);
    let _ = spawn(&["--no-setup"]).success();
    assert!(!ran.exists());
    let trusted = repo.dogwatch(&["trust"]).success();
    assert!(trusted.text().contains("runs echo ran"), "{trusted}");
    let _ = spawn(&[]).success();
    assert_eq!(fs::read_to_string(&ran).unwrap(), "ran\n");
    assert_eq!(repo.dogwatch(&["trust", "--show", "--json"]).success().json()["trust"], "trusted");
    // Another content, even if it is the old one with a blank.
    repo.write(FILE, &format!("{text} "));
    let output = refused(spawn(&[]), "settings_not_trusted");
    assert!(output.contains("changed since"), "{output}");
    assert_eq!(repo.dogwatch(&["trust", "--show", "--json"]).success().json()["trust"], "changed");
    repo.write(FILE, &text);
    let _ = spawn(&[]).success();
    let _ = repo.dogwatch(&["untrust"]).success();
    refused(spawn(&[]), "settings_not_trusted");
    // Another path.
    let other = repo.env.root().join("other");
    let _ = repo.dogwatch(&["trust"]).success();
    repo.git(&["clone", "-q", ".", other.to_str().unwrap()]);
    fs::write(other.join(FILE), &text).unwrap();
    let mut command = repo.command(&["spawn", "--json", "--worktree", "--", "true"]);
    refused(repo.env.run(command.current_dir(&other)), "settings_not_trusted");
    // A link is not read, and an agent cannot trust.
    let top = repo.top().display().to_string();
    refused(repo.env.as_agent(&["trust", &top, "--json"]), "agent_may_not_trust");
    // A window that a person opened beside an agent has its variable.
    let mut command = repo.command(&["trust", "--show", "--json"]);
    command.env("DOGWATCH_SESSION", uuid());
    let _ = repo.env.run(&mut command).success();
    fs::remove_file(repo.top().join(FILE)).unwrap();
    symlink(other.join(FILE), repo.top().join(FILE)).unwrap();
    assert_ne!(repo.dogwatch(&["trust"]).code, Some(0));
    fs::remove_file(repo.top().join(FILE)).unwrap();
    refused(repo.dogwatch(&["trust", "--json"]), "no_settings");
    for bad in ["copy = ['../x']", "copi = []", "[values]\nPORT = 'x'", "setup = 7"] {
        repo.write(FILE, bad);
        refused(repo.dogwatch(&["trust", "--json"]), "bad_settings");
    }
}

fn uuid() -> &'static str {
    "01890a5d-ac96-774b-bcce-b302099a8057"
}

#[test]
fn files_are_copied_and_linked() {
    let repo = Repo::new();
    repo.write(".gitignore", "/node_modules/\n");
    repo.write("tracked", "t\n");
    repo.commit("second");
    repo.write(".env", "KEY=1\n");
    fs::set_permissions(repo.top().join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    repo.write("node_modules/x/index.js", "x\n");
    repo.write("local dir/ü/deep", "deep\n");
    repo.write(
        FILE,
        "copy = ['.env', 'local dir', 'tracked', 'missing']\nlink = ['node_modules']\n",
    );
    let _ = repo.dogwatch(&["trust"]).success();
    let output = repo
        .dogwatch(&["spawn", "--json", "--name", "x", "--worktree", "--", "sleep", "300"])
        .success();
    assert!(output.stderr.contains("missing does not exist"), "{output}");
    assert!(output.stderr.contains("tracked is in the worktree already"), "{output}");
    let tree = in_tree(output.json());
    let mode = fs::metadata(tree.folder.join(".env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(fs::read_to_string(tree.folder.join("local dir/ü/deep")).unwrap(), "deep\n");
    assert_eq!(
        fs::read_link(tree.folder.join("node_modules")).unwrap(),
        repo.top().join("node_modules")
    );
    // An agent that adds everything does not add these.
    git(&repo.env, &tree.folder, &["add", "-A"]);
    assert_eq!(git(&repo.env, &tree.folder, &["status", "--porcelain"]), "");
    let _ = repo.finish(&["x", "--merge", "--kill"]).success();
    assert!(!tree.folder.exists());
    assert!(repo.top().join("node_modules/x/index.js").exists(), "of a link only the link goes");
}

#[test]
fn nothing_comes_from_outside_of_the_project() {
    let repo = Repo::new();
    fs::write(repo.env.root().join("secret"), "secret").unwrap();
    symlink("../secret", repo.top().join("link")).unwrap();
    symlink("..", repo.top().join("up")).unwrap();
    for settings in
        ["copy = ['link']", "link = ['link']", "copy = ['up/secret']", "link = ['up/secret']"]
    {
        repo.write(FILE, settings);
        let _ = repo.dogwatch(&["trust"]).success();
        let args = ["spawn", "--json", "--worktree", "--", "sleep", "300"];
        refused(repo.dogwatch(&args), "not_provided");
        assert_eq!((repo.branches().as_str(), repo.trees()), ("main", 1), "{settings}");
    }
    // A link of the repository in the worktree: what is copied does not go through it.
    repo.git(&["rm", "-q", "--cached", "--ignore-unmatch", "link"]);
    fs::create_dir(repo.env.root().join("outside")).unwrap();
    symlink(repo.env.root().join("outside"), repo.top().join("out")).unwrap();
    repo.git(&["add", "out"]);
    repo.git(&["commit", "-q", "-m", "a link"]);
    fs::remove_file(repo.top().join("out")).unwrap();
    repo.write("out/file", "x\n");
    repo.write(FILE, "copy = ['out/file']");
    let _ = repo.dogwatch(&["trust"]).success();
    let args = ["spawn", "--json", "--worktree", "--", "sleep", "300"];
    refused(repo.dogwatch(&args), "not_provided");
    assert!(!repo.env.root().join("outside/file").exists());
}

#[test]
fn a_setup_that_fails_leaves_nothing_behind() {
    let repo = Repo::new();
    for (setup, said) in [
        ("echo to the log; echo broken >&2; touch junk; exit 3", "broken"),
        ("sleep 60", "longer than 1 s"),
    ] {
        repo.write(FILE, &format!("setup = '{setup}'\nsetup_timeout = 1\n"));
        let _ = repo.dogwatch(&["trust"]).success();
        let args = ["spawn", "--json", "--name", "x", "--worktree", "--", "sleep", "300"];
        let output = refused(repo.dogwatch(&args), "setup_failed");
        assert!(output.contains(said), "{output}");
        assert_eq!((repo.branches().as_str(), repo.trees()), ("main", 1));
    }
    let logs = fs::read_dir(repo.env.state_dir().join("setup")).unwrap();
    let logs: Vec<String> =
        logs.map(|log| fs::read_to_string(log.unwrap().path()).unwrap()).collect();
    assert!(
        logs.iter().any(|log| log.contains("to the log") && log.contains("broken")),
        "{logs:?}"
    );
    // In the worktree, with the numbers, and not in the session of a caller.
    repo.write(FILE, "setup = 'pwd; echo \"$PORT|$DOGWATCH_PROJECT|$DOGWATCH_SESSION\" > seen'\n[values]\nPORT = '41000-41999'\n");
    let _ = repo.dogwatch(&["trust"]).success();
    let tree = repo.spawn("y", &[]);
    let port = tree.said["values"]["PORT"].as_str().unwrap();
    let seen = fs::read_to_string(tree.folder.join("seen")).unwrap();
    assert_eq!(seen.trim(), format!("{port}|{}|", repo.top().display()));
}

#[test]
fn numbers_are_unique_among_living_sessions() {
    let repo = Repo::new();
    // Another process listens on one of them.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = u32::from(listener.local_addr().unwrap().port());
    let first = taken.min(65_533);
    repo.write(FILE, &format!("[values]\nPORT = '{first}-{}'\nSLOT = '7'\n", first + 2));
    let _ = repo.dogwatch(&["trust"]).success();
    let one = environment(&repo, "one", &[]);
    assert_ne!(one["values"]["PORT"].as_str().unwrap(), taken.to_string());
    assert_eq!(one["values"]["SLOT"], "7");
    let folder = one["worktree"]["folder"].as_str().unwrap().to_owned();
    let file = std::path::Path::new(&folder).join("env.done");
    dogwatch_testkit::eventually("its environment", || file.exists());
    let port = format!("PORT={}", one["values"]["PORT"].as_str().unwrap());
    assert!(fs::read_to_string(&file).unwrap().lines().any(|line| line == port));
    let args = ["spawn", "--json", "--name", "two", "--worktree", "--", "sleep", "300"];
    refused(repo.dogwatch(&args), "no_free_value");
    assert_eq!(repo.trees(), 2);
    // One that is given by hand needs none.
    let by_hand = environment(&repo, "hand", &["--env", "SLOT=x"]);
    assert!(by_hand["values"]["SLOT"].is_null());
    assert_ne!(by_hand["values"]["PORT"], one["values"]["PORT"]);
    // It is free again at the end of the session, whoever ended it.
    let pid = one["pid"].as_i64().unwrap();
    dogwatch_testkit::process::signal(i32::try_from(pid).unwrap(), rustix::process::Signal::KILL);
    repo.env.wait_state("one", "crashed");
    assert_eq!(environment(&repo, "two", &[])["values"]["SLOT"], "7");
}
