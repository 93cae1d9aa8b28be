//! An agent must not suffer from being watched: a hook never fails, never talks, and loses nothing.

use std::path::PathBuf;

use crate::env::TestEnv;
use crate::output::CommandOutput;

fn database(env: &TestEnv) -> PathBuf {
    env.state_dir().join("dogwatch.db")
}

fn hook(env: &TestEnv, args: &[&str], session: Option<&str>, stdin: &[u8]) -> CommandOutput {
    let mut command = env.command(&["hook"]);
    command.args(args);
    if let Some(session) = session {
        command.env("DOGWATCH_SESSION", session);
    }
    let output = env.run_with_input(&mut command, stdin).success();
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "it talks: {output}");
    output
}

/// Agent, event and payload of all signals kept for a session.
fn kept(env: &TestEnv, session: &str) -> Vec<(String, String, String)> {
    let database = rusqlite::Connection::open(database(env)).unwrap();
    let mut query = database
        .prepare("SELECT agent, event, payload FROM signals WHERE session = ? ORDER BY id")
        .unwrap();
    let rows = query.query_map([session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn payloads_on_standard_input_and_as_argument() {
    let env = TestEnv::new();
    let _ = hook(&env, &["claude"], Some("s"), br#"{"hook_event_name":"Stop","a":"\u00e9"}"#);
    let _ = hook(&env, &["codex", r#"{"type":"agent-turn-complete"}"#], Some("s"), b"");
    let kept = kept(&env, "s");
    assert_eq!(
        kept[0],
        ("claude".into(), "Stop".into(), r#"{"hook_event_name":"Stop","a":"é"}"#.into())
    );
    assert_eq!((kept[1].0.as_str(), kept[1].1.as_str()), ("codex", "agent-turn-complete"));
}

#[test]
fn garbage_is_kept_as_a_text() {
    let env = TestEnv::new();
    for garbage in [&b"not json"[..], b"\xff\xfe\0\0", b"", b"[1,2", b"null", b"\"\\ud800\""] {
        let _ = hook(&env, &["claude"], Some("s"), garbage);
    }
    let kept = kept(&env, "s");
    assert_eq!(kept.len(), 6);
    assert!(kept.iter().all(|(_, event, _)| event == "unknown"), "{kept:?}");
    for (_, _, payload) in kept {
        serde_json::from_str::<serde_json::Value>(&payload).unwrap();
    }
}

#[test]
fn ten_megabytes() {
    let env = TestEnv::new();
    let long = "é".repeat(5 * 1024 * 1024);
    let payload = format!(r#"{{"hook_event_name":"PostToolUse","tool_response":"{long}"}}"#);
    let _ = hook(&env, &["claude"], Some("s"), payload.as_bytes());
    let kept = kept(&env, "s");
    assert_eq!(kept.len(), 1);
    assert!(kept[0].2.len() < 10_000, "{} bytes were kept", kept[0].2.len());
    let size = std::fs::metadata(database(&env)).unwrap().len();
    assert!(size < 1024 * 1024, "{size}");
}

#[test]
fn a_payload_deeper_than_any_parser_likes() {
    let env = TestEnv::new();
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    let _ = hook(&env, &["claude"], Some("s"), deep.as_bytes());
    assert_eq!(kept(&env, "s").len(), 1);
}

#[test]
fn without_a_session_or_with_an_unknown_one() {
    let env = TestEnv::new();
    let _ = hook(&env, &["claude"], None, b"{}");
    let _ = hook(&env, &["claude"], Some(""), b"{}");
    assert!(!database(&env).exists(), "nothing to keep, nothing made");
    let _ = hook(&env, &["no-such-agent"], Some("../../x'; DROP TABLE signals; --"), b"{}");
    let listed = env.dogwatch(&["ls", "--json"]).success().json();
    assert_eq!(listed["sessions"], serde_json::json!([]));
}

#[test]
fn a_locked_store_sends_it_to_the_spool() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    let connection = rusqlite::Connection::open(database(&env)).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = std::time::Instant::now();
    for n in 0..3 {
        let payload = format!(r#"{{"hook_event_name":"Stop","n":{n}}}"#);
        let _ = hook(&env, &["claude"], Some(&session.id), payload.as_bytes());
    }
    assert!(begun.elapsed().as_secs() < 3, "hooks hold the agent up");
    let spool = || std::fs::read_dir(env.state_dir().join("spool")).unwrap().count();
    assert_eq!(spool(), 3);
    connection.execute_batch("COMMIT").unwrap();
    drop(connection);
    // Whoever asks for the signals takes the spool in: here, a capture that looks for a transcript.
    let _ = hook(&env, &["claude"], Some(&session.id), br#"{"hook_event_name":"SessionEnd"}"#);
    assert_eq!(kept(&env, &session.id).len(), 1);
    assert_eq!(spool(), 3);
}

#[test]
fn a_damaged_store_or_state_folder() {
    let env = TestEnv::new();
    let _ = hook(&env, &["claude"], Some("s"), b"{}");
    std::fs::write(database(&env), b"damaged ".repeat(1000)).unwrap();
    let _ = std::fs::remove_file(env.state_dir().join("dogwatch.db-wal"));
    let _ = hook(&env, &["claude"], Some("s"), b"{}");
    assert_eq!(std::fs::read_dir(env.state_dir().join("spool")).unwrap().count(), 1);
    std::fs::remove_dir_all(env.state_dir()).unwrap();
    std::fs::write(env.state_dir(), "a file").unwrap();
    let _ = hook(&env, &["claude"], Some("s"), b"{}");
}

#[test]
fn hooks_of_a_real_session_are_its_own() {
    let env = TestEnv::new();
    let session = env.spawn_actor(
        "x",
        &format!(
            "[[step]]\nhook = {{ event = \"SessionStart\", command = [{:?}, \"hook\", \"claude\"] }}\n\
             [[step]]\nprint = \"told\\n\"\n[[step]]\nstall = \"forever\"\n",
            crate::env::dogwatch()
        ),
    );
    env.wait_screen("x", "told");
    let kept = kept(&env, &session.id);
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0].1, "SessionStart");
}
