//! Older versions of the agents get what they can take: a prompt reaches the model once, and its turn ends.
//!
//! `lab/matrix` installs them; what is not installed is skipped.

use dogwatch_testkit::eventually;
use model_double::homes::Agent;

use crate::lab::Lab;

fn a_prompt_gets_through(agent: Agent, version: &str, hooks: &[&str]) {
    let Some(lab) = Lab::with_version(agent, version) else { return };
    let mut spawn = lab.command(&["spawn", agent.name(), "--json", "--name", "a"]);
    let said = lab.env.run(spawn.args(["--prompt", "[hello]"])).success();
    assert!(said.stderr.is_empty(), "{version} was verified: {said}");
    assert_eq!(said.json()["version"], version);
    let asked = || lab.asked().iter().filter(|asked| asked.contains("[hello]")).count();
    eventually(&format!("{version} asks the model"), || asked() > 0);
    // 1.2.27 sends an empty message after it, in another conversation, and shows that one.
    if agent != Agent::Opencode {
        lab.env.wait_screen("a", "Hello from the double.");
    }
    assert_eq!(asked(), 1, "{version}");
    let session = lab.session("a");
    for event in hooks {
        eventually(&format!("{event} of {version}"), || {
            lab.events(&session).iter().any(|seen| seen == event)
        });
    }
    let seen = lab.dogwatch(&["status", "a", "--json"]).success().json();
    assert_eq!(seen["sessions"][0].get("notes"), None, "{version}: {seen:#}");
    lab.end(&["--now"]);
}

#[test]
fn of_claude() {
    // 2.1.0 does not tell of a prompt that it was started with.
    let hooks = ["SessionStart", "Stop"];
    for version in ["2.0.1", "2.0.60", "2.1.0", "2.1.50", "2.1.80", "2.1.84", "2.1.120", "2.1.150"]
    {
        a_prompt_gets_through(Agent::Claude, version, &hooks);
    }
}

#[test]
fn of_codex() {
    for version in ["0.80.0", "0.101.0", "0.120.0"] {
        a_prompt_gets_through(Agent::Codex, version, &[]);
    }
    for version in ["0.128.0", "0.136.0", "0.144.6", "0.150.1", "0.160.1"] {
        a_prompt_gets_through(Agent::Codex, version, &["UserPromptSubmit", "Stop"]);
    }
}

#[test]
fn of_gemini() {
    for version in ["0.40.1", "0.41.0"] {
        a_prompt_gets_through(Agent::Gemini, version, &[]);
    }
}

#[test]
fn of_opencode() {
    a_prompt_gets_through(Agent::Opencode, "1.2.27", &[]);
}

/// A table that is wrong about a version: the dialog about our settings is noticed, and claude started without them.
#[test]
fn of_claude_with_an_event_that_it_does_not_know() {
    let Some(lab) = Lab::with_version(Agent::Claude, "2.1.80") else { return };
    let profiles = lab.env.home().join(".config/dogwatch/agents");
    std::fs::create_dir_all(&profiles).unwrap();
    let profile = include_str!("../../../core/agents/claude.toml");
    let wrong = profile.replace("version = \"2.1.84\"", "version = \"2.1.79\"");
    let wrong = wrong.replace("to = \"2.1.325\"", "to = \"2.0.1\"");
    assert_ne!(wrong, profile);
    std::fs::write(profiles.join("claude.toml"), wrong).unwrap();
    let _session = lab.spawn(&["--prompt", "[hello]"]);
    lab.env.wait_screen("a", "Hello from the double.");
    assert_eq!(lab.asked().iter().filter(|asked| asked.contains("[hello]")).count(), 1);
    let seen = lab.dogwatch(&["status", "a", "--json"]).success().json();
    let note = seen["sessions"][0]["notes"][0].as_str().unwrap();
    assert!(note.contains("settings.json"), "{note}");
    lab.end(&["--now"]);
}
