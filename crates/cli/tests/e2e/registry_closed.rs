//! A registry that may be read and not written: said before anything is done.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use dogwatch_testkit::TestEnv;

use crate::registry::Registry as _;
use crate::store::{as_nobody, give_to_nobody};

/// What tmux has, and what the file and the journal say.
fn world(env: &TestEnv) -> (String, String, i64) {
    let database = rusqlite::Connection::open(env.state_dir().join("dogwatch.db")).unwrap();
    let told = "SELECT (SELECT count(*) FROM journal WHERE event != 'state') + (SELECT count(*) FROM touches)";
    let told = database.query_row(told, [], |row| row.get(0)).unwrap();
    let panes = ["list-panes", "-a", "-F", "#{session_name} #{pane_id} #{pane_dead}"];
    (env.tmux(&panes), env.registry(), told)
}

fn lock(env: &TestEnv) -> PathBuf {
    env.registry_path().with_file_name("agent-sessions.yaml.lock")
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Root may write anywhere, so that it cannot be done is made in ways that concern root too.
fn closed(close: impl Fn(&TestEnv), open: impl Fn(&TestEnv)) {
    let env = TestEnv::with_claude();
    let name = "work-creator-claude";
    let _ = env.roll(&["create", "claude"]).success();
    env.say(name, "hello");
    let _ = env.roll(&["delete", name]).success();
    let _ = env.roll(&["create", "claude", "--name", "living"]).success();
    env.by_hand("private");
    env.by_hand("lab-creator-claude");
    let before = world(&env);
    close(&env);
    for args in [
        &["create", "claude", "--name", "another"][..],
        &["resume", name],
        &["delete", "living"],
        &["adopt", "private"],
        &["reconcile", "--once"],
    ] {
        let said = env.roll(args).code(6);
        for part in
            ["agent-sessions.yaml", "cannot write", "hint: make the file", "writable for you"]
        {
            assert!(said.stderr.contains(part), "{args:?} {said}");
        }
        assert_eq!(world(&env), before, "{args:?}");
    }
    let said = env.roll(&["reconcile", "--once", "--dry-run", "--emit-diff"]).success().json();
    assert_eq!(said["drifts"][0]["class"], "B", "{said:#}");
    let _ = env.roll(&["registry"]).success();
    open(&env);
    let _ = env.roll(&["resume", name]).success();
    let _ = env.roll(&["delete", "living"]).success();
    let _ = env.roll(&["adopt", "private"]).success();
}

#[test]
fn a_file_that_was_made_read_only() {
    closed(|env| mode(&env.registry_path(), 0o444), |env| mode(&env.registry_path(), 0o600));
}

#[test]
fn a_folder_in_the_place_of_its_lock() {
    let close = |env: &TestEnv| {
        fs::remove_file(lock(env)).unwrap();
        fs::create_dir(lock(env)).unwrap();
    };
    closed(close, |env| fs::remove_dir(lock(env)).unwrap());
}

/// A folder whose mode forbids it, for somebody whom modes concern.
#[test]
fn a_folder_that_is_read_only() {
    let env = TestEnv::with_claude();
    mode(&env.root(), 0o755);
    let folder = env.root().join("roll");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("roll.yaml");
    fs::write(&file, "sessions:\n").unwrap();
    for path in
        [env.work().to_owned(), env.home().to_owned(), env.root(), file.clone(), folder.clone()]
    {
        give_to_nobody(&path);
    }
    mode(&folder, 0o555);
    let mut create = as_nobody(&env, &["create", "claude"]);
    create.env(
        "PATH",
        env.roll_command(&[]).get_envs().find(|(key, _)| *key == "PATH").unwrap().1.unwrap(),
    );
    let said = env.run(create.env("DOGWATCH_REGISTRY", &file)).code(6);
    assert!(said.stderr.contains("roll.yaml.lock"), "{said}");
    mode(&folder, 0o755);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    assert!(!env.socket().exists(), "nothing was started");
}
