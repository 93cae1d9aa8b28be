//! The tmux server dies with its sessions: people are told once, and every command says what happened.

use dogwatch_testkit::{TestEnv, eventually, process, wait_until};
use rustix::process::Signal;
use serde_json::Value;

use crate::notify::{configure, log, to_file, told};
use crate::registry::Registry as _;

const EVERY: &str = "on = ['waiting', 'done', 'error', 'limited', 'crashed', 'stuck', 'looping', 'job_done', 'job_failed']\n";

fn configured() -> TestEnv {
    let env = TestEnv::new();
    configure(&env, &format!("[[notify]]\n{}{EVERY}", to_file(&env)));
    env
}

fn deaths(env: &TestEnv) -> Vec<Value> {
    let events = env.dogwatch(&["events", "--json"]).success().text();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["kind"] == "server_died").collect()
}

fn names(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

/// Waits for the one notification, and until nothing more can come: the supervisor ends when all is told.
fn the_only_notification(env: &TestEnv) -> Value {
    let notice = wait_until("a notification", || told(env).pop());
    eventually("the supervisor has nothing left to do", || env.supervisor().is_none());
    assert_eq!(told(env).len(), 1, "{:#?}", told(env));
    notice
}

fn says_that_all_are_lost(env: &TestEnv, sessions: &[&str]) {
    for name in sessions {
        let seen = env.seen(name);
        assert_eq!(seen["state"], "lost", "{seen}");
        let reason = seen["reason"].as_str().unwrap();
        assert!(reason.starts_with("the tmux server died at "), "{seen}");
        let status = env.dogwatch(&["status", name, "--json"]).json();
        let status = &status["sessions"][0];
        assert_eq!(
            (&status["state"], &status["server_died"]["exact"]),
            (&"lost".into(), &true.into())
        );
        assert!(env.dogwatch(&["status", name]).text().contains(reason));
        assert!(env.dogwatch(&["why", name]).text().contains(reason));
    }
}

#[test]
fn people_are_told_once_of_a_server_that_was_killed() {
    let env = configured();
    let sessions = ["a", "b", "c", "d", "e", "f", "g"];
    for name in sessions {
        env.spawn_script(name, "exec sleep 300");
    }
    let own = env.spawn_script("own", "exit 0");
    process::wait_gone(own.pid);
    let _ = env.dogwatch(&["kill", "g"]).success();
    eventually("of the one that ended by itself", || told(&env).len() == 1);
    process::signal(env.server_pid(), Signal::KILL);
    eventually("of all others", || told(&env).len() == 2);
    eventually("the supervisor has nothing left to do", || env.supervisor().is_none());
    let all = told(&env);
    assert_eq!(all.len(), 2, "{all:#?}");
    assert_eq!(all[1]["occasion"], "crashed");
    assert_eq!(all[1]["title"], "tmux server died: 6 sessions lost (a, b, c, d, e, …)");
    assert!(all[1]["text"].as_str().unwrap().contains("a, b, c, d, e, f"), "{all:#?}");
    assert_eq!(names(&all[1]["data"]["sessions"]), sessions[..6]);
    says_that_all_are_lost(&env, &sessions[..6]);
    assert_eq!(env.seen("own")["state"], "exited", "an end of its own");
    assert_eq!(env.seen("g")["state"], "stopped", "a person ended it");
    let deaths = deaths(&env);
    assert_eq!(deaths.len(), 1, "{deaths:#?}");
    assert_eq!(names(&deaths[0]["data"]["sessions"]), sessions[..6]);
    assert_eq!(log(&env).iter().filter(|one| one["state"] == "sent").count(), 2);
}

#[test]
fn and_of_one_with_a_single_session() {
    let env = configured();
    env.spawn_script("a", "exec sleep 300");
    process::signal(env.server_pid(), Signal::KILL);
    let notice = the_only_notification(&env);
    assert_eq!(notice["title"], "tmux server died: 1 session lost (a)");
    says_that_all_are_lost(&env, &["a"]);
}

#[test]
fn and_of_one_that_was_told_to_end() {
    let env = configured();
    for name in ["a", "b"] {
        env.spawn_script(name, "exec sleep 300");
    }
    // Its runner needs seconds to end it.
    env.spawn_script("c", "trap '' HUP TERM; echo ready; while :; do sleep 1; done");
    env.wait_screen("c", "ready");
    env.tmux(&["kill-server"]);
    let notice = the_only_notification(&env);
    assert_eq!(notice["title"], "tmux server died: 3 sessions lost (a, b, c)");
    says_that_all_are_lost(&env, &["a", "b", "c"]);
    assert_eq!(deaths(&env).len(), 1);
}

#[test]
fn runners_and_all_were_killed() {
    let env = configured();
    let sessions: Vec<_> =
        ["a", "b"].map(|name| (name, env.spawn_script(name, "exec sleep 300"))).into();
    let runner = |pane: &str| -> i32 {
        env.tmux(&["display-message", "-p", "-t", pane, "#{pane_pid}"]).parse().unwrap()
    };
    let runners: Vec<i32> = sessions.iter().map(|(_, one)| runner(&one.pane)).collect();
    let server = env.server_pid();
    let supervisor = wait_until("a supervisor", || env.supervisor());
    process::signal(server, Signal::STOP);
    for pid in runners.into_iter().chain([supervisor, server]) {
        process::signal(pid, Signal::KILL);
    }
    for (_, one) in &sessions {
        process::wait_gone(one.pid);
    }
    process::wait_gone(supervisor);
    assert_eq!(told(&env).len(), 0);
    // Nobody saw it. The next command finds it out, and has it told.
    let seen = env.seen("a");
    assert_eq!(seen["state"], "lost", "{seen}");
    assert!(seen["reason"].as_str().unwrap().starts_with("the tmux server died before "), "{seen}");
    let notice = the_only_notification(&env);
    assert_eq!(notice["title"], "tmux server died: 2 sessions lost (a, b)");
    let _ = env.dogwatch(&["ls"]).success();
    env.spawn_script("new", "exec sleep 300");
    assert_eq!((told(&env).len(), deaths(&env).len()), (1, 1));
}

#[test]
fn a_new_server_follows_at_once() {
    let env = configured();
    let old = ["a", "b"].map(|name| env.spawn_script(name, "exec sleep 300"));
    process::signal(env.server_pid(), Signal::KILL);
    let new = env.spawn_script("new", "exec sleep 300");
    assert_eq!(old[0].pane, new.pane, "ids start again");
    let notice = wait_until("a notification", || told(&env).pop());
    assert_eq!(notice["title"], "tmux server died: 2 sessions lost (a, b)");
    says_that_all_are_lost(&env, &["a", "b"]);
    assert_eq!(env.seen("new")["state"], "running");
    // That of the new server is another one.
    process::signal(env.server_pid(), Signal::KILL);
    eventually("of the new one", || told(&env).len() == 2);
    assert_eq!(told(&env)[1]["title"], "tmux server died: 1 session lost (new)");
}

#[test]
fn a_person_closed_the_last_session() {
    let env = configured();
    let session = env.spawn(&["--name", "a", "--", "sleep", "300"]);
    // A client that leaves slowly keeps the server for longer than a runner takes to look.
    let mut client = env.tmux_command(&env.socket(), &["-C", "attach", "-t", "a"]);
    let mut client = client
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = i32::try_from(client.id()).unwrap();
    eventually("it is attached", || !env.tmux(&["list-clients"]).is_empty());
    process::signal(pid, Signal::STOP);
    let server = env.server_pid();
    env.tmux(&["kill-session", "-t", "a"]);
    process::wait_gone(session.pid);
    env.wait_state("a", "stopped");
    process::signal(pid, Signal::CONT);
    drop(client.stdin.take());
    client.wait().unwrap();
    process::wait_gone(server);
    eventually("the supervisor has nothing left to do", || env.supervisor().is_none());
    assert_eq!(env.seen("a")["reason"], "terminal closed (signal 1 (HUP))");
    assert_eq!((told(&env).len(), deaths(&env).len()), (0, 0));
}

#[test]
fn all_that_are_lost_are_resumed() {
    let env = TestEnv::with_claude();
    let _ =
        env.roll(&["create", "claude", "--name", "w-creator-claude", "--workspace", "w"]).success();
    let _ = env.roll(&["spawn", "claude", "--name", "free"]).success();
    env.spawn_script("command", "exec sleep 300");
    for name in ["w-creator-claude", "free"] {
        env.say(name, "hello");
    }
    let id = |name: &str| {
        let listed = env.roll(&["ls", "--json"]).success().json();
        let rows = listed["sessions"].as_array().cloned().unwrap();
        let is_meant = |row: &Value| row["name"] == name && row["state"] == "running";
        rows.into_iter().find(is_meant).map(|row| row["conversation"].clone())
    };
    let before = [id("w-creator-claude").unwrap(), id("free").unwrap()];
    assert!(before.iter().all(Value::is_string), "{before:?}");
    process::signal(env.server_pid(), Signal::KILL);
    for name in ["w-creator-claude", "free", "command"] {
        env.wait_state(name, "lost");
    }
    let resumed = env.roll(&["resume", "--all-lost", "--json"]).success().json();
    assert_eq!(resumed["resumed"].as_array().unwrap().len(), 2, "{resumed:#}");
    assert_eq!([id("w-creator-claude").unwrap(), id("free").unwrap()], before);
    assert_eq!(env.listed("free")["status"], "running");
    let again = env.roll(&["resume", "--all-lost", "--json"]).success().json();
    assert_eq!(again["resumed"].as_array().unwrap().len(), 0, "{again:#}");
}

/// Sessions that were registered again from their folders know their server, too.
#[test]
fn those_of_a_database_that_was_lost_too() {
    let env = configured();
    env.spawn_script("a", "exec sleep 300");
    env.spawn_script("b", "exec sleep 300");
    for file in ["dogwatch.db", "dogwatch.db-wal", "dogwatch.db-shm"] {
        let _ = std::fs::remove_file(env.state_dir().join(file));
    }
    let listed = env.dogwatch(&["ls", "--json"]).success().json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2, "{listed:#}");
    eventually("a supervisor serves with the new one", || {
        let shown = env.dogwatch(&["supervisor", "--json"]).success().json();
        shown["health"]["clients"].is_u64() && shown["sessions"] == 2
    });
    process::signal(env.server_pid(), Signal::KILL);
    let title = the_only_notification(&env)["title"].as_str().unwrap_or_default().to_owned();
    assert!(title.contains("2 sessions lost"), "{title}");
    says_that_all_are_lost(&env, &["a", "b"]);
}
