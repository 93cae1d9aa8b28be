//! Hooks are called, and their failures stay out of sight.

use serde_json::{Value, json};

use crate::script::Script;

const THREE_HOOKS: &str = r#"
    [hook_base]
    session_id = "s-1"
    cwd = "{env:PROJECT}"
    [[step]]
    hook = { event = "Stop", payload = { last = "a \"quoted\" ✔", nested = { list = ["{env:PROJECT}", 1, true] } } }
    [[step]]
    hook = { event = "Custom", command = ["sh", "-c", "cat >> custom; exit 3"] }
    [[step]]
    hook = { event = "Broken", command = ["./no-such-program"] }
    [[step]]
    print = "still here"
"#;

#[test]
fn a_hook_gets_its_payload() {
    let script = Script::new(THREE_HOOKS);
    let collect = format!("cat >> '{}'", script.path("hooks").display());
    let output = script
        .on_pipes()
        .current_dir(script.path(""))
        .env("PROJECT", "/p")
        .env("DOGWATCH_HOOK_COMMAND", json!(["sh", "-c", collect]).to_string())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"still here");
    assert_eq!(output.stderr, b"");
    let payload: Value = serde_json::from_str(&script.read("hooks")).expect("one payload");
    let expected = json!({
        "session_id": "s-1",
        "cwd": "/p",
        "hook_event_name": "Stop",
        "last": "a \"quoted\" ✔",
        "nested": {"list": ["/p", 1, true]},
    });
    assert_eq!(payload, expected);
    assert!(script.read("custom").contains("\"hook_event_name\":\"Custom\""));
    let log = script.read("log");
    let notes: Vec<&str> = log.lines().collect();
    assert_eq!(notes.len(), 3, "{log}");
    assert_eq!(notes[0], "5 hook Stop: exit status: 0");
    assert_eq!(notes[1], "7 hook Custom: exit status: 3");
    assert!(notes[2].starts_with("9 hook Broken: failed to run: "), "{log}");
}

#[test]
fn plain_words_make_a_command_too() {
    let script = Script::new("[[step]]\nhook = { event = \"Stop\" }");
    let command = format!("tee {}", script.path("hooks").display());
    let status = script.on_pipes().env("DOGWATCH_HOOK_COMMAND", command).status().expect("it runs");
    assert_eq!(status.code(), Some(0));
    assert_eq!(script.read("hooks"), "{\"hook_event_name\":\"Stop\"}\n");
}

#[test]
fn no_command_is_only_noted() {
    let script = Script::new("[[step]]\nhook = { event = \"Stop\" }");
    let status = script.on_pipes().env_remove("DOGWATCH_HOOK_COMMAND").status().expect("it runs");
    assert_eq!(status.code(), Some(0));
    assert_eq!(script.read("log"), "1 hook Stop: no command\n");
}
