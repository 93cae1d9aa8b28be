//! The skill, where real agents look for it: they offer it to their model. And the plugin and the extension that bring it along.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dogwatch_testkit::{TestEnv, dogwatch};
use model_double::homes::Agent;
use model_double::{Options, agents};

use crate::lab::{Lab, is_installed};

/// The beginning of the skill's description.
const DESCRIPTION: &str = "Start, supervise and collect results from other AI coding agents";

fn is_offered(agent: Agent, place: &str) {
    let options = Options { log_bodies: true, ..Options::default() };
    let Some(lab) = Lab::with(agent, &options) else { return };
    let written = lab.dogwatch(&["install-skill", agent.name(), place]).success().text();
    lab.spawn(&[]);
    let _sent = lab.dogwatch(&["send", "a", "Hello?", "--timeout", "60s"]).success();
    let asked = lab.double.wait_until(Duration::from_secs(30), |requests| {
        requests.iter().any(|request| request.question.as_ref().is_some_and(|q| !q.side))
    });
    let bodies: Vec<String> = asked
        .unwrap_or_default()
        .iter()
        .filter_map(|request| Some(request.body.as_ref()?.to_string()))
        .collect();
    let count = |body: &String| body.matches(DESCRIPTION).count();
    assert!(bodies.iter().any(|body| count(body) == 1), "{written}: {bodies:#?}");
    let _removed = lab.dogwatch(&["install-skill", agent.name(), place, "--remove"]).success();
}

#[test]
fn claude_offers_the_skill() {
    for place in ["--user", "--project"] {
        is_offered(Agent::Claude, place);
    }
}

#[test]
fn codex_offers_the_skill() {
    for place in ["--user", "--project"] {
        is_offered(Agent::Codex, place);
    }
}

#[test]
fn gemini_offers_the_skill() {
    for place in ["--user", "--project"] {
        is_offered(Agent::Gemini, place);
    }
}

/// What `contrib` has for an agent.
fn contrib(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").join(name)
}

/// The agent's own program, with dogwatch on its search path.
fn program(env: &TestEnv, agent: Agent) -> Command {
    let program = agents::pinned(agent.name()).and_then(|pinned| pinned.installed()).unwrap();
    let folder = |path: &Path| path.parent().unwrap().display().to_string();
    let mut command = env.foreign(&program);
    let system = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{system}", folder(Path::new(dogwatch()))));
    command.env("DISABLE_AUTOUPDATER", "1").env("GEMINI_API_KEY", "double-needs-no-key");
    command
}

#[test]
fn claude_takes_the_plugin_and_connects_to_its_server() {
    if !is_installed(Agent::Claude) {
        return;
    }
    let env = TestEnv::new();
    let folder = contrib("claude-plugin").canonicalize().unwrap().display().to_string();
    let run = |args: &[&str]| {
        let said = env.run(program(&env, Agent::Claude).arg("plugin").args(args)).success();
        said.text()
    };
    let checked = run(&["validate", &folder]);
    assert!(checked.contains("Validation passed") && !checked.contains("warning"), "{checked}");
    run(&["marketplace", "add", &folder]);
    for plugin in ["dogwatch@dogwatch", "dogwatch-briefing@dogwatch"] {
        run(&["install", plugin]);
    }
    let servers = env.run(program(&env, Agent::Claude).args(["mcp", "list"])).success().text();
    let is_connected = |line: &str| line.contains("dogwatch mcp") && line.contains("Connected");
    assert!(servers.lines().any(is_connected), "{servers}");
}

#[test]
fn gemini_takes_the_extension_and_connects_to_its_server() {
    if !is_installed(Agent::Gemini) {
        return;
    }
    let env = TestEnv::new();
    let folder = contrib("gemini-extension").canonicalize().unwrap();
    let install = ["extensions", "install", "--consent", "--skip-settings"];
    let mut command = program(&env, Agent::Gemini);
    // It asks whether the folder is trusted.
    let said = env.run_with_input(command.args(install).arg(&folder), b"y\n").success();
    assert!(said.to_string().contains("installed successfully"), "{said}");
    let servers = env.run(program(&env, Agent::Gemini).args(["mcp", "list"])).success();
    assert!(servers.to_string().contains("Connected"), "{servers}");
}
