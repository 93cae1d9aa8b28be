//! A command may be killed at any moment: what it leaves is consistent, listed, and can be ended.

use std::process::Stdio;
use std::time::Duration;

use dogwatch_testkit::{TestEnv, eventually, process};
use rustix::process::Signal;

#[test]
fn spawns_killed_at_any_moment() {
    let env = TestEnv::new();
    env.spawn_script("first", "exec sleep 300");
    for n in 0..40_u64 {
        let name = format!("s{n}");
        let mut command = env.command(&["spawn", "--name", &name, "--", "sleep", "300"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // sleep: the moments of a kill are spread over the time that a spawn takes.
        std::thread::sleep(Duration::from_micros(n * 800));
        process::signal(i32::try_from(child.id()).unwrap(), Signal::KILL);
        child.wait().unwrap();
    }
    let listed = env.dogwatch(&["ls", "--json"]).success().json();
    let sessions = listed["sessions"].as_array().unwrap();
    let names: Vec<&str> = sessions.iter().map(|s| s["name"].as_str().unwrap()).collect();
    // tmux has no session that is not listed.
    for name in env.tmux(&["list-sessions", "-F", "#{session_name}"]).lines() {
        assert!(names.contains(&name), "{name} is unknown");
    }
    let _ = env.dogwatch(&["kill-all", "--now", "--yes"]).success();
    assert!(env.dogwatch(&["ls", "--json"]).json()["sessions"].as_array().unwrap().is_empty());
    let format = "#{session_name} #{pane_id} #{pane_dead} #{pane_start_command}";
    let running = env.tmux_command(&env.socket(), &["list-panes", "-aF", format]).output().unwrap();
    assert!(!running.status.success(), "{}", String::from_utf8_lossy(&running.stdout));
}

#[test]
fn kills_killed_at_any_moment() {
    let env = TestEnv::new();
    for n in 0..12_u64 {
        let name = format!("s{n}");
        let session = env.spawn_script(&name, "exec sleep 300");
        let mut command = env.command(&["kill", &name]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // sleep: the moments of a kill are spread over the time that a kill takes.
        std::thread::sleep(Duration::from_millis(n * 2));
        process::signal(i32::try_from(child.id()).unwrap(), Signal::KILL);
        child.wait().unwrap();
        // Whatever was done of it, doing it again finishes it.
        let _ = env.dogwatch(&["kill", &name]).success();
        assert!(!process::is_alive(session.pid));
        let seen = env.seen(&name);
        assert_eq!(
            (&seen["cause"], &seen["put_away"]),
            (&"request".into(), &true.into()),
            "{seen}"
        );
    }
}

/// tmux does what it was asked to once it goes on, long after `spawn` has given up. No agent starts then.
#[test]
fn a_server_that_is_stopped_starts_nothing_later() {
    let env = TestEnv::new();
    env.tmux(&["new-session", "-d", "-s", "mine", "cat"]);
    let server: i32 = env.tmux(&["display-message", "-p", "#{pid}"]).parse().unwrap();
    let late = ["spawn", "--name", "late", "--", "sh", "-c", "echo ran >> ran; exec sleep 300"];
    process::signal(server, Signal::STOP);
    let said = env.dogwatch(&late);
    process::signal(server, Signal::CONT);
    assert_eq!(said.code, Some(124), "{said}");
    assert!(said.stderr.starts_with("error: session late was not started: "), "{said}");
    let sessions = || env.tmux(&["list-sessions", "-F", "#{session_name}"]);
    eventually("nothing is left in tmux", || sessions() == "mine");
    let listed = env.dogwatch(&["ls", "--all", "--json"]).success().json();
    assert!(listed["sessions"].as_array().unwrap().is_empty(), "{listed}");
    assert!(!env.work().join("ran").exists());
    // The name is free, and the agent of the second try is the only one that ever ran.
    let _ = env.dogwatch(&late).success();
    let ran = || std::fs::read_to_string(env.work().join("ran")).unwrap_or_default();
    eventually("it runs", || !ran().is_empty());
    assert_eq!(ran(), "ran\n");
}
