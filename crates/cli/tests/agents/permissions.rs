//! A run whose agents ask: each dialog of a real agent is a question that is answered from elsewhere.

use std::process::{Child, Stdio};
use std::time::Duration;

use dogwatch_testkit::{eventually_or, wait_within};
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

const FLOW: &str = r#"
name = "asks"
[[step]]
id = "one"
agent = "claude"
prompt = "[write]"
verify = [{ kind = "files", glob = "written.txt" }]
[[step]]
id = "tidy"
run = ["rm", "written.txt"]
verify = [{ kind = "session_exit" }]
[[step]]
id = "two"
agent = "AGENT"
prompt = "[write]"
verify = [{ kind = "files", glob = "written.txt" }]
"#;

struct Asking {
    lab: Lab,
}

impl Asking {
    fn new(second: &str) -> Option<Self> {
        let lab = Lab::for_a_team(Agent::Claude, Agent::Codex)?;
        lab.env.write("flow.toml", FLOW.replace("AGENT", second));
        Some(Self { lab })
    }

    fn begin(&self, more: &[&str]) -> Child {
        let mut args = vec!["story", "run", "--workflow", "flow.toml", "--permissions", "ask"];
        args.extend(more);
        let log = std::fs::File::create(self.lab.env.root().join("run.log")).unwrap();
        let (out, err) = (log.try_clone().unwrap(), Stdio::from(log));
        self.lab.command(&args).stdout(out).stderr(err).spawn().unwrap()
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.lab.env.root().join("run.log")).unwrap_or_default()
    }

    fn listed(&self) -> Vec<Value> {
        let all = self.lab.dogwatch(&["escalations", "ls", "--all", "--json"]).success().json();
        all["escalations"].as_array().unwrap().clone()
    }

    /// Waits until a step's agent asks, and returns the open question.
    #[track_caller]
    fn question(&self, step: &str) -> Value {
        let is_open = |one: &Value| one["settled"].is_null() && one["situation"]["step"] == step;
        let what = || format!("a question of {step}:\n{}", self.said());
        let look = || self.listed().into_iter().find(is_open);
        let open = wait_within(Duration::from_mins(2), what, look);
        assert_eq!(open["situation"]["trigger"], "permission", "{open:#}\n{}", self.said());
        open
    }
}

#[test]
fn dialogs_of_claude_and_codex_are_answered_from_elsewhere() {
    let Some(asking) = Asking::new("codex") else { return };
    let mut run = asking.begin(&[]);
    let open = asking.question("one");
    assert_eq!(open["kind"], "preference");
    assert!(open["headline"].as_str().unwrap().contains("written.txt"), "{open:#}");
    let options = open["options"].as_array().unwrap();
    assert!(options.iter().all(|option| option["action"] == "choose"), "{open:#}");
    assert!(options[0]["label"].as_str().unwrap().starts_with("Yes"), "{open:#}");
    let number = open["number"].to_string();
    let bad = asking.lab.dogwatch(&["escalations", "answer", &number, "--option", "choose"]);
    let _ = bad.code(2);
    let status = asking.lab.dogwatch(&["story", "status"]).success().text();
    assert!(status.contains("permission needed: item asks, one"), "{status}");
    let _ = asking.lab.dogwatch(&["escalations", "answer", &number, "--option", "1"]).success();
    let open = asking.question("two");
    let number = open["number"].to_string();
    let _ = asking.lab.dogwatch(&["escalations", "answer", &number, "--option", "1"]).success();
    assert!(run.wait().unwrap().success(), "{}", asking.said());
    assert!(asking.said().contains("permissions: ask"), "{}", asking.said());
    let report = asking.lab.dogwatch(&["story", "report", "--json"]).success().json();
    assert_eq!((&report["attempts"], &report["retries"]), (&3.into(), &0.into()), "{report:#}");
}

#[test]
fn one_that_is_answered_at_the_terminal_is_settled_and_one_is_left_open() {
    let Some(asking) = Asking::new("claude") else { return };
    let _ = asking.begin(&["--no-wait"]).wait().unwrap();
    let open = asking.question("one");
    // The run has left; the agent waits, and the level is kept.
    let runs = asking.lab.dogwatch(&["story", "ls", "--json"]).success().json();
    assert_eq!(
        (&runs["runs"][0]["attended"], &runs["runs"][0]["permissions"]),
        (&false.into(), &"ask".into()),
        "{}",
        asking.said()
    );
    let mut run = asking.lab.command(&["story", "resume"]).stdout(Stdio::null()).spawn().unwrap();
    // A person at the terminal.
    let name = open["situation"]["session"].as_str().unwrap();
    let _ = asking.lab.dogwatch(&["answer", name, "1"]).success();
    eventually_or("the question is settled", || {
        let all = asking.listed();
        let one = all.iter().find(|one| one["number"] == open["number"]).unwrap();
        if one["settled"]["how"] == "withdrawn" { Ok(()) } else { Err(format!("{one:#}")) }
    });
    // The same dialog again, in another session: it is a question of its own.
    let again = asking.question("two");
    assert_ne!(again["number"], open["number"]);
    let number = again["number"].to_string();
    let _ = asking.lab.dogwatch(&["escalations", "answer", &number, "--option", "1"]).success();
    assert!(run.wait().unwrap().success());
}
