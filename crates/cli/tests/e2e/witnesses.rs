//! A killed runner, a killed server and an ended agent are told apart.

use dogwatch_testkit::{Spawned, TestEnv, eventually, process};
use rustix::process::Signal;

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
    env.tmux(&["kill-server"]);
    process::wait_gone(session.pid);
    let seen = env.wait_state("x", "stopped");
    assert_eq!(seen["cause"], "hangup");
    assert_eq!(seen["reason"], "terminal closed (signal 1 (HUP))");
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
        let seen = env.wait_state(&name, "stopped");
        assert_eq!(seen["cause"], "hangup", "{seen}");
    }
}

#[test]
fn a_server_that_was_killed_with_an_agent_that_ignores_it() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "trap '' HUP TERM; echo ready; while :; do sleep 1; done");
    env.wait_screen("x", "ready");
    process::signal(env.server_pid(), Signal::KILL);
    let seen = env.wait_state("x", "stopped");
    assert_eq!(seen["reason"], "terminal closed (signal 9 (KILL))");
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
        env.seen("x")["reason"] == "the tmux server is gone and there is no exit record"
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
    env.wait_state("old", "stopped");
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
