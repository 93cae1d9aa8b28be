//! The standing watch: told at once, telling once, and leaving nothing behind.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use dogwatch_testkit::{PATIENCE, Spawned, TestEnv, eventually, process, wait_until};
use rustix::process::Signal;
use serde_json::Value;

const WORKING: &str =
    include_str!("../../../core/testdata/screens/codex/0.166.0/working_thinking.txt");
const DONE: &str = include_str!("../../../core/testdata/screens/codex/0.166.0/done_turn.txt");
const CLAUDE_IDLE: &str =
    include_str!("../../../core/testdata/screens/claude/2.1.325/done_short.txt");

/// A `watch --json` under way.
struct Watch {
    child: Child,
    lines: Receiver<Value>,
}

impl Watch {
    fn start(env: &TestEnv, args: &[&str]) -> Self {
        let mut command = env.command(&["watch", "--json"]);
        let mut child = command.args(args).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, lines }
    }

    /// The next line of the stream.
    #[track_caller]
    fn next(&self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("the watch goes on telling")
    }

    /// The next line must tell of this.
    #[track_caller]
    fn tells(&self, event: &str, name: &str, state: &str) -> Value {
        let line = self.next();
        assert_eq!((&line["event"], &line["name"]), (&event.into(), &name.into()), "{line:#}");
        assert_eq!(line["state"], state, "{line:#}");
        line
    }

    /// Some line must tell of this; others may come before.
    #[track_caller]
    fn tells_in_time(&self, name: &str, state: &str) -> Value {
        loop {
            let line = self.next();
            if line["name"] == name && line["state"] == state {
                return line;
            }
        }
    }

    /// Waits for its end, which must be a good one.
    #[track_caller]
    fn ends(mut self) {
        let status = wait_until("the watch ends", || self.child.try_wait().unwrap());
        assert_eq!(status.code(), Some(0));
    }

    #[track_caller]
    fn interrupted(self) {
        process::signal(i32::try_from(self.child.id()).unwrap(), Signal::INT);
        self.ends();
    }
}

fn hook(env: &TestEnv, session: &Spawned, payload: &str) {
    let mut command = env.command(&["hook", "claude"]);
    command.env("DOGWATCH_SESSION", &session.id);
    let _ = env.run_with_input(&mut command, payload.as_bytes()).success();
}

/// What the journal says of a session's states.
fn journal(env: &TestEnv, session: &Spawned) -> Vec<String> {
    let database = rusqlite::Connection::open(env.state_dir().join("dogwatch.db")).unwrap();
    let mut query = database
        .prepare("SELECT data FROM journal WHERE session = ? AND event = 'state' ORDER BY id")
        .unwrap();
    let rows = query.query_map([&session.id], |row| row.get::<_, String>(0)).unwrap();
    let state = |text: String| serde_json::from_str::<Value>(&text).unwrap()["state"].clone();
    rows.map(|row| state(row.unwrap()).as_str().unwrap().to_owned()).collect()
}

/// A script that shows a screen until a file is there, then another, and stays.
fn shows(env: &TestEnv, screens: [&str; 2]) -> String {
    let first = env.write("first.txt", screens[0].trim_end());
    let second = env.write("second.txt", screens[1].trim_end());
    let show = |path: &Path| format!("printf '\\033[H\\033[2J'; cat '{}'", path.display());
    let go = env.work().join("go");
    let wait = format!("while [ ! -e '{}' ]; do sleep 0.02; done", go.display());
    format!("stty -echo\n{}\n{wait}\n{}\nsleep 300", show(&first), show(&second))
}

