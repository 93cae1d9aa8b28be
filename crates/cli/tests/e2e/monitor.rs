//! Looking after the registry all the time.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use dogwatch_testkit::{PATIENCE, TestEnv, eventually};
use rustix::process::Signal;
use serde_json::Value;

use crate::registry::Registry as _;

/// A `reconcile` that goes on, and never looks by itself.
struct Monitor {
    child: Child,
    lines: Receiver<Value>,
    words: Receiver<String>,
}

impl Monitor {
    fn start(env: &TestEnv, more: &[&str]) -> Self {
        let mut command = env.roll_command(&["reconcile", "--json", "--interval", "1h"]);
        command.args(more).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        let (sender, words) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let monitor = Self { child, lines, words };
        monitor.says("watching");
        // tmux 3.3a dies if a session is made by hand in the very moment in which such a client comes.
        eventually("tmux tells it", || env.tmux(&["list-clients"]).contains("control-mode"));
        monitor
    }

    /// The classes and the sessions that the next line tells of.
    #[track_caller]
    fn tells(&self) -> String {
        let line = self.lines.recv_timeout(PATIENCE).expect("the monitor tells");
        let drifts = line["drifts"].as_array().unwrap().iter();
        let told = drifts.map(|d| {
            format!("{} {}", d["class"].as_str().unwrap(), d["session"].as_str().unwrap_or("-"))
        });
        told.collect::<Vec<_>>().join(", ")
    }

    #[track_caller]
    fn says(&self, text: &str) {
        loop {
            let line = self.words.recv_timeout(PATIENCE).expect("the monitor says something");
            if line.contains(text) {
                return;
            }
        }
    }

    fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, Signal::INT).unwrap();
        assert!(self.child.wait().unwrap().success());
        assert_eq!(self.lines.try_iter().count(), 0);
    }
}

#[test]
fn told_at_once_by_tmux_and_the_file() {
    let env = TestEnv::new();
    // A server that stays, so that there is somebody to tell.
    env.tmux(&["new-session", "-d", "-s", "stays"]);
    let monitor = Monitor::start(&env, &["--subscribe"]);
    monitor.says("no broker is configured");
    env.tmux(&["new-session", "-d", "-s", "x-creator-codex", "sh"]);
    assert_eq!(monitor.tells(), "B x-creator-codex");
    env.tmux(&["kill-session", "-t", "=x-creator-codex:"]);
    // It is fresh by its own time in the file, and dead once it no longer is: the file tells.
    let file = env.state_dir().join("agent-sessions.yaml");
    eventually("it is on the roll", || file.exists());
    let text = fs::read_to_string(&file).unwrap();
    let aged: Vec<&str> = text.lines().filter(|line| !line.contains("created_at")).collect();
    fs::write(&file, format!("{}\n", aged.join("\n"))).unwrap();
    assert_eq!(monitor.tells(), "A x-creator-codex");

    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, "sessions: [\n").unwrap();
    monitor.says("cannot read the registry ");
    fs::write(&file, good).unwrap();
    monitor.says("is readable again");
    monitor.end();
}

#[test]
fn what_a_person_does_is_theirs() {
    let env = TestEnv::new();
    env.write_program("claude", "echo ready; read -r line");
    env.tmux(&["new-session", "-d", "-s", "stays"]);
    let monitor = Monitor::start(&env, &[]);
    let run = |args: &[&str]| env.run(&mut env.roll_command(args)).success();
    let _ = run(&["create", "claude", "--name", "a-creator-claude", "--role", "kept"]);
    let _ = run(&["delete", "a-creator-claude"]);
    let text = fs::read_to_string(env.state_dir().join("agent-sessions.yaml")).unwrap();
    assert!(text.contains("termination_mode: user") && text.contains("role: kept"), "{text}");
    // Something else, to know that it has looked since.
    env.tmux(&["new-session", "-d", "-s", "y-creator-codex", "sh"]);
    assert_eq!(monitor.tells(), "B y-creator-codex");
    monitor.end();
}
