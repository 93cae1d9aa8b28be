//! Sources that are broken, cut or not what they should be: they say nothing, and the verdict rests on the others.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use dogwatch_testkit::{Spawned, TestEnv};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const FAKE: &str = "own_word = 'claude_state_file'\ntranscript = { dialect = 'claude' }\n";

/// An agent that does nothing but has a state file and a transcript, as far as the test writes them.
fn spawn_fake(env: &TestEnv) -> Spawned {
    env.add_profile("fake", FAKE, "exec sleep 300");
    env.spawn(&["--name", "x", "fake"])
}

fn verdict(env: &TestEnv) -> Value {
    env.dogwatch(&["why", "x", "--json"]).success().json()
}

fn reason(verdict: &Value, of: impl Fn(&Value) -> bool) -> Value {
    let reasons = verdict["reasons"].as_array().unwrap();
    reasons.iter().find(|reason| of(reason)).cloned().unwrap_or_default()
}

fn said_by(verdict: &Value, source: &str) -> String {
    reason(verdict, |reason| reason["source"] == source)["said"].as_str().unwrap().to_owned()
}

fn decided_by(verdict: &Value) -> String {
    reason(verdict, |reason| reason["role"] == "decided")["source"].as_str().unwrap().to_owned()
}

fn hook(env: &TestEnv, session: &Spawned, payload: Value) {
    let mut hook = env.command(&["hook", "claude"]);
    hook.env("DOGWATCH_SESSION", &session.id);
    let _ = env.run_with_input(&mut hook, payload.to_string().as_bytes()).success();
}

/// Takes the place of a file, one thing after the other, each of which is no file that can be believed.
fn each_bad_file(path: &Path, mut check: impl FnMut(&str)) {
    let remove = || fs::remove_file(path).or_else(|_| fs::remove_dir(path)).unwrap_or_default();
    remove();
    check("nothing");
    fs::create_dir(path).unwrap();
    check("a folder");
    remove();
    for device in ["/dev/zero", "/dev/full", "/dev/tty"] {
        symlink(device, path).unwrap();
        check(device);
        remove();
    }
    symlink(path, path).unwrap();
    check("a link to itself");
    remove();
    // Without a reader at the other end, opening it would wait for ever.
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
    check("a pipe");
    remove();
    for (what, content) in [
        ("an empty file", Vec::new()),
        ("no text", vec![0xff; 100]),
        ("half a file", br#"{"pid":7,"procStart":"9","stat"#.to_vec()),
        ("ten megabytes", vec![b'['; 10 << 20]),
    ] {
        fs::write(path, content).unwrap();
        check(what);
    }
    remove();
}

#[test]
fn a_state_file_that_is_none() {
    let env = TestEnv::new();
    let session = spawn_fake(&env);
    let folder = env.home().join(".claude/sessions");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{}.json", session.pid));
    let started = fs::read(env.session_dir(&session).join("started")).unwrap();
    let started: Value = serde_json::from_slice(&started).unwrap();
    let start = started["agent"]["start"].as_u64().unwrap().to_string();
    let now = Timestamp::now().as_millisecond();
    let busy =
        json!({ "pid": session.pid, "procStart": start, "status": "busy", "updatedAt": now });
    let check_busy = || {
        fs::write(&file, busy.to_string()).unwrap();
        let verdict = verdict(&env);
        assert_eq!(
            (&verdict["state"], decided_by(&verdict).as_str()),
            (&json!("working"), "own_word")
        );
    };
    check_busy();
    each_bad_file(&file, |what| {
        let verdict = verdict(&env);
        assert_eq!(said_by(&verdict, "own_word"), "no report from this process", "{what}");
        assert_ne!(decided_by(&verdict), "own_word", "{what}");
        assert_ne!(verdict["state"], "working", "{what}");
    });
    check_busy();
}

#[test]
fn a_transcript_that_is_cut_or_none() {
    let env = TestEnv::new();
    let session = spawn_fake(&env);
    // After its start: what is older is of a process before it.
    let now = Timestamp::now();
    let at = |later: i64| now + SignedDuration::from_millis(later);
    let began = json!({ "timestamp": at(1), "type": "user", "origin": { "kind": "human" } });
    let done = json!({ "timestamp": at(2), "type": "system", "subtype": "turn_duration" });
    let (began, done) = (began.to_string(), done.to_string());
    let path = env.work().join("talk.jsonl");
    hook(&env, &session, json!({ "hook_event_name": "Notification", "transcript_path": path }));
    let decided = |what: &str, state: &str| {
        let verdict = verdict(&env);
        let found = (verdict["state"].as_str().unwrap(), decided_by(&verdict));
        assert_eq!(found, (state, "transcript".to_owned()), "{what}: {verdict:#}");
    };
    for cut in [1, done.len() / 2, done.len() - 1] {
        fs::write(&path, format!("{began}\n{}", &done[..cut])).unwrap();
        decided("cut in the middle of a line", "working");
    }
    fs::write(&path, format!("{began}\n{done}")).unwrap();
    decided("whole", "idle");
    let mut mixed = b"\xff\xfe half a line\n\0\n".to_vec();
    mixed.extend(format!("{began}\n{{\"text\":\"\u{fffd}\n{done}\n").into_bytes());
    mixed.extend(b"{\"timestamp\":\"9999-99-99\"}\n\xf0\x9f");
    fs::write(&path, mixed).unwrap();
    decided("with rubbish between the lines", "idle");
    // The end of a long one is read, and the line that it begins in is lost.
    let long = json!({ "timestamp": at(0), "type": "user", "text": "é".repeat(2 << 20) });
    // In one step: who reads it half written has seen the later time first, and does not go back behind it.
    let aside = env.work().join("aside");
    fs::write(&aside, format!("{done}\n{long}\n{began}\n")).unwrap();
    fs::rename(&aside, &path).unwrap();
    decided("with a line that is too long", "working");
    each_bad_file(&path, |what| {
        let verdict = verdict(&env);
        assert_eq!(said_by(&verdict, "transcript"), "no event yet", "{what}");
        assert_ne!(decided_by(&verdict), "transcript", "{what}");
    });
}

#[test]
fn own_records_that_are_none() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    let folder = env.session_dir(&session);
    let (ended, aside) = (folder.join("ended"), folder.join("aside"));
    fs::rename(&ended, &aside).unwrap();
    each_bad_file(&ended, |what| {
        assert_eq!(env.seen("x")["state"], "running", "{what}");
        assert_eq!(verdict(&env)["state"], "working", "{what}");
    });
    fs::rename(&aside, &ended).unwrap();
    let spool = env.state_dir().join("spool");
    fs::create_dir_all(&spool).unwrap();
    each_bad_file(&spool.join("0.json"), |what| {
        assert_eq!(verdict(&env)["state"], "working", "{what}");
    });
    let screen = folder.join("screen");
    let _ = env.dogwatch(&["kill", "x"]).success();
    each_bad_file(&screen, |what| {
        let output = env.dogwatch(&["capture", "x"]);
        assert!(output.code == Some(0) || output.code == Some(3), "{what}: {output}");
    });
}

