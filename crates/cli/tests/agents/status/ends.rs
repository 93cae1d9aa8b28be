//! It is over, and how: what an agent said before does not count any more.

use std::fs;

use dogwatch_testkit::process;
use model_double::homes::Agent;
use rustix::process::Signal;
use serde_json::Value;

use crate::lab::Lab;
use crate::verdict::said;

/// It left by itself, as a person would make it.
fn leaves(agent: Agent, word: &str) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[hello]"]);
    lab.wait_event(&session, "Stop");
    let by = if agent == Agent::Claude { "own_word" } else { "transcript" };
    lab.settles("idle", by);
    lab.env.keys(&session, &["-l", word]);
    lab.env.wait_screen("a", word);
    lab.env.keys(&session, &["Enter"]);
    let exited = lab.is("exited", "exit");
    assert!(said(&exited, "exit").contains("exit code 0"), "{exited:#}");
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

/// After `kill -9` claude's file still says busy, and codex's title still spins.
fn killed_in_mid_turn(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.env.wait_screen("a", "Waiting at the gate.");
    process::signal(session.pid, Signal::KILL);
    let crashed = lab.is("crashed", "exit");
    assert_eq!(crashed["exit"]["signal"], 9, "{crashed:#}");
    lab.end(&[]);
}

#[test]
fn claude_is_killed_in_mid_turn() {
    killed_in_mid_turn(Agent::Claude);
}

#[test]
fn codex_is_killed_in_mid_turn() {
    killed_in_mid_turn(Agent::Codex);
}

/// The runner outlives the server for a moment, ends the agent and tells.
fn server_killed(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.env.wait_screen("a", "Waiting at the gate.");
    process::signal(lab.env.server_pid(), Signal::KILL);
    let lost = lab.is("lost", "exit");
    assert!(said(&lost, "exit").contains("the tmux server died"), "{lost:#}");
    assert_eq!(said(&lost, "screen"), "not read", "{lost:#}");
    process::wait_gone(session.pid);
}

#[test]
fn claude_loses_its_server() {
    server_killed(Agent::Claude);
}

#[test]
fn codex_loses_its_server() {
    server_killed(Agent::Codex);
}

/// The process that started another: of an agent, its runner.
fn parent(pid: i32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, after_the_name) = stat.rsplit_once(") ").unwrap();
    after_the_name.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Server and runner at once: nobody is left to tell how it ended.
fn everything_killed(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.env.wait_screen("a", "Waiting at the gate.");
    let server = lab.env.server_pid();
    process::signal(parent(session.pid), Signal::KILL);
    process::signal(server, Signal::KILL);
    process::wait_gone(session.pid);
    let lost = lab.is("lost", "exit");
    assert!(said(&lost, "exit").contains("the tmux server died before "), "{lost:#}");
}

#[test]
fn claude_is_lost() {
    everything_killed(Agent::Claude);
}

#[test]
fn codex_is_lost() {
    everything_killed(Agent::Codex);
}

/// Pids are given out again: a file that another process with this one's pid has left.
fn leave_a_stale_file(lab: &Lab, pid: i32, status: &str) {
    let folder = lab.env.home().join(".claude/sessions");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{pid}.json"));
    let own = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let mut file = own.unwrap_or_else(|| serde_json::json!({ "pid": pid }));
    file["procStart"] = "1".into();
    file["status"] = status.into();
    file["statusUpdatedAt"] = 4_102_444_800_000_i64.into();
    fs::write(path, file.to_string()).unwrap();
}

#[track_caller]
fn is_not_believed(verdict: &Value) {
    assert!(
        said(verdict, "own_word").contains("an earlier process with the same pid"),
        "{verdict:#}"
    );
}

#[test]
fn a_stale_file_does_not_end_a_turn() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.wait_event(&session, "UserPromptSubmit");
    lab.is("working", "own_word");
    leave_a_stale_file(&lab, session.pid, "idle");
    let working = lab.settles("working", "hook");
    is_not_believed(&working);
    lab.double.release("gate");
    lab.wait_event(&session, "Stop");
    leave_a_stale_file(&lab, session.pid, "busy");
    let idle = lab.settles("idle", "transcript");
    is_not_believed(&idle);
    lab.end(&["--now"]);
}

/// Before its session begins claude has no file of its own.
#[test]
fn a_stale_file_does_not_hide_a_dialog() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let elsewhere = lab.env.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let session = lab.spawn(&["--cwd", &elsewhere.to_string_lossy()]);
    leave_a_stale_file(&lab, session.pid, "busy");
    let waiting = lab.settles("waiting", "screen");
    assert_eq!(waiting["for"], "trust", "{waiting:#}");
    is_not_believed(&waiting);
    lab.end(&["--now"]);
}
