//! A session started from within a session is a house of its own.

use dogwatch_testkit::{TestEnv, dogwatch, eventually, process};

/// Spawns an outer session whose script spawns an inner one; returns both agents' pids.
fn spawn_nested(env: &TestEnv, more: &str) -> (i32, i32) {
    let script = format!(
        "{more} '{}' spawn --name inner -- sh -c 'echo $$ > inner.pid; exec sleep 300'; exec sleep 300",
        dogwatch()
    );
    let outer = env.spawn_script("outer", &script);
    (outer.pid, process::pid_in(&env.work().join("inner.pid")))
}

#[test]
fn on_the_same_server_it_outlives_the_outer_one() {
    let env = TestEnv::new();
    let (outer, inner) = spawn_nested(&env, "");
    env.wait_state("inner", "running");
    let _ = env.dogwatch(&["kill", "outer"]).success();
    assert!(!process::is_alive(outer) && process::is_alive(inner));
    assert_eq!(env.seen("inner")["state"], "running");
    let _ = env.dogwatch(&["kill", "inner"]).success();
    process::wait_gone(inner);
}

#[test]
fn on_another_server_it_outlives_the_outer_one() {
    let env = TestEnv::new();
    let other = env.another_socket("other");
    let set = format!("DOGWATCH_TMUX='{}'", other.display());
    let (outer, inner) = spawn_nested(&env, &set);
    let on_other = |args: &[&str]| env.run(env.command(args).env("DOGWATCH_TMUX", &other));
    eventually("the inner one runs", || {
        on_other(&["ls", "--json"]).json()["sessions"][0]["state"] == "running"
    });
    let _ = env.dogwatch(&["kill", "--now", "outer"]).success();
    assert!(!process::is_alive(outer) && process::is_alive(inner));
    assert_eq!(on_other(&["ls", "--json"]).json()["sessions"][0]["state"], "running");
    let _ = on_other(&["kill", "inner"]).success();
    process::wait_gone(inner);
}

#[test]
fn it_outlives_an_outer_one_that_ends_by_itself() {
    let env = TestEnv::new();
    let other = env.another_socket("other");
    let script = format!(
        "DOGWATCH_TMUX='{}' '{}' spawn --name inner -- sh -c 'echo $$ > inner.pid; exec sleep 300'",
        other.display(),
        dogwatch()
    );
    let outer = env.spawn_script("outer", &script);
    let inner = process::pid_in(&env.work().join("inner.pid"));
    env.wait_state("outer", "exited");
    let dead = || env.tmux(&["display-message", "-p", "-t", &outer.pane, "#{pane_dead}"]);
    eventually("the outer runner has left", || dead() == "1");
    assert!(process::is_alive(inner));
    let command = &mut env.command(&["kill", "inner"]);
    let _ = env.run(command.env("DOGWATCH_TMUX", &other)).success();
}

#[test]
fn a_tmux_server_that_carries_no_session_of_ours_ends_with_it() {
    let env = TestEnv::new();
    let other = env.another_socket("other");
    let script = format!(
        "tmux -f /dev/null -S '{}' new-session -d 'echo $$ > in-tmux; exec sleep 300'; exec sleep 300",
        other.display()
    );
    env.spawn_script("x", &script);
    let inside = process::pid_in(&env.work().join("in-tmux"));
    let _ = env.dogwatch(&["kill", "x"]).success();
    process::wait_gone(inside);
}

#[test]
fn a_session_can_end_itself() {
    let env = TestEnv::new();
    let script = format!("'{}' kill --now suicidal; exec sleep 300", dogwatch());
    let session = env.spawn_script("suicidal", &script);
    process::wait_gone(session.pid);
    eventually("it is over", || env.seen("suicidal")["state"] == "stopped");
    assert_eq!(env.seen("suicidal")["cause"], "request");
}
