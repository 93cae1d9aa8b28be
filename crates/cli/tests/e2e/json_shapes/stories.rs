//! Runs: planned, carried out, asked about, paused, reported.

use std::fs;

use dogwatch_testkit::{CommandOutput, Project};
use serde_json::Value;

use crate::json_shapes::shape;

const TWO: &str = r#"
name = "two"
items = ["a", "b"]
[[step]]
id = "write"
run = ["sh", "-c", "echo text of {item} > {item}.txt"]
verify = [{ kind = "files", glob = "{item}.txt", count = 1 }]
[[step]]
id = "commit"
commit = "work: {item}"
[[step]]
id = "wrap"
per = "group"
optional = true
run = ["sh", "-c", "cat *.txt > all.md"]
verify = [{ kind = "files", glob = "all.md" }]
"#;

/// Which fact comes first is a matter of threads.
fn facts(name: &str, output: &CommandOutput) {
    let kind = |line: &Value| {
        let data = if line["data"].is_object() { &line["data"] } else { line };
        let word = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", word("fact"), word("left"), data["session"].is_string())
    };
    stored!(name, shape::first_of_each(output, kind));
}

#[test]
fn a_run_from_plan_to_report() {
    let project = Project::new(TWO);
    let env = &project.env;
    shape!("ls_none", env.dogwatch(&["story", "ls", "--json"]).success());
    shape!("no_such_run", env.dogwatch(&["story", "status", "--json"]).code(3));
    shape!("plan", env.dogwatch(&["story", "plan", "--workflow", "flow.toml", "--json"]).success());
    shape!("run_dry", project.run(&["--dry-run", "--json"]).success());
    shape!(
        "validate",
        env.dogwatch(&["story", "validate", "--workflow", "flow.toml", "--json"]).success()
    );
    facts("run", &project.run(&["--json"]).success());
    shape!("status", env.dogwatch(&["story", "status", "--json"]).success());
    shape!("report", env.dogwatch(&["story", "report", "--json"]).success());
    facts("log", &env.dogwatch(&["story", "log", "--json"]).success());
    shape!("ls", env.dogwatch(&["story", "ls", "--json"]).success());
    shape!("validate_run", env.dogwatch(&["story", "validate", "--json"]).success());
    shape!("resume_over", env.dogwatch(&["story", "resume", "--json"]).code(2));
    env.write("draft", "mine");
    shape!("dirty_tree", project.run(&["--json"]).code(4));
    facts("events", &env.dogwatch(&["events", "--kind", "run", "--json"]).success());
}

const FAILS: &str = r#"
name = "fails"
items = ["a"]
[[step]]
id = "write"
attempts = 2
run = ["sh", "-c", "exit 3"]
verify = [{ kind = "files", glob = "{item}.txt", count = 1 }]
"#;

#[test]
fn a_run_that_asks_and_is_given_up() {
    let project = Project::new(FAILS);
    let env = &project.env;
    facts("run_asked", &project.run(&["--no-wait", "--json"]).code(4));
    shape!("status_asked", env.dogwatch(&["story", "status", "--json"]).success());
    shape!("escalations_of_a_run", env.dogwatch(&["escalations", "--json"]).success());
    let mut pause = env.command(&["story", "pause", "--json"]);
    shape!("pause", env.run(pause.env("USER", "ann")).success());
    let mut abort = env.command(&["story", "abort", "--json"]);
    shape!("abort", env.run(abort.env("USER", "ann")).success());
    facts("log_aborted", &env.dogwatch(&["story", "log", "--json"]).success());
    shape!("ls_aborted", env.dogwatch(&["story", "ls", "--all", "--json"]).success());
    fs::write(env.work().join("bad.toml"), "name = 'x'\n[[step]]\nid = 'a'\npromt = 'hello'\n")
        .unwrap();
    shape!(
        "bad_workflow",
        env.dogwatch(&["story", "plan", "--workflow", "bad.toml", "--json"]).code(2)
    );
}
