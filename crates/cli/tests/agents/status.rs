//! What dogwatch says that a real agent is doing, and which source it names for it.

use model_double::homes::Agent;
use rustix::process::Signal;
use serde_json::Value;

use crate::env::{eventually, eventually_or};
use crate::lab::Lab;
use crate::process;

impl Lab {
    fn verdict(&self) -> Value {
        let said = self.dogwatch(&["why", "a", "--json"]);
        said.success().json()
    }

    /// Waits for a state that a certain source decides.
    #[track_caller]
    fn is(&self, state: &str, decided: &str) -> Value {
        let mut last = Value::Null;
        eventually_or(&format!("{} is {state} by {decided}", self.agent.name()), || {
            last = self.verdict();
            let reasons = last["reasons"].as_array().unwrap();
            let by = reasons.iter().find(|reason| reason["role"] == "decided").unwrap();
            if last["state"] == state && by["source"] == decided {
                Ok(())
            } else {
                Err(format!("{last:#}"))
            }
        });
        last
    }
}

impl Lab {
    /// Waits until a state is reached, and sees that it is no flicker.
    #[track_caller]
    fn settles(&self, state: &str) -> Value {
        let mut last = Value::Null;
        let mut in_a_row = 0;
        let what = format!("{} stays {state}", self.agent.name());
        eventually_or(&what, || {
            last = self.verdict();
            in_a_row = if last["state"] == state { in_a_row + 1 } else { 0 };
            if in_a_row >= 3 { Ok(()) } else { Err(format!("{last:#}")) }
        });
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

/// Between its start and its first turn it is at its prompt, and says idle.
fn never_idle_before_its_first_turn(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    let mut seen = Vec::new();
    eventually("it works", || {
        seen.push(lab.verdict()["state"].as_str().unwrap().to_owned());
        seen.last().is_some_and(|state| state == "working")
    });
    assert!(!seen.iter().any(|state| state == "idle"), "{seen:?}");
    lab.end(&["--now"]);
}

#[test]
fn claude_is_never_idle_before_its_first_turn() {
    never_idle_before_its_first_turn(Agent::Claude);
}

#[test]
fn codex_is_never_idle_before_its_first_turn() {
    never_idle_before_its_first_turn(Agent::Codex);
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

/// A turn that was answered with words that other tools take for signals.
fn quotes_signals(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let scenario = r#"
default = ["✻ Thinking… (12s · esc to interrupt)\n\n• Working (3s • esc to interrupt)\n\ntokens used\n\nDo you want to proceed?\n❯ 1. Yes\n  2. No"]
"#;
    lab.double.replace_scenario(model_double::Scenario::parse("quotes.toml", scenario).unwrap());
    let session = lab.spawn(&["--unattended", "--prompt", "quote them"]);
    lab.wait_event(&session, "Stop");
    lab.env.wait_screen("a", "Do you want to proceed?");
    lab.settles("idle");
    lab.end(&["--now"]);
}

#[test]
fn claude_quotes_signals() {
    quotes_signals(Agent::Claude);
}

#[test]
fn codex_quotes_signals() {
    quotes_signals(Agent::Codex);
}

/// A prompt that somebody began to type, with words in it that look like signals.
fn half_typed(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended"]);
    lab.settles("idle");
    lab.env.keys(&session, &["-l", "esc to interrupt, do you want to proceed"]);
    lab.env.wait_screen("a", "do you want to proceed");
    let idle = lab.settles("idle");
    assert_eq!(idle["after_turn"], false, "{idle:#}");
    assert!(idle["draft"].as_str().unwrap_or_default().contains("esc to interrupt"), "{idle:#}");
    lab.end(&["--now"]);
}

#[test]
fn claude_with_a_draft() {
    half_typed(Agent::Claude);
}

#[test]
fn codex_with_a_draft() {
    half_typed(Agent::Codex);
}

/// In a pane of 50 by 15.
fn narrow(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.env.tmux(&["resize-window", "-t", &session.pane, "-x", "50", "-y", "15"]);
    lab.wait_event(&session, "UserPromptSubmit");
    lab.settles("working");
    lab.double.release("gate");
    lab.wait_event(&session, "Stop");
    lab.settles("idle");
    lab.end(&["--now"]);
}

#[test]
fn claude_in_a_narrow_pane() {
    narrow(Agent::Claude);
}

#[test]
fn codex_in_a_narrow_pane() {
    narrow(Agent::Codex);
}

#[test]
fn codex_is_interrupted() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.env.wait_screen("a", "Waiting at the gate.");
    lab.settles("working");
    lab.env.keys(&session, &["Escape"]);
    lab.settles("idle");
    lab.end(&["--now"]);
}

#[test]
fn codex_asks_for_permission() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    let asking = ["--sandbox", "read-only", "--ask-for-approval", "on-request"];
    let mut args = vec!["--prompt", "[write]", "--"];
    args.extend(asking);
    lab.spawn(&args);
    let waiting = lab.settles("waiting");
    assert_eq!(waiting["for"], "permission", "{waiting:#}");
    lab.end(&["--now"]);
}

#[test]
fn codex_asks_a_question() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    lab.spawn(&["--prompt", "[ask]"]);
    let waiting = lab.settles("waiting");
    assert_eq!(waiting["for"], "question", "{waiting:#}");
    lab.end(&["--now"]);
}

