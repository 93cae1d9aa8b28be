use std::fs;

use model_double::homes::Agent;

use crate::lab::Lab;

/// Spawned, prompted, a tool called, the turn finished, ended, and still readable.
fn a_whole_session(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[tool] leave a mark"]);
    assert_eq!(lab.wait_file("tool-ran.txt"), "dogwatch-tool-ran\n");
    lab.wait_event(&session, "Stop");
    let events = lab.events(&session);
    for event in ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"] {
        assert!(events.iter().any(|e| e == event), "no {event} in {events:?}");
    }
    lab.env.wait_screen("a", "Tool done.");
    assert_eq!(lab.env.seen("a")["state"], "running");

    let killed = lab.dogwatch(&["kill", "a", "--json"]).success().json();
    assert_eq!(killed["killed"][0]["by"], "own_exit");
    assert_eq!(killed["killed"][0]["exit"]["code"], 0);
    assert_eq!(lab.env.seen("a")["state"], "exited");

    let kept = lab.dogwatch(&["capture", "a", "--json"]).success().json();
    assert_eq!(kept["from"], "transcript");
    let text = kept["text"].as_str().unwrap();
    assert!(text.contains("> [tool] leave a mark") && text.contains("Tool done."), "{text}");
}

#[test]
fn claude_from_start_to_end() {
    a_whole_session(Agent::Claude);
}

#[test]
fn codex_from_start_to_end() {
    a_whole_session(Agent::Codex);
}

#[test]
fn claude_keeps_the_users_own_hooks_statusline_and_settings() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let settings = lab.env.home().join(".claude/settings.json");
    let own_hook =
        lab.env.write_program("own-hook", "cat > /dev/null; echo ran > own-hook-ran.txt");
    let mut mine: serde_json::Value =
        serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
    mine["hooks"]["Stop"] =
        serde_json::json!([{ "hooks": [{ "type": "command", "command": own_hook }] }]);
    mine["statusLine"] = serde_json::json!({ "type": "command", "command": "echo MY-OWN-LINE" });
    fs::write(&settings, mine.to_string()).unwrap();
    let before = fs::read(&settings).unwrap();

    let session = lab.spawn(&["--unattended", "--prompt", "[hello]"]);
    lab.wait_event(&session, "Stop");
    assert_eq!(lab.wait_file("own-hook-ran.txt"), "ran\n");
    lab.env.wait_screen("a", "MY-OWN-LINE");
    lab.end(&[]);
    assert_eq!(fs::read(&settings).unwrap(), before, "the user's settings were touched");
}

#[test]
fn codex_gets_its_hooks_without_a_word_in_the_users_config() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    let config = lab.env.home().join(".codex/config.toml");
    let before = fs::read_to_string(&config).unwrap();
    let session = lab.spawn(&["--prompt", "[hello]"]);
    lab.wait_event(&session, "Stop");
    lab.env.wait_screen("a", "Hello from the double.");
    lab.end(&[]);
    // codex itself notes there which of its notices were shown.
    let after = fs::read_to_string(&config).unwrap();
    assert!(after.starts_with(&before) && !after.contains("hooks"), "{after}");
    assert!(!lab.env.home().join(".codex/hooks.json").exists());
    assert!(!lab.env.home().join(".codex/packages").exists(), "the daemon was started");
}
