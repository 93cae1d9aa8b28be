use dogwatch_testkit::process;
use model_double::homes::Agent;
use rustix::process::Signal;

use crate::lab::Lab;

/// In the middle of a turn, with a model that does not answer.
fn ended_in_mid_turn(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--prompt", "[gate]"]);
    lab.wait_event(&session, "UserPromptSubmit");
    lab.env.wait_screen("a", "Waiting at the gate.");
    let killed = lab.dogwatch(&["kill", "a", "--json"]).success().json();
    assert_eq!(killed["killed"][0]["by"], "own_exit", "{killed}");
    assert_eq!(killed["killed"][0]["exit"]["code"], 0);
    process::wait_gone(session.pid);
}

#[test]
fn claude_ended_in_mid_turn() {
    ended_in_mid_turn(Agent::Claude);
}

#[test]
fn codex_ended_in_mid_turn() {
    ended_in_mid_turn(Agent::Codex);
}

/// An end must never answer a dialog: what was asked for is not done.
fn ended_while_it_asks(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let extra: &[&str] = match agent {
        Agent::Claude => &["--", "--permission-mode", "default"],
        _ => &["--", "--sandbox", "read-only", "--ask-for-approval", "on-request"],
    };
    let mut args = vec!["--prompt", "[write]"];
    args.extend(extra);
    let session = lab.spawn(&args);
    lab.wait_event(&session, "PermissionRequest");
    lab.end(&[]);
    process::wait_gone(session.pid);
    assert!(!lab.env.work().join("written.txt").exists(), "the dialog was answered by accident");
}

#[test]
fn claude_ended_while_it_asks() {
    ended_while_it_asks(Agent::Claude);
}

#[test]
fn codex_ended_while_it_asks() {
    ended_while_it_asks(Agent::Codex);
}

/// Killed from outside: recorded as what it was, and nothing of it lives on.
fn killed_from_outside(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--prompt", "[gate]"]);
    lab.wait_event(&session, "UserPromptSubmit");
    process::signal(session.pid, Signal::KILL);
    let seen = lab.env.wait_state("a", "crashed");
    assert_eq!(seen["exit"]["signal"], 9, "{seen}");
    assert_eq!(seen["cause"], "itself");
    lab.end(&[]);
}

#[test]
fn claude_killed_from_outside() {
    killed_from_outside(Agent::Claude);
}

#[test]
fn codex_killed_from_outside() {
    killed_from_outside(Agent::Codex);
}

/// The tmux server dies under a working agent: told apart from an agent that ended by itself.
#[test]
fn claude_loses_its_terminal() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let session = lab.spawn(&["--prompt", "[gate]"]);
    lab.wait_event(&session, "UserPromptSubmit");
    process::signal(lab.env.server_pid(), Signal::KILL);
    let seen = lab.env.wait_state("a", "lost");
    assert_eq!(seen["cause"], "hangup", "{seen}");
    process::wait_gone(session.pid);
}
