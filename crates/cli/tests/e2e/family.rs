//! Ending a session ends everything it started, wherever that went, and nothing else.

use std::path::PathBuf;

use dogwatch_testkit::{Spawned, TestEnv, eventually, process};

/// Spawns a script that leaves children, each of which writes its pid into a file of the work folder.
fn spawn_with_children(env: &TestEnv, script: &str, files: &[&str]) -> (Spawned, Vec<i32>) {
    let session = env.spawn_script("x", script);
    let pids = files.iter().map(|file| process::pid_in(&env.work().join(file))).collect();
    (session, pids)
}

/// Daemons of all kinds: the last one ignores HUP and TERM as well.
const DAEMONS: &str = r#"
sleep 300 & echo $! > plain
setsid sh -c 'echo $$ > own-session; exec sleep 300' </dev/null >/dev/null 2>&1 &
(setsid sh -c '(echo $$ > /dev/null; sh -c "echo \$\$ > double-fork; exec sleep 300") & exit' &) </dev/null >/dev/null 2>&1
nohup sh -c 'echo $$ > nohup; exec sleep 300' >/dev/null 2>&1 &
env -i setsid /bin/sh -c 'echo $$ > cleared; exec sleep 300' </dev/null >/dev/null 2>&1 &
setsid sh -c 'trap "" HUP TERM INT; echo $$ > stubborn; while :; do sleep 1; done' </dev/null >/dev/null 2>&1 &
"#;
const DAEMON_FILES: [&str; 6] =
    ["plain", "own-session", "double-fork", "nohup", "cleared", "stubborn"];

#[test]
fn daemons_end_with_a_kill() {
    let env = TestEnv::new();
    let script = format!("{DAEMONS}\nexec sleep 300");
    let (session, pids) = spawn_with_children(&env, &script, &DAEMON_FILES);
    assert!(pids.iter().all(|pid| process::is_alive(*pid)));
    let _ = env.dogwatch(&["kill", "x"]).success();
    // When the command returns they are gone, not later.
    let left: Vec<_> =
        DAEMON_FILES.iter().zip(&pids).filter(|(_, p)| process::is_alive(**p)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!process::is_alive(session.pid));
}

#[test]
fn daemons_end_with_a_kill_at_once() {
    let env = TestEnv::new();
    let script = format!("{DAEMONS}\nexec sleep 300");
    let (_, pids) = spawn_with_children(&env, &script, &DAEMON_FILES);
    let _ = env.dogwatch(&["kill", "--now", "x"]).success();
    assert!(!pids.iter().any(|pid| process::is_alive(*pid)));
}

#[test]
fn daemons_end_when_the_agent_ends() {
    let env = TestEnv::new();
    let script =
        format!("{DAEMONS}\nwhile [ ! -e go ]; do sleep 0.05; done; echo last words; exit 5");
    let (_, pids) = spawn_with_children(&env, &script, &DAEMON_FILES);
    env.write("go", "");
    let seen = env.wait_state("x", "crashed");
    assert_eq!(seen["exit"]["code"], 5);
    for pid in pids {
        process::wait_gone(pid);
    }
    // The last screen was kept, whoever else ended at the same time.
    eventually("the screen is kept", || {
        let captured = env.dogwatch(&["capture", "--json", "x"]).success().json();
        captured["from"] == "kept" && captured["text"].as_str().unwrap().contains("last words")
    });
}

#[test]
fn the_last_screen_is_kept_beside_an_ending_daemon() {
    let env = TestEnv::new();
    for n in 0..8 {
        let name = format!("s{n}");
        let session =
            env.spawn_script(&name, "echo last words; (setsid sleep 300 &) >/dev/null; exit 0");
        let screen = env.session_dir(&session).join("screen");
        eventually("the screen is kept", || screen.exists());
    }
}

#[test]
fn daemons_end_when_the_server_does() {
    let env = TestEnv::new();
    let script = format!("{DAEMONS}\nexec sleep 300");
    let (session, pids) = spawn_with_children(&env, &script, &DAEMON_FILES);
    env.tmux(&["kill-server"]);
    for pid in pids.into_iter().chain([session.pid]) {
        process::wait_gone(pid);
    }
}

#[test]
fn daemons_end_even_if_the_runner_was_killed() {
    let env = TestEnv::new();
    let (session, pids) = spawn_with_children(
        &env,
        "setsid sh -c 'echo $$ > own; exec sleep 300' </dev/null >/dev/null 2>&1 & exec sleep 300",
        &["own"],
    );
    process::signal(runner_pid(&env, &session), rustix::process::Signal::KILL);
    env.wait_state("x", "lost");
    let _ = env.dogwatch(&["kill", "x"]).success();
    assert!(!process::is_alive(pids[0]) && !process::is_alive(session.pid));
}

fn runner_pid(env: &TestEnv, session: &Spawned) -> i32 {
    let pid = env.tmux(&["display-message", "-p", "-t", &session.pane, "#{pane_pid}"]);
    pid.parse().unwrap()
}

/// A second window and a second pane, as a person would open them; returns their pids.
fn open_beside(env: &TestEnv, session: &Spawned) -> Vec<i32> {
    let script = |file: &str| format!("echo $$ > {file}; exec sleep 300");
    env.tmux(&["new-window", "-d", "-t", "=x:", &script("window")]);
    env.tmux(&["split-window", "-d", "-t", &session.pane, &script("pane")]);
    let files: [PathBuf; 2] = ["window", "pane"].map(|file| env.work().join(file));
    files.iter().map(|file| process::pid_in(file)).collect()
}

#[test]
fn a_persons_window_and_pane_outlive_a_kill() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    let theirs = open_beside(&env, &session);
    let _ = env.dogwatch(&["kill", "x"]).success();
    assert!(theirs.iter().all(|pid| process::is_alive(*pid)));
    assert_eq!(env.tmux(&["list-panes", "-s", "-t", "=x:", "-F", "#{pane_dead}"]), "0\n0");
}

#[test]
fn a_persons_window_and_pane_outlive_the_agent() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "while [ ! -e go ]; do sleep 0.05; done");
    let theirs = open_beside(&env, &session);
    env.write("go", "");
    env.wait_state("x", "exited");
    let dead = || env.tmux(&["display-message", "-p", "-t", &session.pane, "#{pane_dead}"]);
    eventually("the runner has left", || dead() == "1");
    assert!(theirs.iter().all(|pid| process::is_alive(*pid)));
}

#[test]
fn a_daemon_that_forks_without_end() {
    let env = TestEnv::new();
    let fork = "trap '' TERM HUP; echo $$ > forker; while :; do sleep 0.01 & sleep 0.01; done";
    let (_, pids) = spawn_with_children(
        &env,
        &format!(
            "env -i PATH=\"$PATH\" setsid sh -c \"{}\" & exec sleep 300",
            fork.replace('$', "\\$")
        ),
        &["forker"],
    );
    let _ = env.dogwatch(&["kill", "x"]).success();
    assert!(!process::is_alive(pids[0]));
}
