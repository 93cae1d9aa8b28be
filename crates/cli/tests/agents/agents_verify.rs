//! `agents verify` with the real agents: the laboratory that everybody has.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dogwatch_testkit::TestEnv;
use model_double::agents;
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::is_installed;

/// Runs `agents verify` on the pinned version of an agent, in the environment of a user who has credentials of their own.
fn verified(env: &TestEnv, agent: Agent, args: &[&str]) -> Option<Value> {
    if !is_installed(agent) {
        return None;
    }
    let program = agents::pinned(agent.name()).unwrap().installed().unwrap();
    let program = program.display().to_string();
    let mut command =
        env.command(&["agents", "verify", agent.name(), "--program", &program, "--json"]);
    command.args(args).env("PATH", std::env::var_os("PATH").unwrap());
    command.env("ANTHROPIC_API_KEY", "a-key-of-the-user").env("OPENAI_API_KEY", "another-one");
    let said = env.run(&mut command);
    let found = said.json()["verifications"][0].clone();
    assert_eq!(found["version"], agents::pinned(agent.name()).unwrap().version, "{found:#}");
    Some(found)
}

/// Situations that were not recognised, or not played.
fn off(found: &Value) -> Vec<String> {
    let situations = found["situations"].as_array().unwrap().iter();
    let is_off = |one: &&Value| one["grade"] != "right" && one["grade"] != "not_applicable";
    situations.filter(is_off).map(|one| format!("{one:#}")).collect()
}

fn is_recognised(agent: Agent) {
    let env = TestEnv::new();
    let Some(found) = verified(&env, agent, &["--only", "killed,tools"]) else { return };
    assert_eq!(off(&found), Vec::<String>::new());
    assert!(found["totals"]["right"].as_u64().unwrap() >= 4, "{found:#}");
    assert_eq!(found["report"], Value::Null, "nothing is off");
}

#[test]
fn claude_is_verified() {
    is_recognised(Agent::Claude);
}

#[test]
fn codex_is_verified() {
    is_recognised(Agent::Codex);
}

/// Every file below a folder: its size, and when it was changed and read.
fn listing(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            if meta.is_dir() {
                folders.push(path);
            } else {
                let times = (meta.len(), meta.modified().unwrap(), meta.accessed().unwrap());
                found.insert(path, times);
            }
        }
    }
    found
}

#[test]
fn nothing_of_the_user_is_touched() {
    let env = TestEnv::new();
    for (file, text) in [
        (".claude/.credentials.json", r#"{"claudeAiOauth":{"accessToken":"a-token-of-the-user"}}"#),
        (".claude.json", r#"{"oauthAccount":{"emailAddress":"ann@example.org"}}"#),
        (".codex/auth.json", r#"{"OPENAI_API_KEY":"a-token-of-the-user"}"#),
    ] {
        let path = env.home().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let before = listing(env.home());
    let Some(found) = verified(&env, Agent::Claude, &["--only", "killed"]) else { return };
    assert_eq!(off(&found), Vec::<String>::new());
    assert_eq!(listing(env.home()), before);
}

/// A program that says a version and then does something else than an agent.
fn fake(env: &TestEnv, then: &str) -> String {
    let path = env.root().join("claude");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo '2.1.325 (Claude Code)' && exit 0\n{then}\n"
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn fails(then: &str, told: &str) {
    let env = TestEnv::new();
    let program = fake(&env, then);
    let args =
        ["agents", "verify", "claude", "--program", &program, "--json", "--only", "killed,plan"];
    let mut command = env.command(&args);
    command.env("PATH", std::env::var_os("PATH").unwrap());
    let found = env.run(&mut command).code(1).json()["verifications"][0].clone();
    let situations = found["situations"].as_array().unwrap();
    assert_eq!(situations.len(), 3, "{found:#}");
    assert!(situations.iter().all(|one| one["grade"] == "not_played"), "{found:#}");
    let notes: String = situations.iter().map(|one| one["note"].to_string()).collect();
    assert!(notes.contains(told), "{notes}");
    assert_eq!(found["totals"]["not_played"], 3);
}

#[test]
fn an_agent_that_hangs_is_reported() {
    fails("echo 'I am hung'; exec sleep 600", "its screen: I am hung");
}

#[test]
fn an_agent_that_crashes_is_reported() {
    fails("echo 'I am out'; sleep 1; exit 3", "the agent has ended");
}

#[test]
fn a_program_that_is_no_agent_is_refused() {
    let env = TestEnv::new();
    let program = env.root().join("mute");
    fs::write(&program, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.display().to_string();
    let said = env.dogwatch(&["agents", "verify", "claude", "--program", &program]).code(7);
    assert!(said.stderr.contains("does not say its version"), "{}", said.stderr);
    let said = env.dogwatch(&["agents", "verify", "aider"]).code(7);
    assert!(
        said.stderr.contains("cannot be verified; these can: claude, codex"),
        "{}",
        said.stderr
    );
}

/// `doctor` shows the result for this version, and not for a program that was changed since.
#[test]
fn the_result_is_kept_for_this_version() {
    let env = TestEnv::new();
    let program = fake(&env, "exit 3");
    let path = format!("{}:{}", env.root().display(), std::env::var("PATH").unwrap());
    let run = |args: &[&str]| env.run(env.command(args).env("PATH", &path));
    let doctor = || {
        let checks = run(&["doctor", "--json"]).json()["checks"].clone();
        let is_claude = |check: &&Value| check["check"] == "claude";
        checks.as_array().unwrap().iter().find(is_claude).unwrap().clone()
    };
    let _said = run(&["agents", "verify", "claude"]).code(1);
    let found = doctor();
    let said = found["found"].as_str().unwrap();
    assert!(said.contains("verified on "), "{found:#}");
    assert_eq!(found["health"], "warning", "{found:#}");
    fs::write(&program, fs::read_to_string(&program).unwrap() + "# newer\n").unwrap();
    let said = doctor()["found"].as_str().unwrap().to_owned();
    assert!(!said.contains("verified on "), "{said}");
}
