//! Real agents that edit the same file.

use std::fs;

use dogwatch_testkit::{eventually, eventually_or};
use model_double::Options;
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

const SCENARIO: &str = include_str!("../../../../lab/scenarios/collisions.toml");

impl Lab {
    fn is_configured(&self, text: &str) {
        let folder = self.env.home().join(".config/dogwatch");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
    }

    fn start(&self, agent: Agent, name: &str, args: &[&str]) {
        let mut command = self.command(&["spawn", agent.name(), "--name", name]);
        let _ = self.env.run(command.args(args)).success();
    }

    fn is_done(&self, name: &str) {
        let wait = ["wait", name, "--for", "idle", "--timeout", "60s"];
        let _ = self.dogwatch(&wait).success();
    }

    fn collisions(&self) -> Vec<String> {
        let said = self.dogwatch(&["events", "--kind", "collision", "--json"]).success();
        let text = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            event["data"]["text"].as_str().unwrap().to_owned()
        };
        said.text().lines().map(text).collect()
    }

    fn shared(&self) -> String {
        fs::read_to_string(self.env.work().join("shared.txt")).unwrap()
    }
}

fn lab() -> Option<Lab> {
    let lab = Lab::with_scenario(
        Agent::Claude,
        &Options { log_bodies: true, ..Options::default() },
        SCENARIO,
    )?;
    let lab = lab.joined_by(Agent::Codex)?;
    let mut command = lab.env.foreign("git");
    let _ = lab.env.run(command.args(["init", "-q"])).success();
    Some(lab)
}

/// dogwatch refuses the second agent's first write, with the reason; its second try succeeds.
fn warns(first: Agent, second: Agent) {
    let Some(lab) = lab() else { return };
    lab.is_configured("[collisions]\ntell_agent = true\n");
    lab.start(first, "a", &["--unattended", "--prompt", "[make]"]);
    lab.is_done("a");
    assert_eq!(lab.shared(), "one\ntwo\n");
    lab.start(second, "b", &["--unattended", "--prompt", "[change]"]);
    let is_refused = || {
        let bodies = lab.double.requests().into_iter().filter_map(|request| request.body);
        bodies.into_iter().any(|body| body.to_string().contains("was held once"))
    };
    eventually("the model got the reason", is_refused);
    assert_eq!(lab.collisions(), ["a and b both edit shared.txt"]);
    assert_eq!(lab.shared(), "one\ntwo\n", "reported before the second write");
    lab.double.release("gate");
    eventually_or("it wrote at the second try", || {
        if lab.shared() == "one\nthree\n" { Ok(()) } else { Err(lab.env.screen("b")) }
    });
    lab.is_done("b");
    assert_eq!(lab.collisions().len(), 1);
    let _ = lab.dogwatch(&["kill", "a", "b", "--now"]).success();
}

#[test]
fn codex_gets_a_warning_that_claude_edits_the_file() {
    warns(Agent::Claude, Agent::Codex);
}

#[test]
fn claude_gets_a_warning_that_codex_edits_the_file() {
    warns(Agent::Codex, Agent::Claude);
}

/// By default no write is refused; the report exists while the second agent asks for permission.
#[test]
fn it_is_reported_before_the_second_write() {
    let Some(lab) = lab() else { return };
    lab.start(Agent::Codex, "a", &["--unattended", "--prompt", "[make]"]);
    lab.is_done("a");
    lab.start(Agent::Claude, "b", &["--prompt", "[change]"]);
    eventually_or("claude asks", || {
        let why = lab.dogwatch(&["why", "b", "--json"]).success().json();
        if why["state"] == "waiting" { Ok(()) } else { Err(format!("{why:#}")) }
    });
    assert_eq!(lab.collisions(), ["a and b both edit shared.txt"]);
    assert_eq!(lab.shared(), "one\ntwo\n");
    let _ = lab.dogwatch(&["kill", "a", "b", "--now"]).success();
}
