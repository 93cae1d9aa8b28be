//! The built-in scenarios, played to their ends.

use serde_json::Value;

use crate::pane::Pane;
use crate::script::Script;

fn events(script: &Script) -> Vec<String> {
    script
        .read("hooks")
        .lines()
        .map(|line| {
            let payload: Value = serde_json::from_str(line).expect("JSON");
            for field in ["session_id", "transcript_path", "cwd"] {
                assert!(payload[field].is_string(), "{field} in {line}");
            }
            payload["hook_event_name"].as_str().unwrap_or_default().to_owned()
        })
        .collect()
}

#[test]
fn the_worker_works_and_is_done() {
    let script = Script::new("");
    let pane = Pane::run(&script, "--demo worker");
    assert_eq!(pane.exit_code(), "0");
    let expected = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"];
    assert_eq!(events(&script), expected);
    let screen = pane.screen();
    assert!(screen.contains("demo agent"), "scrolled away:\n{screen}");
    assert!(screen.contains("5 tests pass"), "{screen}");
}

#[test]
fn the_asker_obeys() {
    let asked = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest"];
    let cases: [(&str, &[&str], &str); 2] = [
        ("1", &["PostToolUse", "Stop"], "the build folder is gone"),
        ("2", &["Stop"], "denied by the user"),
    ];
    for (key, then, shown) in cases {
        let script = Script::new("");
        let pane = Pane::run(&script, "--demo asker");
        let dialog = pane.wait_for_screen("╰────");
        assert!(dialog.contains("│ Run `rm -r build`?"), "{dialog}");
        assert!(dialog.contains("❯ 1. Yes") && dialog.contains("2. No"), "{dialog}");
        assert_eq!(events(&script), asked);
        pane.keys(&[key]);
        assert_eq!(pane.exit_code(), "0");
        assert_eq!(events(&script), [&asked[..], then].concat());
        let screen = pane.screen();
        assert!(screen.contains(shown), "{screen}");
        assert!(!screen.contains("1. Yes"), "the dialog is still there:\n{screen}");
    }
}

#[test]
fn the_failer_fails() {
    let script = Script::new("");
    let pane = Pane::run(&script, "--demo failer");
    assert_eq!(pane.exit_code(), "3");
    assert_eq!(events(&script), ["SessionStart", "UserPromptSubmit"]);
    assert!(pane.screen().contains("Error: the connection to the model was lost"));
}
