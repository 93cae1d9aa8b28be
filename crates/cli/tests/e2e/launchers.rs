//! Agents that a person starts by a launcher, which after a while starts the agent proper or becomes it.

use std::fs;
use std::process::{Child, Stdio};

use dogwatch_testkit::{TestEnv, dogwatch, eventually};

const IDLE: &str = include_str!("../../../core/testdata/screens/claude/2.1.325/done_short.txt");
/// The picture of an agent at its prompt, with an empty box.
const PROMPT: &str = "• Done.\n\n  Worked for 1s • 14:00\n\n› \n\n  GPT-5.5 default · /work";

/// Types a command into a shell, as a person does, and waits until an agent is seen there.
fn start_by_hand(env: &TestEnv, line: &str) -> String {
    env.tmux(&["new-session", "-d", "-s", "mine", "-x", "200", "-y", "50", "/bin/sh"]);
    env.tmux(&["send-keys", "-t", "=mine:", line, "Enter"]);
    let mut id = String::new();
    eventually("an agent is seen", || {
        let why = env.dogwatch(&["why", "mine", "--json"]);
        let told: serde_json::Value = serde_json::from_slice(&why.stdout).unwrap_or_default();
        told["id"].as_str().unwrap_or_default().clone_into(&mut id);
        !id.is_empty()
    });
    id
}

/// A program of the agent's name that gives way to another of that name, in one of several ways, once it is told to.
fn launcher(env: &TestEnv, agent: &str, way: &str, script: &str) -> String {
    let proper = env.write_program(agent, script);
    let folder = env.root().join("proper");
    fs::create_dir(&folder).unwrap();
    let moved = folder.join(agent);
    fs::rename(proper, &moved).unwrap();
    let go = env.work().join("go");
    let way = way.replace("PROPER", &format!("'{}'", moved.display()));
    let wait = format!("while [ ! -e '{}' ]; do sleep 0.02; done", go.display());
    env.write_program(agent, &format!("{wait}\n{way}")).display().to_string()
}

/// Starts a command that is to be under way before the launcher gives way.
fn begin(env: &TestEnv, args: &[&str]) -> Child {
    let listening = env.state_dir().join("news");
    let _ = fs::remove_dir_all(&listening);
    let mut command = env.command(args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("it listens", || listening.exists());
    env.write("go", "");
    child
}

/// `dogwatch wait` is told of the agent that the launcher gave way to.
fn is_waited_for(way: &str) {
    let env = TestEnv::new();
    let screen = env.write("screen.txt", IDLE.trim_end());
    let script = format!("stty -echo\ncat '{}'\nsleep 300", screen.display());
    let line = launcher(&env, "claude", way, &script);
    let id = start_by_hand(&env, &line);
    let wait = begin(&env, &["wait", "mine", "--for", "idle", "--timeout", "25s", "--json"]);
    let output = wait.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(0), "{way}: {said}");
    let why = env.dogwatch(&["why", "mine", "--json"]).success().json();
    assert_eq!((&why["id"], &why["state"]), (&id.into(), &"idle".into()), "{way}: {why:#}");
}

#[test]
fn one_that_starts_the_agent() {
    is_waited_for("PROPER\nexit 0");
}

#[test]
fn one_that_becomes_the_agent() {
    is_waited_for("exec PROPER");
}

#[test]
fn one_that_is_something_else_in_between() {
    is_waited_for("exec sh -c 'sleep 1; exec \"$0\"' PROPER");
}

#[test]
fn an_agent_beside_the_leader_of_its_job() {
    let env = TestEnv::new();
    let screen = env.write("screen.txt", IDLE.trim_end());
    let claude = env.write_program("claude", &format!("cat '{}'\nsleep 300", screen.display()));
    let id = start_by_hand(&env, &format!("sleep 300 | '{}'", claude.display()));
    let _ = env.dogwatch(&["wait", &id, "--for", "idle", "--timeout", "25s"]).success();
}

#[test]
fn an_agent_that_ends_is_gone() {
    let env = TestEnv::new();
    let line = launcher(&env, "claude", "exit 0", "");
    start_by_hand(&env, &line);
    let wait = begin(&env, &["wait", "mine", "--for", "idle", "--timeout", "25s"]);
    let output = wait.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
}

#[test]
fn a_message_reaches_the_agent_proper() {
    let env = TestEnv::new();
    env.write("prompt.txt", PROMPT);
    let scenario = "record = 'received'\n[[step]]\nraw = true\n[[step]]\nbracketed_paste = true\n\
         [[step]]\nscreen = { file = 'prompt.txt', cursor = [2, 4] }\n\
         [[step]]\n[step.input]\nwant = 'line'\n[[step]]\nawait_file = { path = 'end', within = '60s' }\n";
    let scenario = env.write("agent.toml", scenario);
    let script = format!("'{}' lab actor '{}'", dogwatch(), scenario.display());
    let line = launcher(&env, "codex", "PROPER\nexit 0", &script);
    start_by_hand(&env, &line);
    let args = ["send", "mine", "for the agent", "--timeout", "10s", "--json"];
    let output = begin(&env, &args).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(!said.contains("no_such_session"), "{said}");
    let received = fs::read(env.work().join("received")).unwrap_or_default();
    assert!(String::from_utf8_lossy(&received).contains("for the agent\u{1b}[201~\r"), "{said}");
}
