//! The report about real agents: what they said beside what their commands exited with.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use dogwatch_testkit::eventually_or;
use model_double::Options;
use model_double::homes::Agent;

use crate::lab::Lab;

const SCENARIO: &str = r#"
[[rule]]
match = '\[claim\]'
steps = [
  { shell = { command = "./test", why = "Run" } },
  "Fixed the rounding. All tests pass.",
]
"#;

fn a_claim_that_is_not_true(agent: Agent) {
    let Some(lab) = Lab::with_scenario(agent, &Options::default(), SCENARIO) else { return };
    let script = lab.env.work().join("test");
    fs::write(&script, "#!/bin/sh\necho one failed\nexit 3\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    lab.spawn(&["--unattended", "--prompt", "[claim]"]);
    let mut last = String::new();
    eventually_or("the claim is reported", || {
        let report = lab.dogwatch(&["report", "--since", "1h", "--json"]).success().json();
        last = format!("{report:#}");
        if report["sessions"][0]["claims"][0].is_object() { Ok(()) } else { Err(last.clone()) }
    });
    let report = lab.dogwatch(&["report", "--since", "1h", "--json"]).success().json();
    let session = &report["sessions"][0];
    let claim = &session["claims"][0];
    assert_eq!(claim["verdict"], "contradicted", "{report:#}");
    assert_eq!((&claim["run"]["exit"], &claim["run"]["command"]), (&3.into(), &"./test".into()));
    assert_eq!(session["turns"].as_array().unwrap().len(), 1, "{report:#}");
    // The source is the line that says so.
    let source = &claim["source"];
    let text = fs::read_to_string(source["file"].as_str().unwrap()).unwrap();
    let number = usize::try_from(source["line"].as_u64().unwrap()).unwrap();
    let line = text.lines().nth(number - 1).unwrap();
    assert!(line.contains("All tests pass"), "{line}");
    let shown = lab.dogwatch(&["report", "--since", "1h"]).success().text();
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("the last `./test` exited 3"), "{shown}");
    let page = lab.env.work().join("report.html");
    let _ = lab.dogwatch(&["report", "--since", "1h", "--html", "report.html"]).success();
    assert!(fs::read_to_string(&page).unwrap().contains("the last `./test` exited 3"));
    let _ = lab.dogwatch(&["report", "--since", "soon"]).code(2);
    lab.end(&["--now"]);
}

#[test]
fn claude_says_that_tests_pass() {
    a_claim_that_is_not_true(Agent::Claude);
}

#[test]
fn codex_says_that_tests_pass() {
    a_claim_that_is_not_true(Agent::Codex);
}
