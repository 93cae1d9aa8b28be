//! The standing watch over real agents: those that dogwatch started, and those that a person did.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use dogwatch_testkit::{PATIENCE, eventually, eventually_or};
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

struct Watch {
    child: Child,
    lines: Receiver<Value>,
}

impl Watch {
    fn start(lab: &Lab) -> Self {
        let mut child =
            lab.env.command(&["watch", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, lines }
    }

    /// The states that are told of until this one.
    #[track_caller]
    fn until(&self, state: &str) -> Vec<String> {
        let mut states = Vec::new();
        while states.last().is_none_or(|last| last != state) {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("never {state}, but {states:?}"));
            states.push(line["state"].as_str().unwrap().to_owned());
        }
        states
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn a_turn_is_told(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let watch = Watch::start(&lab);
    lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    let before = watch.until("working");
    assert!(!before.iter().any(|state| state == "idle"), "{before:?}");
    let asked = |state: &str| {
        lab.dogwatch(&["status", "a", "--json"]).success().json()["sessions"][0]["state"] == state
    };
    assert!(asked("working"), "who asks gets the same answer");
    lab.double.release("gate");
    assert_eq!(watch.until("idle"), ["idle"]);
    assert!(asked("idle"), "who asks gets the same answer");
    lab.end(&["--now"]);
    let end = watch.until("stopped");
    assert_eq!(end, ["stopped"]);
}

#[test]
fn a_turn_of_claude_is_told() {
    a_turn_is_told(Agent::Claude);
}

#[test]
fn a_turn_of_codex_is_told() {
    a_turn_is_told(Agent::Codex);
}

/// Started by hand in a plain shell, as people do.
fn an_agent_that_a_person_started(agent: Agent, voice: &str) {
    let Some(lab) = Lab::new(agent) else { return };
    let pane = lab.start_by_hand();
    let said = |state: &str, by: &[&str]| {
        let what = format!("{} is {state} by {by:?}", agent.name());
        let mut told = Value::Null;
        eventually_or(&what, || {
            let why = lab.dogwatch(&["why", &pane, "--json"]);
            told = serde_json::from_slice(&why.stdout).unwrap_or_default();
            let reasons = told["reasons"].as_array().cloned().unwrap_or_default();
            let source = reasons.iter().find(|reason| reason["role"] == "decided");
            let source = source.and_then(|reason| reason["source"].as_str()).unwrap_or_default();
            let fits = told["state"] == state && by.contains(&source);
            if fits { Ok(()) } else { Err(format!("{why}")) }
        });
        assert_eq!((&told["ours"], &told["agent"]), (&false.into(), &agent.name().into()));
    };
    said("idle", &[voice, "screen"]);
    lab.env.tmux(&["send-keys", "-t", &pane, "-l", "[gate] please"]);
    // An Enter that follows at once is part of a paste to codex.
    eventually("the draft is seen", || {
        lab.dogwatch(&["why", &pane, "--json"]).success().json()["draft"] == "[gate] please"
    });
    lab.env.tmux(&["send-keys", "-t", &pane, "Enter"]);
    said("working", &[voice]);
    lab.double.release("gate");
    said("idle", &[voice]);
}

#[test]
fn claude_that_a_person_started() {
    an_agent_that_a_person_started(Agent::Claude, "own_word");
}

#[test]
fn codex_that_a_person_started() {
    an_agent_that_a_person_started(Agent::Codex, "transcript");
}