#[test]
fn a_profile_that_is_none() {
    let env = TestEnv::new();
    spawn_fake(&env);
    let profile = env.home().join(".config/dogwatch/agents/fake.toml");
    each_bad_file(&profile, |what| {
        if !["nothing", "an empty file"].contains(&what) {
            let output = env.dogwatch(&["spawn", "--name", "y", "fake"]).code(7);
            assert!(output.stderr.contains("fake.toml"), "{what}: {output}");
        }
        // The session lives on without it.
        assert_eq!(env.seen("x")["state"], "running", "{what}");
        let _ = env.dogwatch(&["status"]).success();
    });
    env.add_profile("fake", FAKE, "exec sleep 300");
}

/// Moves all that was written down a day ahead, as if the clock had been set back by a day since.
fn set_clock_back(env: &TestEnv, session: &Spawned) {
    let database = rusqlite::Connection::open(env.state_dir().join("dogwatch.db")).unwrap();
    let day = 86_400_000;
    for (table, column) in [("signals", "at"), ("looks", "moved"), ("sessions", "created")] {
        let sql = format!("UPDATE {table} SET {column} = {column} + {day}");
        assert!(database.execute(&sql, []).unwrap() > 0, "{table}");
    }
    let file = env.session_dir(session).join("started");
    let mut started: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let at: Timestamp = started["at"].as_str().unwrap().parse().unwrap();
    started["at"] = json!(at + SignedDuration::from_hours(24));
    fs::write(&file, started.to_string()).unwrap();
}

#[test]
fn a_clock_that_was_set_back() {
    let env = TestEnv::new();
    let session = spawn_fake(&env);
    let decided = |what: &str, state: &str, by: &str| {
        let verdict = verdict(&env);
        let found = (verdict["state"].as_str().unwrap(), decided_by(&verdict));
        assert_eq!(found, (state, by.to_owned()), "{what}: {verdict:#}");
        let _ = env.dogwatch(&["status"]).success();
        let _ = env.dogwatch(&["ls"]).success();
    };
    hook(&env, &session, json!({ "hook_event_name": "UserPromptSubmit" }));
    decided("as it was", "working", "hook");
    set_clock_back(&env, &session);
    decided("all is of tomorrow: not stuck, and not starting again", "working", "hook");
    hook(&env, &session, json!({ "hook_event_name": "Stop" }));
    decided("what came since is newer", "idle", "hook");
    hook(&env, &session, json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash" }));
    decided("and newer still", "waiting", "hook");
}
