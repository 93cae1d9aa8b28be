//! Errors as JSON: a line on standard output, and the exit code.

use dogwatch_testkit::TestEnv;

#[test]
fn errors() {
    let env = TestEnv::new();
    env.spawn_script("alive", "exec sleep 300");
    let cases: [(&str, &[&str], i32); 13] = [
        ("no_such_session", &["why", "nobody", "--json"], 3),
        ("no_such_sessions", &["kill", "alive", "nobody", "--json"], 3),
        ("bad_argument", &["kill-all", "--json"], 2),
        ("bad_name", &["spawn", "--name", "a b", "--json", "--", "true"], 2),
        ("bad_cwd", &["spawn", "--cwd", "/no/such/folder", "--json", "--", "true"], 2),
        ("no_such_message", &["messages", "--cancel", "x", "--json"], 3),
        ("no_such_job", &["job", "show", "x", "--json"], 3),
        ("no_such_escalation", &["escalations", "show", "99", "--json"], 3),
        ("name_in_use", &["spawn", "--name", "alive", "--json", "--", "true"], 4),
        ("no_dialog", &["answer", "alive", "1", "--json"], 4),
        ("unknown_agent", &["spawn", "no-such-agent", "--json"], 7),
        ("program_not_found", &["spawn", "--json", "--", "/no/such/program"], 7),
        ("no_session_file", &["task", "list", "--json"], 3),
    ];
    for (name, words, code) in cases {
        shape!(name, env.dogwatch(words).code(code));
    }
}

/// Agents read what a hook prints: nothing, whatever it is given.
#[test]
fn hooks_say_nothing() {
    let env = TestEnv::new();
    let one = env.spawn_script("one", "exec sleep 300");
    for payload in [r#"{"hook_event_name":"Stop"}"#, "not json"] {
        let mut command = env.command(&["hook", "claude"]);
        command.env("DOGWATCH_SESSION", &one.id);
        let output = env.run_with_input(&mut command, payload.as_bytes()).success();
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output}");
    }
}