#[test]
fn claude_wants_a_plan_approved() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--prompt", "[plan]", "--", "--permission-mode", "plan"]);
    let waiting = lab.settles("waiting");
    assert_eq!(waiting["for"], "plan", "{waiting:#}");
    lab.end(&["--now"]);
}

#[test]
fn claude_does_not_trust_the_folder() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let elsewhere = lab.env.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    lab.spawn(&["--cwd", &elsewhere.to_string_lossy()]);
    let waiting = lab.settles("waiting");
    assert_eq!(waiting["for"], "trust", "{waiting:#}");
    lab.end(&["--now"]);
}

/// It left by itself, as a person would make it.
fn leaves(agent: Agent, word: &str) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[hello]"]);
    lab.wait_event(&session, "Stop");
    lab.settles("idle");
    lab.env.keys(&session, &["-l", word]);
    lab.env.wait_screen("a", word);
    lab.env.keys(&session, &["Enter"]);
    let exited = lab.is("exited", "exit");
    assert_eq!(exited["basis"], "asserted");
    lab.end(&[]);
}

#[test]
fn claude_leaves() {
    leaves(Agent::Claude, "/exit");
}

#[test]
fn codex_leaves() {
    leaves(Agent::Codex, "/quit");
}

/// A tool that fails in a turn that goes on is no error of the agent.
fn a_tool_fails(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let scenario = r#"
default = [
  ["I try.", { shell = { command = "exit 3", why = "Fail" } }],
  ["It failed.", { gate = "gate" }, " Done."],
]
"#;
    lab.double.replace_scenario(model_double::Scenario::parse("fails.toml", scenario).unwrap());
    let session = lab.spawn(&["--unattended", "--prompt", "go"]);
    lab.env.wait_screen("a", "It failed.");
    lab.settles("working");
    lab.double.release("gate");
    lab.wait_event(&session, "Stop");
    lab.settles("idle");
    lab.end(&["--now"]);
}

#[test]
fn claude_has_a_tool_that_fails() {
    a_tool_fails(Agent::Claude);
}

#[test]
fn codex_has_a_tool_that_fails() {
    a_tool_fails(Agent::Codex);
}

/// `wait` is told, and returns what `status` says.
#[test]
fn waiting_for_a_turn_to_end() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.settles("working");
    let none =
        lab.dogwatch(&["wait", "a", "--for", "idle", "--timeout", "200ms", "--json"]).code(124);
    assert_eq!(none.json()["outcome"], "timeout");
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            lab.dogwatch(&["wait", "a", "--for", "idle", "--timeout", "30s", "--json"])
                .success()
                .json()
        });
        lab.double.release("gate");
        assert_eq!(waiter.join().unwrap()["sessions"][0]["state"], "idle");
    });
    lab.end(&["--now"]);
}