#[test]
fn turns_and_ends_are_told_and_written_down_once() {
    let env = TestEnv::new();
    let one = env.spawn_script("one", "exec sleep 300");
    let watches = [Watch::start(&env, &[]), Watch::start(&env, &[])];
    for watch in &watches {
        let seen = watch.tells("seen", "one", "working");
        assert_eq!((&seen["from"], &seen["ours"]), (&Value::Null, &true.into()));
        assert_eq!(seen["reasons"].as_array().unwrap().len(), 7);
    }
    hook(&env, &one, r#"{"hook_event_name":"Stop"}"#);
    for watch in &watches {
        assert_eq!(watch.tells("changed", "one", "idle")["from"], "working");
    }
    let asks = r#"{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm x"}}"#;
    hook(&env, &one, asks);
    for watch in &watches {
        assert_eq!(watch.tells("changed", "one", "waiting")["for"], "permission");
    }
    let second = env.spawn_script("two", "exit 3");
    for watch in &watches {
        let line = watch.tells_in_time("two", "crashed");
        assert_eq!(line["exit"]["code"], 3, "{line:#}");
    }
    process::signal(one.pid, Signal::KILL);
    for watch in &watches {
        watch.tells("changed", "one", "crashed");
    }
    let status = env.dogwatch(&["status", "--json"]).success().json();
    assert_eq!(status["sessions"][0]["state"], "crashed");
    assert_eq!(journal(&env, &one), ["working", "idle", "waiting", "crashed"]);
    assert_eq!(journal(&env, &second).last().map(String::as_str), Some("crashed"));
    let _ = env.dogwatch(&["kill", "one"]).success();
    let [first, second] = watches;
    first.tells("gone", "one", "crashed");
    first.interrupted();
    second.interrupted();
    eventually("nothing hidden is left", || {
        !env.tmux(&["list-sessions", "-F", "#{session_name}"]).contains("_dogwatch")
    });
}

#[test]
fn a_runner_and_a_server_that_are_killed() {
    let env = TestEnv::new();
    let one = env.spawn_script("one", "exec sleep 300");
    env.spawn_script("two", "exec sleep 300");
    let watch = Watch::start(&env, &[]);
    watch.tells("seen", "one", "working");
    watch.tells("seen", "two", "working");
    let runner = env.tmux(&["display-message", "-p", "-t", &one.pane, "#{pane_pid}"]);
    process::signal(runner.parse().unwrap(), Signal::KILL);
    watch.tells("changed", "one", "lost");
    process::signal(env.server_pid(), Signal::KILL);
    let line = watch.tells("changed", "two", "lost");
    let said = line["reasons"][0]["said"].as_str().unwrap();
    assert!(said.contains("the tmux server died"), "{line:#}");
    // The socket of a killed server stays; the next server takes it over.
    env.spawn_script("three", "exec sleep 300");
    watch.tells_in_time("three", "working");
    watch.interrupted();
}

#[test]
fn before_there_is_a_server() {
    let env = TestEnv::new();
    let watch = Watch::start(&env, &[]);
    eventually("it listens", || env.state_dir().join("news").exists());
    env.spawn_script("first", "exec sleep 300");
    watch.tells_in_time("first", "working");
    let _ = env.dogwatch(&["kill", "first"]).success();
    watch.tells("changed", "first", "stopped");
    watch.tells("gone", "first", "stopped");
    // The watch itself must not keep the server from ending with its last session.
    eventually("the server is gone", || {
        !env.tmux_command(&env.socket(), &["list-sessions"]).output().unwrap().status.success()
    });
    env.spawn_script("second", "exec sleep 300");
    watch.tells_in_time("second", "working");
    watch.interrupted();
}

#[test]
fn named_sessions_until_they_are_over() {
    let env = TestEnv::new();
    env.spawn_script("other", "exec sleep 300");
    let one = env.spawn_script("one", "exec sleep 300");
    let watch = Watch::start(&env, &["one"]);
    watch.tells("seen", "one", "working");
    process::signal(one.pid, Signal::TERM);
    watch.tells("changed", "one", "crashed");
    watch.ends();
    let _ = env.dogwatch(&["watch", "nosuch"]).code(3);
}

#[test]
fn a_reader_that_leaves_ends_it() {
    let env = TestEnv::new();
    let one = env.spawn_script("one", "exec sleep 300");
    let mut command = env.command(&["watch", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("\"seen\""), "{first}");
    process::signal(one.pid, Signal::KILL);
    let watch = Watch { child, lines: channel().1 };
    watch.ends();
    eventually("nothing hidden is left", || {
        !env.tmux(&["list-sessions", "-F", "#{session_name}"]).contains("_dogwatch")
    });
}

#[test]
fn a_screen_that_changes_by_itself() {
    let env = TestEnv::new();
    let script = shows(&env, [WORKING, DONE]);
    env.add_profile("codex", "", &script);
    env.spawn(&["codex", "--name", "c"]);
    let watch = Watch::start(&env, &[]);
    let mut line = watch.next();
    while line["state"] != "working" {
        line = watch.next();
    }
    env.write("go", "");
    // The new picture may be met half drawn.
    let line = watch.tells_in_time("c", "idle");
    assert_eq!(line["basis"], "inferred");
    watch.interrupted();
}

#[test]
fn agents_that_others_started() {
    let env = TestEnv::new();
    env.spawn_script("ours", "exec sleep 300");
    let claude = env.write_program("claude", &shows(&env, [CLAUDE_IDLE, CLAUDE_IDLE]));
    let watch = Watch::start(&env, &[]);
    watch.tells("seen", "ours", "working");
    // As a person does it: a shell, and the agent typed into it.
    env.tmux(&["new-session", "-d", "-s", "mine", "-x", "200", "-y", "50", "/bin/sh"]);
    env.tmux(&["send-keys", "-t", "=mine:", &claude.display().to_string(), "Enter"]);
    let mut line = watch.next();
    while line["state"] != "idle" {
        assert_eq!(line["name"], "mine", "{line:#}");
        line = watch.next();
    }
    assert_eq!((&line["ours"], &line["agent"]), (&false.into(), &"claude".into()), "{line:#}");
    let pane = line["pane"].as_str().unwrap().to_owned();
    for target in [pane.as_str(), "mine"] {
        let why = env.dogwatch(&["why", target, "--json"]).success().json();
        assert_eq!((&why["state"], &why["ours"]), (&"idle".into(), &false.into()), "{why:#}");
    }
    let status = env.dogwatch(&["status", "--json"]).success().json();
    let names: Vec<_> = status["sessions"].as_array().unwrap().iter().map(|s| &s["name"]).collect();
    assert_eq!(names, ["mine", "ours"], "idle before working");
    // What is not ours is looked at, and not touched.
    let _ = env.dogwatch(&["kill", "mine"]).code(3);
    env.tmux(&["send-keys", "-t", &pane, "C-c"]);
    watch.tells("gone", "mine", "idle");
    watch.interrupted();
}

/// tmux 3.3a never lets a control client go that has something left to read and nobody to read it, and a server with such a
/// client never ends.
#[test]
fn a_killed_supervisor_leaves_no_client_behind() {
    let env = TestEnv::new();
    super::send::agent_named(&env, "one");
    let pane = env.seen("one")["pane"].as_str().unwrap().to_owned();
    let (client, supervisor) = (env.control_client(), env.supervisor().unwrap());
    process::signal(supervisor, Signal::STOP);
    // More than a pipe holds.
    let names = (0..400).map(|n| format!("rename-window -t {pane} {n}-{}\n", "x".repeat(400)));
    let names = env.write("names", names.collect::<String>());
    env.tmux(&["source-file", &names.display().to_string()]);
    process::signal(supervisor, Signal::KILL);
    process::wait_gone(supervisor);
    process::wait_gone(client);
    let clients = || env.tmux(&["list-clients", "-F", "#{client_pid}"]);
    eventually("tmux has let it go", || !clients().contains(&client.to_string()));
}
