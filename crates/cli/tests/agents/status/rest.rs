//! Alive at its prompt, nothing running.

use dogwatch_testkit::process;
use model_double::homes::Agent;
use rustix::process::Signal;
use serde_json::Value;

use crate::lab::Lab;
use crate::verdict::said;

/// Who says that it is at rest: claude itself; of codex, the last line of its transcript, or its screen before any.
fn teller(agent: Agent, after_turn: bool) -> &'static str {
    match (agent, after_turn) {
        (Agent::Claude, _) => "own_word",
        (_, true) => "transcript",
        (_, false) => "screen",
    }
}

#[track_caller]
fn rests(lab: &Lab, after_turn: bool, interrupted: bool) -> Value {
    let idle = lab.settles("idle", teller(lab.agent, after_turn));
    assert_eq!(idle["after_turn"], after_turn, "{idle:#}");
    assert_eq!(idle["interrupted"], interrupted, "{idle:#}");
    idle
}

fn fresh(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--unattended"]);
    let idle = rests(&lab, false, false);
    assert_eq!((&idle["background"], &idle["draft"]), (&Value::from(0), &Value::Null), "{idle:#}");
    lab.end(&["--now"]);
}

#[test]
fn claude_is_fresh() {
    fresh(Agent::Claude);
}

#[test]
fn codex_is_fresh() {
    fresh(Agent::Codex);
}

/// A prompt that somebody began to type, with words in it that look like signals.
fn half_typed(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended"]);
    rests(&lab, false, false);
    lab.env.keys(&session, &["-l", "esc to interrupt, do you want to proceed"]);
    lab.env.wait_screen("a", "do you want to proceed");
    let idle = rests(&lab, false, false);
    assert_eq!(idle["draft"], "esc to interrupt, do you want to proceed", "{idle:#}");
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

fn finished(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--unattended", "--prompt", "[hello]"]);
    let idle = rests(&lab, true, false);
    assert_eq!(said(&idle, "hook"), "turn ended", "{idle:#}");
    lab.end(&["--now"]);
}

#[test]
fn claude_has_finished() {
    finished(Agent::Claude);
}

#[test]
fn codex_has_finished() {
    finished(Agent::Codex);
}

/// Esc fires no hook in claude; its own word and its transcript know.
fn interrupted(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.env.wait_screen("a", "Waiting at the gate.");
    assert_eq!(lab.why()["state"], "working");
    lab.env.keys(&session, &["Escape"]);
    rests(&lab, true, true);
    lab.end(&["--now"]);
}

#[test]
fn claude_is_interrupted() {
    interrupted(Agent::Claude);
}

#[test]
fn codex_is_interrupted() {
    interrupted(Agent::Codex);
}

/// Before its first word: of that claude's transcript has nothing either, and the prompt is a draft again.
#[test]
fn claude_is_interrupted_before_its_first_word() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[silent-gate]"]);
    lab.is("working", "own_word");
    lab.env.keys(&session, &["Escape"]);
    let idle = rests(&lab, true, true);
    assert_eq!(idle["draft"], "[silent-gate]", "{idle:#}");
    lab.end(&["--now"]);
}

/// A shell that the turn leaves running is counted as long as it runs.
fn background(agent: Agent) -> Option<Lab> {
    let lab = Lab::new(agent)?;
    let session = lab.spawn(&["--unattended", "--prompt", "[background]"]);
    lab.wait_file("tool-began.txt");
    lab.wait_event(&session, "Stop");
    lab.env.wait_screen("a", "I left it running.");
    let idle = rests(&lab, true, false);
    assert_eq!(idle["background"], 1, "{idle:#}");
    Some(lab)
}

#[track_caller]
fn nothing_in_the_background(lab: &Lab) {
    dogwatch_testkit::eventually("the background is empty", || lab.why()["background"] == 0);
    let idle = rests(lab, true, false);
    assert_eq!(idle["background"], 0, "{idle:#}");
}

/// Stopped by the person: no further turn tells of that.
#[test]
fn claude_leaves_a_shell_running() {
    let Some(lab) = background(Agent::Claude) else { return };
    let session = lab.session("a");
    lab.env.keys(&session, &["-l", "/tasks"]);
    lab.env.wait_screen("a", "/tasks");
    lab.env.keys(&session, &["Enter"]);
    lab.env.wait_screen("a", "x to stop");
    lab.env.keys(&session, &["x"]);
    nothing_in_the_background(&lab);
    lab.end(&["--now"]);
}

#[test]
fn codex_leaves_a_shell_running() {
    let Some(lab) = background(Agent::Codex) else { return };
    lab.env.write("tool-may-end.txt", "");
    nothing_in_the_background(&lab);
    lab.end(&["--now"]);
}

/// In a pane of 50 by 15.
fn narrow(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.env.tmux(&["resize-window", "-t", &session.pane, "-x", "50", "-y", "15"]);
    lab.wait_event(&session, "UserPromptSubmit");
    lab.settles("working", if agent == Agent::Claude { "own_word" } else { "hook" });
    lab.shows("working: ");
    lab.double.release("gate");
    lab.wait_event(&session, "Stop");
    let idle = rests(&lab, true, false);
    assert!(said(&idle, "screen").starts_with("a prompt"), "{idle:#}");
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

/// Words that other tools take for signals, and a permission dialog word for word, in the answer of an agent that still
/// works, and then of one that has finished.
fn quotes(agent: Agent, last_words: &str) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--unattended", "--prompt", &format!("[quote-{}]", agent.name())]);
    lab.env.wait_screen("a", last_words);
    let by = if agent == Agent::Claude { "own_word" } else { "hook" };
    let working = lab.settles("working", by);
    assert!(said(&working, "screen").starts_with("working: "), "{working:#}");
    lab.double.release("gate");
    let idle = rests(&lab, true, false);
    assert!(said(&idle, "screen").starts_with("a prompt"), "{idle:#}");
    lab.end(&["--now"]);
}

#[test]
fn claude_quotes_signals() {
    quotes(Agent::Claude, "Esc to cancel · Tab to amend");
}

#[test]
fn codex_quotes_signals() {
    quotes(Agent::Codex, "Press enter to confirm or esc to cancel");
}

/// A process that is stopped needs somebody to let it go on, whatever it said last.
#[test]
fn a_stopped_agent_waits() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.is("working", "own_word");
    process::signal(session.pid, Signal::STOP);
    dogwatch_testkit::eventually("it waits", || lab.why()["state"] == "waiting");
    let waiting = lab.why();
    assert_eq!((&waiting["for"], &waiting["basis"]), (&"other".into(), &"asserted".into()));
    process::signal(session.pid, Signal::CONT);
    lab.is("working", "own_word");
    lab.end(&["--now"]);
}
