//! Commands that print a line for each thing that happens.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use dogwatch_testkit::{CommandOutput, TestEnv, process};
use rustix::process::Signal;

use crate::registry::Registry as _;

/// A command that goes on, and the lines it has printed so far.
struct Stream {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    lines: String,
}

impl Stream {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout, lines: String::new() }
    }

    /// Reads until a line has this in it.
    fn until(&mut self, part: &str) {
        loop {
            let begin = self.lines.len();
            assert_ne!(
                self.stdout.read_line(&mut self.lines).unwrap(),
                0,
                "no {part} in {}",
                self.lines
            );
            if self.lines[begin..].contains(part) {
                return;
            }
        }
    }

    fn interrupted(self, env: &TestEnv) -> CommandOutput {
        process::signal(i32::try_from(self.child.id()).unwrap(), Signal::INT);
        self.ended(env)
    }

    fn ended(mut self, env: &TestEnv) -> CommandOutput {
        self.stdout.read_to_string(&mut self.lines).unwrap();
        let mut output = env.ended(self.child);
        output.stdout = self.lines.into_bytes();
        output
    }
}

#[test]
fn watch_and_events() {
    let env = TestEnv::new();
    let one = env.spawn_script("one", "exec sleep 300");
    let mut watch = Stream::start(&mut env.command(&["watch", "one", "--json"]));
    watch.until("\"seen\"");
    let mut command = env.command(&["hook", "claude"]);
    command.env("DOGWATCH_SESSION", &one.id);
    let _ = env.run_with_input(&mut command, br#"{"hook_event_name":"Stop"}"#).success();
    watch.until("\"changed\"");
    let mut follow = Stream::start(&mut env.command(&["events", "--follow", "--json"]));
    follow.until("\"idle\"");
    process::signal(one.pid, Signal::TERM);
    let output = watch.ended(&env);
    shape!("watch", output.success());
    follow.until("\"ended\"");
    shape!("events_followed", follow.interrupted(&env).success());
    shape!(
        "events_of_a_kind",
        env.dogwatch(&["events", "one", "--kind", "created", "--json"]).success()
    );
}

#[test]
fn reconcile_and_monitor() {
    let env = TestEnv::with_claude();
    env.by_hand("api-creator-claude");
    let mut reconcile =
        Stream::start(&mut env.roll_command(&["reconcile", "--json", "--interval", "1h"]));
    reconcile.until("\"drifts\"");
    shape!("reconcile", reconcile.interrupted(&env).success());
    let mut monitor = Stream::start(&mut env.roll_command(&[
        "monitor",
        "--json",
        "--interval",
        "100ms",
        "--heartbeat",
        "100ms",
    ]));
    monitor.until("\"heartbeat\"");
    let output = monitor.interrupted(&env).success();
    let first = output.text().lines().next().unwrap().to_owned();
    assert!(first.starts_with(r#"{"event":""#) && first.contains(r#"","at":""#), "{first}");
    assert!(first.contains(r#","text":""#), "{first}");
}
