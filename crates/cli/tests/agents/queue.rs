//! A queued message is delivered when its moment comes, once, with no other `send`; or it is said that it was not.

use std::process::Stdio;

use dogwatch_testkit::{Spawned, eventually, eventually_or, process};
use model_double::homes::Agent;
use rustix::process::Signal;
use serde_json::Value;

use crate::lab::Lab;

impl Lab {
    /// An agent at the gate, with a message to it that its sender does not wait for.
    fn with_a_queued_message(agent: Agent) -> Option<(Self, Spawned)> {
        let lab = Self::new(agent)?;
        let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
        lab.env.wait_screen("a", "Waiting at the gate.");
        let sent = lab.dogwatch(&["send", "a", "[hello]", "--timeout", "300ms"]).code(124);
        assert!(
            sent.text().starts_with("queued: a: the agent is working; dogwatch delivers it"),
            "{sent}"
        );
        Some((lab, session))
    }

    fn only_message(&self) -> Value {
        let listed = self.dogwatch(&["messages", "a", "--json"]).success().json();
        assert_eq!(listed["messages"].as_array().unwrap().len(), 1, "{listed:#}");
        listed["messages"][0].clone()
    }

    fn times_asked(&self) -> usize {
        self.asked().iter().filter(|asked| asked.contains("[hello]")).count()
    }

    #[track_caller]
    fn message_becomes(&self, outcome: &str) -> Value {
        let mut found = Value::Null;
        eventually_or(&format!("the message is {outcome}"), || {
            found = self.only_message();
            if found["outcome"] == outcome { Ok(()) } else { Err(format!("{found:#}")) }
        });
        found
    }
}

fn delivered_by_its_runner(agent: Agent) {
    let Some((lab, _)) = Lab::with_a_queued_message(agent) else { return };
    // Nothing of ours runs but the session itself; the model is asked without our looking.
    lab.double.release("gate");
    eventually("the message arrives", || lab.times_asked() == 1);
    lab.message_becomes("delivered");
    let wait = ["wait", "a", "--for", "idle", "--timeout", "30s"];
    let _idle = lab.dogwatch(&wait).success();
    assert_eq!(lab.times_asked(), 1);
    lab.end(&["--now"]);
}

#[test]
fn of_claude_by_its_runner() {
    delivered_by_its_runner(Agent::Claude);
}

#[test]
fn of_codex_by_its_runner() {
    delivered_by_its_runner(Agent::Codex);
}

#[test]
fn one_word_for_it() {
    let Some((lab, _)) = Lab::with_a_queued_message(Agent::Claude) else { return };
    assert_eq!(lab.only_message()["outcome"], "queued");
    let table = lab.dogwatch(&["messages", "--pending"]).success().text();
    assert!(table.contains("queued") && !table.contains("pending"), "{table}");
    lab.end(&["--now"]);
}

#[test]
fn beside_a_watch_still_once() {
    let Some((lab, _)) = Lab::with_a_queued_message(Agent::Claude) else { return };
    let mut watch = lab.env.command(&["watch", "--json"]).stdout(Stdio::null()).spawn().unwrap();
    lab.double.release("gate");
    lab.message_becomes("delivered");
    let wait = ["wait", "a", "--for", "idle", "--timeout", "30s"];
    let _idle = lab.dogwatch(&wait).success();
    assert_eq!(lab.times_asked(), 1);
    watch.kill().unwrap();
    watch.wait().unwrap();
    lab.end(&["--now"]);
}

#[test]
fn of_a_sender_that_was_killed() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.env.wait_screen("a", "Waiting at the gate.");
    let mut sender = lab.env.command(&["send", "a", "[hello]"]);
    let mut sender = sender.stdout(Stdio::null()).spawn().unwrap();
    eventually("it is queued", || lab.dogwatch(&["messages"]).text().contains("[hello]"));
    sender.kill().unwrap();
    sender.wait().unwrap();
    lab.double.release("gate");
    eventually("the message arrives", || lab.times_asked() == 1);
    lab.message_becomes("delivered");
    lab.end(&["--now"]);
}

#[test]
fn of_an_agent_that_ends_first() {
    let Some((lab, session)) = Lab::with_a_queued_message(Agent::Claude) else { return };
    process::signal(session.pid, Signal::KILL);
    let message = lab.message_becomes("failed");
    let because = message["because"].as_str().unwrap();
    assert!(because.contains("ended") && because.contains("signal 9"), "{message:#}");
    assert_eq!(lab.times_asked(), 0);
}

#[test]
fn of_a_runner_that_is_killed_first() {
    let Some((lab, session)) = Lab::with_a_queued_message(Agent::Claude) else { return };
    let runner = lab.env.tmux(&["display-message", "-p", "-t", &session.pane, "#{pane_pid}"]);
    process::signal(runner.parse().unwrap(), Signal::KILL);
    let message = lab.message_becomes("failed");
    assert!(message["because"].as_str().unwrap().contains("ended"), "{message:#}");
    assert_eq!(lab.times_asked(), 0);
}
