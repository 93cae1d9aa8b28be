//! A killed runner, a killed server and an ended agent are told apart.

use dogwatch_testkit::{Spawned, TestEnv, eventually, process};
use rustix::process::Signal;
use serde_json::Value;

fn runner_pid(env: &TestEnv, session: &Spawned) -> i32 {
    let pid = env.tmux(&["display-message", "-p", "-t", &session.pane, "#{pane_pid}"]);
    pid.parse().unwrap()
}

#[test]
fn a_killed_runner_whose_agent_goes_on() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "trap '' HUP; echo ready; while :; do sleep 1; done");
    env.wait_screen("x", "ready");
    process::signal(runner_pid(&env, &session), Signal::KILL);
    let seen = env.wait_state("x", "lost");
    assert_eq!(
        seen["reason"],
        "the runner was killed; the agent process is still running without it"
    );
    assert!(seen["exit"].is_null());
    let output = env.dogwatch(&["kill", "x"]).success();
    insta::assert_snapshot!(output, @"x: ended by KILL (signal 9 (KILL))");
    assert!(!process::is_alive(session.pid));
}

#[test]
fn a_killed_runner_whose_agent_went_with_it() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    process::signal(runner_pid(&env, &session), Signal::KILL);
    process::wait_gone(session.pid);
    eventually("the pane is dead", || {
        env.seen("x")["reason"] == "the runner was killed before it recorded how the agent ended"
    });
    assert_eq!(env.seen("x")["state"], "lost");
    let output = env.dogwatch(&["kill", "x"]).success();
    insta::assert_snapshot!(output, @"x: already ended (no exit record)");
}

#[test]
fn a_server_that_was_told_to_end() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    let own = env.spawn_script("own", "sleep 0.1; exit 3");
    process::wait_gone(own.pid);
    env.wait_state("own", "crashed");
    env.spawn_script("y", "trap '' HUP; while :; do sleep 1; done");
    env.tmux(&["kill-server"]);
    process::wait_gone(session.pid);
    for name in ["x", "y"] {
        let seen = env.wait_state(name, "lost");
        assert_eq!(seen["cause"], "hangup");
        assert!(is_server_death(&seen), "{seen}");
    }
    assert_eq!(env.seen("own")["state"], "crashed", "it had ended before");
}

fn is_server_death(seen: &Value) -> bool {
    seen["reason"].as_str().unwrap().starts_with("the tmux server died at ")
}

#[test]
fn a_server_that_was_killed() {
    let env = TestEnv::new();
    // Often: the agent and its runner learn of it at the same moment.
    for n in 0..6 {
        let name = format!("s{n}");
        let session = env.spawn_script(&name, "exec sleep 300");
        process::signal(env.server_pid(), Signal::KILL);
        process::wait_gone(session.pid);
        let seen = env.wait_state(&name, "lost");
        assert!(seen["cause"] == "hangup" && is_server_death(&seen), "{seen}");
    }
}

#[test]
fn a_server_that_was_killed_with_an_agent_that_ignores_it() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "trap '' HUP TERM; echo ready; while :; do sleep 1; done");
    env.wait_screen("x", "ready");
    process::signal(env.server_pid(), Signal::KILL);
    let seen = env.wait_state("x", "lost");
    assert!(is_server_death(&seen), "{seen}");
    assert!(!process::is_alive(session.pid));
}

#[test]
fn server_and_runner_killed_at_once() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    let runner = runner_pid(&env, &session);
    let server = env.server_pid();
    // So that the server has no time to notice anything before its own end.
    process::signal(server, Signal::STOP);
    process::signal(runner, Signal::KILL);
    process::signal(server, Signal::KILL);
    let seen = env.wait_state("x", "lost");
    eventually("the agent is gone", || {
        let reason = env.seen("x")["reason"].as_str().unwrap_or_default().to_owned();
        reason.starts_with("the tmux server died") && !reason.contains("still running")
    });
    assert!(seen["cause"].is_null());
}

#[test]
fn a_pane_that_a_person_closed() {
    let env = TestEnv::new();
    env.spawn_script("other", "exec sleep 300");
    let session = env.spawn_script("x", "exec sleep 300");
    env.tmux(&["kill-pane", "-t", &session.pane]);
    let seen = env.wait_state("x", "stopped");
    assert_eq!(seen["cause"], "hangup");
    let output = env.dogwatch(&["capture", "x"]).code(3);
    insta::assert_snapshot!(output, @r"
    ------- stderr -------
    error: no screen of session x was saved: its terminal closed before dogwatch could read it
    [exit code: 3]
    ");
}

#[test]
fn a_new_server_with_the_same_pane_ids() {
    let env = TestEnv::new();
    let old = env.spawn_script("old", "exec sleep 300");
    process::signal(env.server_pid(), Signal::KILL);
    env.wait_state("old", "lost");
    let new = env.spawn_script("new", "exec sleep 300");
    assert_eq!(old.pane, new.pane, "ids start again");
    // Ending the old one must not touch the pane that has its number now.
    let _ = env.dogwatch(&["kill", "old"]).success();
    assert_eq!(env.seen("new")["state"], "running");
    let _ = env.dogwatch(&["kill", &new.pane]).success();
    assert_eq!(env.seen("new")["state"], "stopped");
}

#[test]
fn a_server_that_does_not_answer() {
    let env = TestEnv::new();
    env.spawn_script("x", "exec sleep 300");
    let server = env.server_pid();
    process::signal(server, Signal::STOP);
    let listed = env.dogwatch(&["ls", "--json"]);
    process::signal(server, Signal::CONT);
    let seen = &listed.success().json()["sessions"][0];
    assert_eq!(seen["state"], "unknown", "{seen}");
    assert!(seen["reason"].as_str().unwrap().starts_with("tmux did not answer"), "{seen}");
}
