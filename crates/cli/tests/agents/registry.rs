//! Sessions of the registry with real agents: ids found, and conversations gone on with.

use dogwatch_testkit::eventually_or;
use model_double::Options;
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

impl Lab {
    fn with_bodies(agent: Agent) -> Option<Self> {
        Self::with(agent, &Options { log_bodies: true, ..Options::default() })
    }

    /// The registry's row of session `a`.
    fn listed(&self) -> Value {
        let said = self.dogwatch(&["registry", "--json"]).success().json();
        said["sessions"][0].clone()
    }

    /// The classes that passes tell of, until one of them does.
    #[track_caller]
    fn told(&self, class: &str) {
        let mut said = Value::Null;
        eventually_or(&format!("class {class}"), || {
            said = self.dogwatch(&["reconcile", "--once", "--emit-diff"]).success().json();
            let drifts = said["drifts"].as_array().unwrap();
            let is_it = drifts.iter().any(|drift| drift["class"] == class);
            if is_it { Ok(()) } else { Err(format!("{said:#}\n{}", self.env.screen("a"))) }
        });
    }

    /// All of the last request of a turn.
    fn last_request(&self, human: &str) -> String {
        let requests = self.double.requests();
        let of_turn = |r: &&model_double::Request| {
            r.question.as_ref().is_some_and(|q| !q.side && q.human.contains(human))
        };
        let found = requests.iter().rfind(of_turn);
        found.and_then(|r| r.body.as_ref()).map(ToString::to_string).unwrap_or_default()
    }

    fn wait_state(&self, state: &str) {
        let wanted = ["wait", "a", "--for", state, "--timeout", "60s"];
        let _ = self.dogwatch(&wanted).success();
    }
}

/// Created, talked to, its id found, ended; brought back, talked to again: the second turn carries the first.
fn goes_on(agent: Agent) {
    let Some(lab) = Lab::with_bodies(agent) else { return };
    let first = "[hello] remember the word marzipan";
    let create = ["create", agent.name(), "--name", "a", "--prompt", first, "--unattended"];
    let _ = lab.dogwatch(&create).success();
    lab.wait_state("idle");
    lab.told("C");
    let id = lab.listed()["conversation"].as_str().unwrap().to_owned();

    let deleted = lab.dogwatch(&["delete", "a", "--json"]).success().json();
    assert_eq!(
        (&deleted["by"], &deleted["conversation"]),
        (&"own_exit".into(), &id.as_str().into())
    );
    assert_eq!(lab.listed()["status"], "terminated");

    let _ = lab.dogwatch(&["resume", "a", "--unattended"]).success();
    let starts = lab.dogwatch(&["why", "a", "--json"]).success().json();
    assert_eq!(starts["state"], "starting", "what was before its start tells nothing: {starts:#}");
    lab.wait_state("idle");
    let sent = lab.dogwatch(&["send", "a", "[hello] which word was it", "--json"]).success().json();
    assert_eq!(sent["outcome"], "delivered", "{sent:#}\n{}", lab.env.screen("a"));
    lab.wait_state("idle");
    let request = lab.last_request("which word was it");
    assert!(request.contains("marzipan"), "the first turn is not in the second: {request}");
    let row = lab.listed();
    assert_eq!(
        (&row["status"], &row["seen"], &row["conversation"]),
        (&"running".into(), &"alive".into(), &id.as_str().into())
    );
    // It went on in the same conversation, and not in a copy.
    let said = lab.dogwatch(&["reconcile", "--once", "--emit-diff"]).success().json();
    assert_eq!(said["drifts"], Value::Array(vec![]), "{said:#}");
    let _ = lab.dogwatch(&["delete", "a", "--purge-conversation"]).success();
    let gone = lab.dogwatch(&["resume", "a", "--json"]).code(3).json();
    assert_eq!(gone["resumed"][0]["error"]["code"], "no_conversation");
}

#[test]
fn claude_goes_on_with_its_conversation() {
    goes_on(Agent::Claude);
}

#[test]
fn codex_goes_on_with_its_conversation() {
    goes_on(Agent::Codex);
}

/// Started by a person, in a shell, under a name of the registry's: found, and its id with it.
fn found(agent: Agent) {
    let Some(lab) = Lab::with_bodies(agent) else { return };
    let pane = lab.start_by_hand();
    let name = format!("lab-creator-{}", agent.name());
    lab.env.tmux(&["rename-session", "-t", &pane, &name]);
    lab.told("B");
    assert_eq!(lab.listed()["conversation"], Value::Null, "nothing was said yet");
    // Its launcher is the agent until the agent itself runs, which is another one by its process.
    eventually_or("it is idle", || {
        let seen = lab.dogwatch(&["why", &pane, "--json"]);
        let seen: Value = serde_json::from_slice(&seen.stdout).unwrap_or_default();
        if seen["state"] == "idle" { Ok(()) } else { Err(format!("{seen:#}")) }
    });
    eventually_or("a message arrives", || {
        let sent =
            lab.dogwatch(&["send", &pane, "[hello] you there", "--json", "--timeout", "20s"]);
        let sent: Value = serde_json::from_slice(&sent.stdout).unwrap();
        if sent["outcome"] == "delivered" { Ok(()) } else { Err(format!("{sent:#}")) }
    });
    lab.told("C");
    assert!(lab.listed()["conversation"].is_string());
    let deleted = lab.dogwatch(&["delete", &name, "--json"]).success().json();
    assert_eq!(deleted["by"], "own_exit");
    assert_eq!(lab.listed()["seen"], "gone");
}

#[test]
fn claude_by_hand_is_found_with_its_id() {
    found(Agent::Claude);
}

#[test]
fn codex_by_hand_is_found_with_its_id() {
    found(Agent::Codex);
}
