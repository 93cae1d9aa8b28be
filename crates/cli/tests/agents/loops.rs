//! Real agents that go round in circles.

use dogwatch_testkit::eventually_or;
use model_double::Options;
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

const SCENARIO: &str = include_str!("../../../../lab/scenarios/loops.toml");

impl Lab {
    /// Waits until the loop is, or is not, in its status.
    #[track_caller]
    fn loops(&self, is_looping: bool) -> Value {
        let mut last = Value::Null;
        eventually_or(&format!("looping: {is_looping}"), || {
            last = self.why();
            let is_so = last["state"] == "working" && last["looping"].is_object() == is_looping;
            if is_so { Ok(()) } else { Err(format!("{last:#}")) }
        });
        last
    }
}

fn a_loop_is_reported_and_ends(agent: Agent, tool: &str) {
    let options = Options::default();
    let Some(lab) = Lab::with_scenario(agent, &options, SCENARIO) else { return };
    lab.spawn(&["--unattended", "--prompt", "[loop-test]"]);
    let mut verdict = lab.loops(true);
    eventually_or("all seven calls are counted", || {
        verdict = lab.loops(true);
        if verdict["looping"]["times"] == 7 { Ok(()) } else { Err(format!("{verdict:#}")) }
    });
    let looping = &verdict["looping"];
    assert_eq!(looping["kind"], "repeat", "{verdict:#}");
    assert!(looping["what"].as_str().unwrap().starts_with(tool), "{verdict:#}");
    assert_eq!(looping["evidence"].as_array().unwrap().len(), 7, "{verdict:#}");
    let shown = lab.dogwatch(&["status", "a"]).success().text();
    assert!(shown.contains("looping: ") && shown.contains("×7, same result"), "{shown}");
    let why = lab.dogwatch(&["why", "a"]).success().text();
    assert!(why.contains("RESULT") && why.matches("failed").count() >= 7, "{why}");
    lab.double.release("gate");
    lab.loops(false);
    lab.double.release("second-gate");
    lab.is_idle();
    let events = lab.dogwatch(&["events", "--kind", "state", "--json"]).success().text();
    let told = events.lines().filter(|line| line.contains("\"looping\":{")).count();
    assert_eq!(told, 1, "{events}");
    lab.end(&["--now"]);
}

impl Lab {
    #[track_caller]
    fn is_idle(&self) {
        eventually_or("it is idle", || {
            let last = self.why();
            let is_so = last["state"] == "idle" && last["looping"].is_null();
            if is_so { Ok(()) } else { Err(format!("{last:#}")) }
        });
    }
}

#[test]
fn claude_runs_the_same_test_again_and_again() {
    a_loop_is_reported_and_ends(Agent::Claude, "Bash echo run");
}

#[test]
fn codex_runs_the_same_test_again_and_again() {
    a_loop_is_reported_and_ends(Agent::Codex, "exec_command echo run");
}

/// Changes that are each checked, with the same good result, are work.
#[test]
fn work_is_no_loop() {
    let options = Options::default();
    let Some(lab) = Lab::with_scenario(Agent::Claude, &options, SCENARIO) else { return };
    lab.spawn(&["--unattended", "--prompt", "[fine-changes]"]);
    lab.env.wait_screen("a", "I am at the gate");
    lab.loops(false);
    lab.double.release("gate");
    lab.is_idle();
    let events = lab.dogwatch(&["events", "--kind", "state", "--json"]).success().text();
    assert!(!events.contains("looping"), "{events}");
    lab.end(&["--now"]);
}

/// With `on_loop = "interrupt"` dogwatch interrupts its turn, once, and notifies a person.
fn interrupted(agent: Agent) {
    let options = Options::default();
    let Some(lab) = Lab::with_scenario(agent, &options, SCENARIO) else { return };
    let folder = lab.env.home().join(".config/dogwatch");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "on_loop = \"interrupt\"\n").unwrap();
    lab.spawn(&["--unattended", "--prompt", "[loop-test]"]);
    eventually_or("it was interrupted", || {
        let last = lab.why();
        let is_so = last["state"] == "idle" && last["interrupted"] == true;
        if is_so { Ok(()) } else { Err(format!("{last:#}\n{}", lab.env.screen("a"))) }
    });
    let events =
        || lab.dogwatch(&["events", "--kind", "loop_interrupted", "--json"]).success().text();
    assert_eq!(events().lines().count(), 1, "{}", events());
    // A person who wants the same again gets it while automatic actions are paused.
    let _ = lab.dogwatch(&["limits", "pause"]).success();
    let _ = lab.dogwatch(&["send", "a", "[loop-test] again", "--timeout", "60s"]).success();
    lab.loops(true);
    assert_eq!(events().lines().count(), 1, "{}", events());
    lab.end(&["--now"]);
}

#[test]
fn claude_is_interrupted_in_a_loop() {
    interrupted(Agent::Claude);
}

#[test]
fn codex_is_interrupted_in_a_loop() {
    interrupted(Agent::Codex);
}
