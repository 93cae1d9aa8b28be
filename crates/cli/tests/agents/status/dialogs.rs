//! It needs a person.

use std::fs;

use model_double::homes::Agent;
use model_double::{Options, Scenario};
use serde_json::Value;

use crate::lab::Lab;
use crate::verdict::said;

/// Waits for a dialog; the agent's own word decides, or what is on the screen.
#[track_caller]
fn waits(lab: &Lab, by: &str, need: &str, question: &str) -> Value {
    let waiting = lab.settles("waiting", by);
    assert_eq!(waiting["for"], need, "{waiting:#}");
    assert!(said(&waiting, "screen").starts_with("a dialog: "), "{waiting:#}");
    assert!(waiting["question"].as_str().unwrap_or_default().contains(question), "{waiting:#}");
    waiting
}

#[test]
fn claude_asks_for_permission() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let session = lab.spawn(&["--prompt", "[write]"]);
    lab.wait_event(&session, "PermissionRequest");
    lab.env.wait_screen("a", "Do you want to");
    let waiting = waits(&lab, "own_word", "permission", "Write ");
    assert!(waiting["question"].as_str().unwrap().ends_with("written.txt"), "{waiting:#}");
    for command in ["status", "why"] {
        let told = lab.dogwatch(&[command, "a"]).success().text();
        assert!(told.contains("\n  1. Yes") && told.contains("dogwatch answer a NUMBER"), "{told}");
    }
    lab.end(&["--now"]);
}

#[test]
fn codex_asks_for_permission() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    let careful = ["--sandbox", "read-only", "--ask-for-approval", "on-request"];
    lab.spawn(&[&["--prompt", "[write]", "--"], &careful[..]].concat());
    waits(&lab, "screen", "permission", "Would you like to make the following edits?");
    lab.end(&["--now"]);
}

#[test]
fn claude_asks_a_question() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--prompt", "[ask]"]);
    lab.env.wait_screen("a", "PostgreSQL");
    waits(&lab, "own_word", "question", "Which database should I use?");
    lab.end(&["--now"]);
}

#[test]
fn codex_asks_a_question() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    lab.spawn(&["--prompt", "[ask]"]);
    waits(&lab, "screen", "question", "Which database should I use?");
    lab.end(&["--now"]);
}

/// Without a plan in writing it asks all the same.
#[test]
fn claude_wants_to_leave_plan_mode() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--prompt", "[plan]", "--", "--permission-mode", "plan"]);
    lab.env.wait_screen("a", "Exit plan mode?");
    waits(&lab, "own_word", "plan", "Exit plan mode?");
    lab.end(&["--now"]);
}

/// Claude tells its model where the plan is to be written.
fn plan_file(lab: &Lab) -> String {
    let folder = lab.env.home().join(".claude/plans/").display().to_string();
    let told = lab.double.requests().into_iter().filter_map(|request| request.body);
    let told: String = told.map(|body| body.to_string()).collect();
    let (_, name) = told.split_once(&folder).expect("it names a file");
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '-').expect("more follows");
    format!("{folder}{}.md", &name[..end])
}

#[test]
fn claude_wants_a_plan_approved() {
    let bodies = Options { log_bodies: true, ..Options::default() };
    let Some(lab) = Lab::with(Agent::Claude, &bodies) else { return };
    let session = lab.spawn(&["--prompt", "[hello]", "--", "--permission-mode", "plan"]);
    lab.settles("idle", "own_word");
    let plan = "# Parser\\n\\n1. Read the code.\\n2. Write the parser.\\n";
    let write = format!("{{ write = {{ path = '{}', content = \"{plan}\" }} }}", plan_file(&lab));
    let scenario = format!("default = [{write}, {{ exit_plan = \"as written\" }}]");
    lab.double.replace_scenario(Scenario::parse("plan.toml", &scenario).unwrap());
    lab.env.keys(&session, &["-l", "make a plan"]);
    lab.env.wait_screen("a", "make a plan");
    lab.env.keys(&session, &["Enter"]);
    lab.env.wait_screen("a", "Would you like to proceed?");
    waits(&lab, "own_word", "plan", "2. Write the parser.");
    lab.end(&["--now"]);
}

/// For its hooks and its transcript the turn is over. Plan mode is entered by a key.
#[test]
fn codex_wants_a_plan_approved() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    let session = lab.spawn(&[]);
    lab.settles("idle", "screen");
    lab.env.keys(&session, &["BTab"]);
    lab.env.wait_screen("a", "Plan mode");
    lab.env.keys(&session, &["-l", "[proposed-plan]"]);
    lab.env.wait_screen("a", "[proposed-plan]");
    lab.env.keys(&session, &["Enter"]);
    lab.wait_event(&session, "Stop");
    let waiting = waits(&lab, "screen", "plan", "Implement this plan?");
    assert_eq!(said(&waiting, "transcript"), "turn ended", "{waiting:#}");
    lab.end(&["--now"]);
}

#[test]
fn claude_does_not_trust_the_folder() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let elsewhere = lab.env.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    lab.spawn(&["--cwd", &elsewhere.to_string_lossy()]);
    let waiting = waits(&lab, "screen", "trust", "");
    assert_eq!(said(&waiting, "own_word"), "no report from this process", "{waiting:#}");
    lab.end(&["--now"]);
}

/// Codex asks in a repository, and where a folder has settings for it; in a plain folder it goes ahead.
#[test]
fn codex_does_not_trust_the_folder() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    let elsewhere = lab.env.root().join("elsewhere");
    fs::create_dir_all(elsewhere.join(".codex")).unwrap();
    fs::write(elsewhere.join(".codex/config.toml"), "").unwrap();
    lab.spawn(&["--cwd", &elsewhere.to_string_lossy(), "--prompt", "[hello]"]);
    waits(&lab, "screen", "trust", "Trust this folder?");
    assert_eq!(lab.asked(), Vec::<String>::new(), "the prompt waits");
    lab.end(&["--now"]);
}

/// A key in the environment that it was never told to use.
#[test]
fn claude_may_not_use_its_key() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--env", "ANTHROPIC_API_KEY=another-key-that-nobody-approved"]);
    waits(&lab, "screen", "login", "Do you want to use this API key?");
    lab.end(&["--now"]);
}

/// Without any key it takes a prompt all the same, and refuses it.
#[test]
fn claude_is_not_logged_in() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let session = lab.spawn(&["--prompt", "[hello]", "--env", "ANTHROPIC_API_KEY="]);
    let failed = lab.settles("error", "transcript");
    assert_eq!(failed["kind"], "authentication_failed", "{failed:#}");
    assert!(failed["text"].as_str().unwrap().contains("Not logged in"), "{failed:#}");
    lab.env.keys(&session, &["-l", "/login"]);
    lab.env.wait_screen("a", "/login");
    lab.env.keys(&session, &["Enter"]);
    waits(&lab, "own_word", "login", "Select login method:");
    lab.end(&["--now"]);
}

/// Its own provider instead of the double's, and no credentials.
#[test]
fn codex_is_not_logged_in() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    lab.spawn(&["--prompt", "[hello]", "--", "-c", "model_provider='openai'"]);
    waits(&lab, "screen", "login", "Codex");
    lab.end(&["--now"]);
}
