//! Requests for permission that the user's rules answer, by the hook that the agent waits for.

use std::fs;

use dogwatch_testkit::eventually_or;
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

/// A command that asks for permission: it writes beside the project.
const COMMAND: &str = "touch ../permission-given.txt";

impl Lab {
    fn rules(&self, text: &str) {
        let folder = self.env.home().join(".config/dogwatch");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
    }

    fn is_given(&self) -> bool {
        self.env.work().join("../permission-given.txt").exists()
    }

    fn is_at_rest(&self) {
        eventually_or("its turn is over", || {
            let verdict = self.why();
            let is_so = verdict["state"] == "idle" && verdict["turns_done"] != 0;
            if is_so { Ok(()) } else { Err(format!("{verdict:#}")) }
        });
    }

    fn answers(&self) -> Vec<Value> {
        let said = self.dogwatch(&["events", "--kind", "rules_answered", "--json"]).success();
        said.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn states(&self) -> Vec<String> {
        let said = self.dogwatch(&["events", "--kind", "state", "--json"]).success();
        let state =
            |line: &str| serde_json::from_str::<Value>(line).unwrap()["data"]["state"].to_string();
        said.text().lines().map(state).collect()
    }
}

fn allowed(lab: &Lab, agent: Agent) {
    lab.rules("[[rule]]\nname = \"touching\"\nanswer = \"allow\"\ncommand = \"touch *\"\n");
    lab.spawn(&["--prompt", "[permission]"]);
    eventually_or("it was allowed", || {
        if lab.is_given() { Ok(()) } else { Err(format!("{:#}", lab.why())) }
    });
    lab.is_at_rest();
    let answers = lab.answers();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    assert_eq!(answers[0]["data"]["rules"][0], "touching");
    assert!(answers[0]["data"]["asks"].as_str().unwrap().contains(COMMAND), "{answers:#?}");
    // claude draws its dialog while the hook decides, so a glance at that moment finds it waiting; codex asks the hook first.
    let has_waited = lab.states().iter().any(|state| state.contains("waiting"));
    assert!(agent == Agent::Claude || !has_waited, "{:?}", lab.states());
    let explained = lab.dogwatch(&["rules", "explain", "a", "--json"]).success().json();
    assert_eq!(
        (&explained["answer"], &explained["was_answered"]),
        (&"allow".into(), &true.into()),
        "{explained:#}"
    );
    assert_eq!(explained["agent"], agent.name());
    lab.end(&["--now"]);
}

#[test]
fn claude_is_allowed_by_a_rule() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    allowed(&lab, Agent::Claude);
}

#[test]
fn codex_is_allowed_by_a_rule() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    allowed(&lab, Agent::Codex);
}

#[test]
fn an_old_claude_is_allowed_by_a_rule() {
    let Some(lab) = Lab::with_old_claude() else { return };
    allowed(&lab, Agent::Claude);
}

fn denied(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.rules("[[rule]]\nanswer = \"deny\"\ncommand = \"touch *\"\n[[rule]]\nanswer = \"allow\"\ncommand = \"*\"\n");
    lab.spawn(&["--prompt", "[permission]"]);
    lab.is_at_rest();
    let answers = lab.answers();
    assert!(
        !answers.is_empty() && answers.iter().all(|a| a["data"]["answer"] == "deny"),
        "{answers:#?}"
    );
    assert!(!lab.is_given());
    lab.end(&["--now"]);
}

#[test]
fn claude_is_refused_by_a_rule() {
    denied(Agent::Claude);
}

#[test]
fn codex_is_refused_by_a_rule() {
    denied(Agent::Codex);
}

/// What no rule is certain of is asked, and rules that are paused answer nothing.
fn asked(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.rules("[[rule]]\nanswer = \"allow\"\ncommand = \"touch here.txt\"\n");
    let waits = || {
        eventually_or("it waits for a person", || {
            let verdict = lab.why();
            if verdict["dialog"].is_string() { Ok(()) } else { Err(format!("{verdict:#}")) }
        });
    };
    lab.spawn(&["--prompt", "[permission]"]);
    waits();
    let explained = lab.dogwatch(&["rules", "explain", "a"]).success();
    assert!(explained.text().contains("the rules say ask: no rule allows"), "{}", explained.text());
    let _ = lab.dogwatch(&["answer", "a", "no"]).success();
    lab.rules("[[rule]]\nanswer = \"allow\"\ncommand = \"touch *\"\n");
    let rehearsed = lab.dogwatch(&["rules", "rehearse", "--json"]).success().json();
    assert_eq!((&rehearsed["allow"], &rehearsed["ask"]), (&1.into(), &0.into()), "{rehearsed:#}");
    let _ = lab.dogwatch(&["rules", "pause"]).success();
    let _ = lab.dogwatch(&["send", "a", "[permission] again", "--timeout", "60s"]).success();
    waits();
    assert!(lab.answers().is_empty() && !lab.is_given());
    let _ = lab.dogwatch(&["rules", "resume"]).success();
    let _ = lab.dogwatch(&["answer", "a", "no"]).success();
    let _ = lab.dogwatch(&["send", "a", "[permission] and again", "--timeout", "60s"]).success();
    eventually_or("it is allowed now", || {
        if lab.is_given() { Ok(()) } else { Err(format!("{:#}", lab.why())) }
    });
    lab.end(&["--now"]);
}

#[test]
fn claude_asks_where_no_rule_is_certain() {
    asked(Agent::Claude);
}

#[test]
fn codex_asks_where_no_rule_is_certain() {
    asked(Agent::Codex);
}

/// The rules of a project that was trusted, until its file changes.
#[test]
fn claude_is_answered_by_the_rules_of_a_project() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let file = lab.env.work().join(".dogwatch.toml");
    let deny = "[[rule]]\nname = \"ours\"\nanswer = \"deny\"\ncommand = \"touch *\"\n";
    lab.rules("[[rule]]\nanswer = \"allow\"\ncommand = \"*\"\n");
    fs::write(&file, deny).unwrap();
    let _ = lab.dogwatch(&["trust"]).success();
    lab.spawn(&["--prompt", "[permission]"]);
    lab.is_at_rest();
    let answers = lab.answers();
    assert!(answers.iter().all(|answer| answer["data"]["rules"][0] == "ours"), "{answers:#?}");
    assert!(!answers.is_empty() && !lab.is_given());
    fs::write(&file, "").unwrap();
    let _ = lab.dogwatch(&["send", "a", "[permission] again", "--timeout", "60s"]).success();
    eventually_or("it waits for a person", || {
        let verdict = lab.why();
        if verdict["dialog"].is_string() { Ok(()) } else { Err(format!("{verdict:#}")) }
    });
    assert!(lab.answers().len() == answers.len() && !lab.is_given());
    lab.end(&["--now"]);
}
