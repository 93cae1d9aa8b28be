use std::fs;
use std::time::{Duration, SystemTime};

use dogwatch_testkit::{TestEnv, eventually, process};
use serde_json::Value;

#[test]
fn forgets_what_ended_and_spares_what_lives() {
    let env = TestEnv::new();
    let alive = env.spawn_script("alive", "exec sleep 300");
    let ended = env.spawn_script("ended", "exit 0");
    env.wait_state("ended", "exited");
    insta::assert_snapshot!(env.dogwatch(&["gc"]).success(), @r"
    ------- stderr -------
    nothing to clean up
    ");
    let before = snapshot(&env);
    insta::assert_snapshot!(env.dogwatch(&["gc", "--older-than", "0s", "--dry-run"]), @"would remove ended");
    assert_eq!(snapshot(&env), before, "a dry run changed something");
    insta::assert_snapshot!(env.dogwatch(&["gc", "--older-than", "0s", "--json"]), @r#"{"dry_run":false,"sessions":["ended"],"folders":[],"processes":[],"worktrees":[],"left":[],"files":[],"not_shrunk":null}"#);
    assert!(!env.session_dir(&ended).exists());
    assert!(env.session_dir(&alive).exists() && process::is_alive(alive.pid));
    let _ = env.dogwatch(&["capture", "ended"]).code(3);
    let _ = env.dogwatch(&["exists", "ended"]).code(1);
    assert_eq!(env.seen("alive")["state"], "running");
}

/// Everything a dry run could change.
fn snapshot(env: &TestEnv) -> (Value, Vec<String>, String) {
    let listed = env.dogwatch(&["ls", "--all", "--json"]).success().facts();
    let mut files: Vec<String> = fs::read_dir(env.state_dir().join("sessions"))
        .unwrap()
        .map(|e| e.unwrap().path().display().to_string())
        .collect();
    files.sort();
    (listed, files, env.tmux(&["list-panes", "-a"]))
}

#[test]
fn ends_what_has_outlived_its_session() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "trap '' HUP; echo ready; while :; do sleep 1; done");
    env.wait_screen("x", "ready");
    let runner = env.tmux(&["display-message", "-p", "-t", &session.pane, "#{pane_pid}"]);
    process::signal(runner.parse().unwrap(), rustix::process::Signal::KILL);
    env.wait_state("x", "lost");
    let dry = env.dogwatch(&["gc", "--dry-run", "--json"]).success().json();
    assert!(dry["processes"].as_array().unwrap().contains(&session.pid.into()), "{dry}");
    assert!(process::is_alive(session.pid));
    let _ = env.dogwatch(&["gc"]).success();
    process::wait_gone(session.pid);
}

#[test]
fn removes_folders_that_nobody_owns_once_they_are_old() {
    let env = TestEnv::new();
    let _ = env.dogwatch(&["ls"]).success();
    let sessions = env.state_dir().join("sessions");
    for name in ["young", "old"] {
        fs::create_dir_all(sessions.join(name)).unwrap();
        fs::write(sessions.join(name).join("argv"), "x").unwrap();
    }
    let two_hours_ago = SystemTime::now() - Duration::from_hours(2);
    fs::File::open(sessions.join("old")).unwrap().set_modified(two_hours_ago).unwrap();
    insta::assert_snapshot!(env.dogwatch(&["gc"]), @"removed the directory old, which belongs to no session");
    assert!(sessions.join("young").exists() && !sessions.join("old").exists());
}

#[test]
fn durations_that_make_no_sense() {
    let env = TestEnv::new();
    for bad in ["soon", "-1h", "", "99999999999999y"] {
        let _ = env.dogwatch(&["gc", &format!("--older-than={bad}")]).code(2);
    }
}

#[test]
fn sessions_of_servers_that_are_gone_are_forgotten_too() {
    let env = TestEnv::new();
    let socket = env.another_socket("elsewhere");
    let mut spawn = env.command(&["spawn", "--name", "far", "--", "true"]);
    let _spawned = env.run(spawn.env("DOGWATCH_TMUX", &socket)).success();
    eventually("far has ended", || {
        let mut list = env.command(&["ls", "--json"]);
        let listed = env.run(list.env("DOGWATCH_TMUX", &socket)).json();
        listed["sessions"][0]["state"] == "exited"
    });
    let _ = env.tmux_on(&socket, &["kill-server"]);
    let forgot = env.dogwatch(&["gc", "--older-than", "0s", "--json"]).success().json();
    assert_eq!(forgot["sessions"][0], "far", "{forgot}");
}
