//! Things that could be mistaken for a session of ours, or for its end, and must not be.

use std::fs;
use std::time::{Duration, SystemTime};

use dogwatch_testkit::{TestEnv, eventually, process};
use rustix::process::Signal;

fn forget_server(env: &TestEnv) {
    let database = rusqlite::Connection::open(env.state_dir().join("dogwatch.db")).unwrap();
    database.execute_batch("UPDATE sessions SET server_pid = NULL, server_start = NULL").unwrap();
}

/// A new server gives the same pane ids out again.
#[test]
fn a_strangers_pane_with_the_same_id_is_left_alone() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    forget_server(&env);
    let server = env.server_pid();
    process::signal(server, Signal::KILL);
    process::wait_gone(server);
    process::wait_gone(session.pid);
    env.tmux(&["new-session", "-d", "-s", "mine", "cat", "-"]);
    env.tmux(&["new-window", "-t", "mine:", "cat", "-"]);
    assert!(env.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]).contains(&session.pane));
    let _ = env.dogwatch(&["kill-all", "--yes"]).success();
    let _ = env.dogwatch(&["gc", "--older-than", "0s"]).success();
    assert!(env.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]).contains(&session.pane));
}

/// Somebody put another program into the pane of a session whose runner was killed.
#[test]
fn another_program_in_the_pane_is_not_the_session() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    let runner = env.tmux(&["display-message", "-p", "-t", &session.pane, "#{pane_pid}"]);
    process::signal(runner.parse().unwrap(), Signal::KILL);
    env.wait_state("x", "lost");
    env.tmux(&["respawn-pane", "-k", "-t", &session.pane, "cat", "-"]);
    assert_eq!(env.seen("x")["state"], "lost");
    let _ = env.dogwatch(&["gc", "--older-than", "0s"]).success();
    assert!(env.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]).contains(&session.pane));
}

/// Ending what an agent left behind does not tell how the agent ended.
#[test]
fn an_end_that_nobody_saw_is_not_made_up() {
    let env = TestEnv::new();
    let script = "setsid sh -c 'echo $$ > left; exec sleep 300' & exec sleep 300";
    let session = env.spawn_script("x", script);
    let left = process::pid_in(&env.work().join("left"));
    let runner = env.tmux(&["display-message", "-p", "-t", &session.pane, "#{pane_pid}"]);
    process::signal(runner.parse().unwrap(), Signal::KILL);
    process::signal(session.pid, Signal::KILL);
    env.wait_state("x", "lost");
    let killed = env.dogwatch(&["kill", "x", "--json"]).success().json();
    assert!(killed["killed"][0]["exit"].is_null(), "{killed}");
    process::wait_gone(left);
    assert_eq!(env.seen("x")["state"], "lost");
}

/// The remedy for a damaged database is to move it away; sessions run on all the same.
#[test]
fn gc_leaves_a_running_session_alone_that_a_new_database_does_not_know() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    for file in ["dogwatch.db", "dogwatch.db-wal", "dogwatch.db-shm"] {
        let _ = fs::remove_file(env.state_dir().join(file));
    }
    let folder = env.session_dir(&session);
    let long_ago = SystemTime::now() - Duration::from_hours(9);
    fs::File::open(&folder).unwrap().set_modified(long_ago).unwrap();
    let _ = env.dogwatch(&["gc"]).success();
    assert!(folder.join("ended").exists());
    process::signal(session.pid, Signal::KILL);
    eventually("its end is written down", || {
        fs::read_to_string(folder.join("ended")).is_ok_and(|text| text.contains("signal"))
    });
}

/// The kernel knows who is stopped.
#[test]
fn a_stopped_program_is_not_working() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    let state = || env.dogwatch(&["why", "x", "--json"]).success().json();
    assert_eq!(state()["state"], "working");
    process::signal(session.pid, Signal::STOP);
    eventually("it is seen stopped", || state()["state"] == "waiting");
    assert!(state()["question"].as_str().unwrap().contains("stopped"), "{}", state());
    process::signal(session.pid, Signal::CONT);
    eventually("it goes on", || state()["state"] == "working");
}
