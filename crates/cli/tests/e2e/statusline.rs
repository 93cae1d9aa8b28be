use std::fs;

use dogwatch_testkit::{CommandOutput, TestEnv};

fn statusline(env: &TestEnv, payload: &[u8]) -> CommandOutput {
    let mut command = env.command(&["hook", "claude", "--statusline"]);
    command.env("DOGWATCH_SESSION", "s");
    env.run_with_input(&mut command, payload).success()
}

fn heartbeats(env: &TestEnv) -> Vec<String> {
    let database = rusqlite::Connection::open(env.state_dir().join("dogwatch.db")).unwrap();
    let mut query = database.prepare("SELECT session FROM heartbeats").unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn shows_something_and_proves_life() {
    let env = TestEnv::new();
    let payload = br#"{"model":{"display_name":"Opus"},"context_window":{"used_percentage":12.4}}"#;
    for _ in 0..3 {
        let text = statusline(&env, payload).text();
        assert!(text.ends_with("  Opus  context 12 %\n"), "{text:?}");
    }
    assert_eq!(heartbeats(&env), ["s"]);
    for garbage in [&b""[..], b"nonsense", b"\xff"] {
        assert!(!statusline(&env, garbage).text().trim().is_empty());
    }
}

#[test]
fn runs_the_users_own() {
    let env = TestEnv::new();
    let settings =
        |text: &str| format!(r#"{{"statusLine":{{"type":"command","command":"{text}"}}}}"#);
    fs::create_dir(env.home().join(".claude")).unwrap();
    fs::write(env.home().join(".claude/settings.json"), settings("printf 'mine: '; cat")).unwrap();
    assert_eq!(statusline(&env, b"{}").text(), "mine: {}");
    // The project's settings go before the user's.
    let project = env.work().join(".claude");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("settings.json"), settings("echo the project")).unwrap();
    let payload = serde_json::json!({ "workspace": { "project_dir": env.work() } }).to_string();
    assert_eq!(statusline(&env, payload.as_bytes()).text(), "the project\n");
    fs::write(project.join("settings.local.json"), settings("echo local")).unwrap();
    assert_eq!(statusline(&env, payload.as_bytes()).text(), "local\n");
    let mut command = env.command(&["hook", "claude", "--statusline"]);
    fs::write(env.root().join("settings.json"), settings("echo elsewhere")).unwrap();
    let output = env.run_with_input(command.env("CLAUDE_CONFIG_DIR", env.root()), b"{}");
    assert_eq!(output.success().text(), "elsewhere\n");
}

#[test]
fn a_users_own_that_is_broken_harms_nobody() {
    let env = TestEnv::new();
    fs::create_dir(env.home().join(".claude")).unwrap();
    let write = |text: &str| fs::write(env.home().join(".claude/settings.json"), text).unwrap();
    for bad in ["not json", "{}", r#"{"statusLine":7}"#] {
        write(bad);
        assert!(!statusline(&env, b"{}").text().is_empty());
    }
    // A checkout may bring any file along, and it is looked for every second.
    let project = env.work().join(".claude");
    fs::create_dir(&project).unwrap();
    std::os::unix::fs::symlink("/dev/zero", project.join("settings.json")).unwrap();
    let payload = serde_json::json!({ "workspace": { "project_dir": env.work() } }).to_string();
    assert!(!statusline(&env, payload.as_bytes()).text().is_empty());
    // It reads nothing of a large payload, and fails.
    write(r#"{"statusLine":{"command":"exec <&-; echo out; exit 9"}}"#);
    let payload = format!(r#"{{"x":"{}"}}"#, "y".repeat(1_000_000));
    assert_eq!(statusline(&env, payload.as_bytes()).text(), "out\n");
}
