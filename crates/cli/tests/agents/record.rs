//! Recordings of real agents: nothing private in them, and read as before.

use std::fs;
use std::path::PathBuf;

use dogwatch_testkit::eventually;
use model_double::Scenario;
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

/// An answer with a key that is longer than a row, in a pane of 60 columns.
fn recorded(agent: Agent, has: &[&str]) {
    let Some(lab) = Lab::new(agent) else { return };
    let key = format!("sk-ant-api03-{}", "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0".repeat(3));
    let answer = format!("Write to ada@lovelace.example about the key {key} and be done.");
    let scenario = format!("default = [{}]\n", Value::from(answer));
    lab.double.replace_scenario(Scenario::parse("key.toml", &scenario).unwrap());
    let session = lab.spawn(&["--unattended", "--prompt", "which key?"]);
    lab.env.tmux(&["resize-window", "-t", &session.pane, "-x", "60", "-y", "30"]);
    lab.wait_event(&session, "Stop");
    lab.env.wait_screen("a", "be done.");
    // codex tells by hook and by transcript, within milliseconds of each other.
    eventually("it is idle", || lab.why()["state"] == "idle");
    let said = lab.dogwatch(&["record", "a", "--json"]).success().json();
    assert_eq!((&said["state"], &said["screen_alone"]["same"]), (&"idle".into(), &true.into()));
    let folder = PathBuf::from(said["folder"].as_str().unwrap());
    let home = lab.env.home().display().to_string();
    for name in has {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        for secret in ["Ab1Cd2", "Qr9St0", "Kl6Mn7", "lovelace", "double-needs-no-key", &home] {
            assert!(!text.contains(secret), "{secret} in {name}:\n{text}");
        }
    }
    let screen = fs::read_to_string(folder.join("screen.txt")).unwrap();
    assert!(screen.contains("xxxxxxxxxx") && screen.contains("be done."), "{screen}");
    let meta: Value = serde_json::from_slice(&fs::read(folder.join("meta.json")).unwrap()).unwrap();
    assert_eq!((&meta["width"], &meta["height"]), (&60.into(), &30.into()));
    let pinned = model_double::agents::pinned(agent.name()).unwrap();
    assert_eq!(meta["version"], pinned.version);
    let alone = lab.dogwatch(&["judge", "--record", folder.to_str().unwrap(), "--json"]);
    assert_eq!(alone.success().json()["state"], "idle");
    lab.end(&["--now"]);
    let over = lab.dogwatch(&["record", "a", "--json"]).success().json();
    assert_eq!(over["state"], "stopped");
    assert!(over["files"].as_array().unwrap().iter().any(|name| name == "screen.ansi"), "{over}");
}

const FILES: [&str; 6] =
    ["meta.json", "screen.ansi", "screen.txt", "signals.jsonl", "transcript.jsonl", "verdict.json"];

#[test]
fn claude_is_recorded() {
    recorded(Agent::Claude, &[&FILES[..], &["agent-state.json"]].concat());
}

#[test]
fn codex_is_recorded() {
    recorded(Agent::Codex, &FILES);
}
