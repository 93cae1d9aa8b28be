//! Many processes at once.

use std::collections::HashSet;
use std::thread;

use dogwatch_testkit::TestEnv;

#[test]
fn fifty_spawns_in_the_same_second() {
    let env = TestEnv::new();
    let names: Vec<String> = thread::scope(|scope| {
        let spawn = || {
            let args =
                ["spawn", "--step", "dev", "--epic", "1", "--story", "1.1", "--", "sleep", "300"];
            env.command(&args).output().unwrap()
        };
        let started: Vec<_> = (0..50).map(|_| scope.spawn(spawn)).collect();
        let finished = started.into_iter().map(|handle| handle.join().unwrap());
        finished
            .map(|output| {
                let error = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{error}");
                String::from_utf8(output.stdout).unwrap().trim().to_owned()
            })
            .collect()
    });
    let different: HashSet<&String> = names.iter().collect();
    assert_eq!(different.len(), 50, "{names:?}");
    let listed = env.dogwatch(&["ls", "--json"]).success().json();
    let sessions = listed["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 50);
    assert!(sessions.iter().all(|s| s["state"] == "running"), "{listed}");
    assert_eq!(env.tmux(&["list-sessions"]).lines().count(), 50);
    let killed = env.dogwatch(&["kill-all", "--yes", "--now", "--json"]).success().json();
    assert_eq!(killed["killed"].as_array().unwrap().len(), 50);
}

#[test]
fn spawns_lists_and_hooks_beside_each_other() {
    let env = TestEnv::new();
    // Nothing is there yet: all of them may be the one that makes the store.
    thread::scope(|scope| {
        for n in 0..20 {
            let env = &env;
            let command = env.command(&["spawn", "--name", &format!("s{n}"), "--", "sleep", "300"]);
            scope.spawn(move || check(command));
            let command = env.command(&["ls", "--json"]);
            scope.spawn(move || check(command));
            let payload = format!(r#"{{"hook_event_name":"Stop","n":{n}}}"#);
            let mut command = env.command(&["hook", "claude", &payload]);
            command.env("DOGWATCH_SESSION", "s");
            scope.spawn(move || check(command));
        }
    });
    let listed = env.dogwatch(&["ls", "--json"]).success().json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 20);
    // Each hook is in the database, or in the spool until somebody asks.
    let database = rusqlite::Connection::open(env.state_dir().join("dogwatch.db")).unwrap();
    let kept: u32 =
        database.query_row("SELECT count(*) FROM signals", [], |row| row.get(0)).unwrap();
    let spool = std::fs::read_dir(env.state_dir().join("spool")).into_iter().flatten().count();
    assert_eq!(kept as usize + spool, 20);
}

fn check(mut command: std::process::Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_session_is_never_called_lost_while_it_is_made() {
    let env = TestEnv::new();
    for n in 0..12 {
        let name = format!("s{n}");
        let mut spawning = env.command(&["spawn", "--name", &name, "--", "sleep", "300"]);
        let mut child = spawning.stdout(std::process::Stdio::null()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            let listed = env.dogwatch(&["ls", "--json"]).success().json();
            let all = listed["sessions"].as_array().unwrap();
            assert!(!all.iter().any(|s| s["state"] == "lost"), "{listed}");
            // Nor is it taken for rubbish.
            let _ = env.dogwatch(&["gc", "--older-than", "0s"]).success();
        }
        assert!(child.wait().unwrap().success());
        assert_eq!(env.seen(&name)["state"], "running");
    }
}

#[test]
fn one_session_ended_by_many_at_once() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    thread::scope(|scope| {
        for _ in 0..8 {
            let command = env.command(&["kill", "x"]);
            scope.spawn(move || check(command));
        }
    });
    let _ = env.dogwatch(&["kill", "x", "x", &session.id]).success();
    assert_eq!(env.seen("x")["cause"], "request");
    dogwatch_testkit::process::wait_gone(session.pid);
}
