//! What dogwatch says that a real agent is doing, and which source it names for it.

use model_double::homes::Agent;
use rustix::process::Signal;
use serde_json::Value;

use crate::env::eventually;
use crate::lab::Lab;
use crate::process;

impl Lab {
    fn verdict(&self) -> Value {
        let said = self.dogwatch(&["why", "a", "--json"]);
        said.success().json()
    }

    /// Waits for a state, then checks what decided it.
    #[track_caller]
    fn is(&self, state: &str, decided: &str) -> Value {
        let mut last = Value::Null;
        eventually(&format!("{} is {state}", self.agent.name()), || {
            last = self.verdict();
            last["state"] == state
        });
        let reasons = last["reasons"].as_array().unwrap();
        let by = reasons.iter().find(|reason| reason["role"] == "decided").unwrap();
        assert_eq!(by["source"], decided, "{last:#}");
        last
    }
}

#[test]
fn claude_working_then_idle() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    let working = lab.is("working", "own_word");
    assert_eq!(working["basis"], "asserted");
    lab.double.release("gate");
    let idle = lab.is("idle", "own_word");
    assert_eq!(idle["after_turn"], true);
    lab.end(&["--now"]);
}

#[test]
fn codex_working_then_idle() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.wait_event(&session, "UserPromptSubmit");
    assert_eq!(lab.verdict()["state"], "working");
    lab.double.release("gate");
    lab.wait_event(&session, "Stop");
    eventually("codex is idle", || lab.verdict()["state"] == "idle");
    lab.end(&["--now"]);
}

#[test]
fn claude_asks_a_question() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--prompt", "[ask]"]);
    let waiting = lab.is("waiting", "own_word");
    assert_eq!(waiting["for"], "question");
    eventually("the question is known", || {
        lab.verdict()["question"] == "Which database should I use?"
    });
    lab.end(&["--now"]);
}

#[test]
fn claude_asks_for_permission() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--prompt", "[write]", "--", "--permission-mode", "default"]);
    let waiting = lab.is("waiting", "own_word");
    assert_eq!(waiting["for"], "permission");
    lab.end(&["--now"]);
}

/// An API error ends as idle in claude's own file, and fires no hook in codex.
fn a_failed_turn(agent: Agent, tag: &str, state: &str) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--unattended", "--prompt", tag, "--env", "CLAUDE_CODE_MAX_RETRIES=0"]);
    eventually(&format!("{} is {state} after {tag}", agent.name()), || {
        lab.verdict()["state"] == state
    });
    let verdict = lab.verdict();
    assert_eq!(verdict["basis"], "asserted", "{verdict:#}");
    lab.end(&["--now"]);
}

#[test]
fn claude_is_limited() {
    a_failed_turn(Agent::Claude, "[429]", "limited");
}

#[test]
fn claude_has_too_long_a_prompt() {
    a_failed_turn(Agent::Claude, "[too-long]", "error");
}

#[test]
fn codex_is_refused_by_its_model() {
    a_failed_turn(Agent::Codex, "[401]", "error");
}

#[test]
fn codex_is_limited() {
    a_failed_turn(Agent::Codex, "[usage-limit]", "limited");
}

/// Esc fires no hook in claude: its own word knows.
#[test]
fn claude_is_interrupted() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.env.wait_screen("a", "Waiting at the gate.");
    assert_eq!(lab.verdict()["state"], "working");
    lab.env.keys(&session, &["Escape"]);
    lab.is("idle", "own_word");
    lab.end(&["--now"]);
}

/// After `kill -9` claude's file still says busy.
#[test]
fn a_killed_agent_is_not_believed_any_more() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.is("working", "own_word");
    process::signal(session.pid, Signal::KILL);
    let crashed = lab.is("crashed", "exit");
    assert_eq!(crashed["exit"]["signal"], 9);
    assert_eq!(crashed["basis"], "asserted");
    lab.end(&[]);
}
