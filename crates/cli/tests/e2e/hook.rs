//! An agent must not suffer from being watched: a hook never fails, never talks, and loses nothing.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use dogwatch_testkit::{CommandOutput, TestEnv, eventually, eventually_or};

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
    let _ = hook(&env, &["claude"], Some(&session.id), br#"{"hook_event_name":"SessionEnd"}"#);
    eventually("the supervisor has taken the spool in", || {
        kept(&env, &session.id).len() == 4 && spool() == 0
    });
}

/// Rules need the database, and others may write to it for longer than a hook may take.
#[test]
fn what_rules_are_asked_about_is_stored_before_they_are() {
    let env = TestEnv::new();
    let folder = env.home().join(".config/dogwatch");
    std::fs::create_dir_all(&folder).unwrap();
    let rule = "[[rule]]\nanswer = \"allow\"\ncommand = \"make *\"\n";
    std::fs::write(folder.join("config.toml"), rule).unwrap();
    let session = env.spawn_script("x", "exec sleep 300");
    let payload = |command: &str| {
        serde_json::json!({
            "hook_event_name": "PermissionRequest", "cwd": env.work(), "tool_name": "Bash",
            "tool_input": { "command": command },
        })
    };
    let asks = |command: &str| {
        let mut hook = env.command(&["hook", "claude"]);
        hook.env("DOGWATCH_SESSION", &session.id);
        let output =
            env.run_with_input(&mut hook, payload(command).to_string().as_bytes()).success();
        String::from_utf8(output.stdout).unwrap()
    };
    let is_allowed = |said: &str| said.contains(r#""behavior":"allow""#);
    let connection = rusqlite::Connection::open(database(&env)).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let said = asks("make test");
    assert!(is_allowed(&said), "the answer is on its way before it is recorded: {said}");
    let spooled = || {
        let files = std::fs::read_dir(env.state_dir().join("spool")).unwrap();
        let mut names: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        names.sort();
        let event = |path: &PathBuf| {
            let value: serde_json::Value =
                serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            value["signal"]["event"].as_str().unwrap().to_owned()
        };
        names.iter().map(event).collect::<Vec<_>>()
    };
    assert_eq!(spooled(), ["Arrived:PermissionRequest", "PermissionAnswered"]);
    connection.execute_batch("ROLLBACK").unwrap();
    drop(connection);
    assert!(is_allowed(&asks("make all")));
    assert_eq!(asks("rm x"), "", "left to a person");
    let (asked, answered) = ("Arrived:PermissionRequest", "PermissionAnswered");
    // The first two come from the spool, when the supervisor takes it in.
    eventually_or("all are stored", || {
        let mut events: Vec<String> =
            kept(&env, &session.id).into_iter().map(|(_, event, _)| event).collect();
        events.sort();
        let expected = [asked, asked, asked, answered, answered, "PermissionRequest"];
        if events == expected { Ok(()) } else { Err(format!("{events:?}")) }
    });
    // What the agent does not get was not given.
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let payload = payload("make lost").to_string();
    let mut unheard = env.command(&["hook", "claude", &payload]);
    unheard.env("DOGWATCH_SESSION", &session.id).stdout(full);
    assert!(unheard.status().unwrap().success());
    let log = env.dogwatch(&["events", "--kind", "rules_answered", "--json"]).success().text();
    assert!(log.contains("make all") && !log.contains("make lost"), "{log}");
}

/// Budgets and collisions are looked at first: whoever hears of the end of a turn may type at once.
#[test]
fn the_end_of_a_turn_is_said_last() {
    let env = TestEnv::new();
    let stop = br#"{"hook_event_name":"Stop","session_id":"c0"}"#;
    let _ = hook(&env, &["claude"], Some("s"), stop);
    let prompt = br#"{"hook_event_name":"UserPromptSubmit","session_id":"c0"}"#;
    let _ = hook(&env, &["claude"], Some("s"), prompt);
    let events: Vec<String> = kept(&env, "s").into_iter().map(|(_, event, _)| event).collect();
    let expected = ["Arrived:Stop", "Stop", "Arrived:UserPromptSubmit", "UserPromptSubmit"];
    assert_eq!(events, expected);
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

/// Exit code 2 means *block* to an agent, and what is printed may be taken for a decision.
#[test]
fn it_exits_with_0_whatever_happens() {
    let env = TestEnv::new();
    let payload = br#"{"hook_event_name":"UserPromptSubmit"}"#;
    let not_text = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    let calls: [&[&str]; 8] = [
        &["--json", "hook", "claude"],
        &["hook"],
        &["hook", "--no-such-option"],
        &["hook", "claude", "a", "b", "c"],
        &["hook", "claude", "--state-dir"],
        &["--socket", "x", "hook", "claude"],
        &["hook", "claude", "--state-dir", "/proc/1/no-such-folder"],
        &["hook", "claude", "--help"],
    ];
    for words in calls {
        let mut command = env.command(words);
        command.env("DOGWATCH_SESSION", "s");
        let output = env.run_with_input(&mut command, payload).success();
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{words:?}: {output}");
    }
    let mut odd = env.command(&["hook"]);
    odd.arg(not_text).arg(not_text).env("DOGWATCH_SESSION", not_text);
    assert!(env.run_with_input(&mut odd, payload).success().stdout.is_empty());
    let mut homeless = env.command(&["hook", "claude"]);
    homeless.env_clear().env("DOGWATCH_SESSION", "s").current_dir("/");
    let output = env.run_with_input(&mut homeless, payload).success();
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output}");
}

#[test]
fn it_exits_with_0_if_its_output_goes_nowhere() {
    let env = TestEnv::new();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for words in [&["hook", "claude"][..], &["hook", "claude", "--statusline"]] {
        let mut command = env.command(words);
        command.env("DOGWATCH_SESSION", "s");
        let status = command.stdout(full()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(0), "{words:?}, a full disk");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = env.command(words);
        command.env("DOGWATCH_SESSION", "s");
        let status = command.stdout(writer).status().unwrap();
        assert_eq!(status.code(), Some(0), "{words:?}, a closed pipe");
        let line =
            format!("exec '{}' {} <&- >&- 2>&-", dogwatch_testkit::dogwatch(), words.join(" "));
        let status = env.foreign("sh").args(["-c", &line]).status().unwrap();
        assert_eq!(status.code(), Some(0), "{words:?}, nothing open");
    }
}

/// Claude Code 2.1.84 to 2.1.138 ignore the arguments of a hook.
#[test]
fn without_arguments_in_a_session_it_is_a_hook() {
    let env = TestEnv::new();
    let bare = |session: &str, input: &[u8]| {
        let mut command = env.command::<&str>(&[]);
        command.env("DOGWATCH_SESSION", session).env("AI_AGENT", "claude");
        env.run_with_input(&mut command, input)
    };
    let output = bare("s", br#"{"hook_event_name":"UserPromptSubmit","prompt":"x"}"#).success();
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output}");
    let names = |(agent, event, _): &(String, String, String)| (agent.clone(), event.clone());
    let kept: Vec<_> = kept(&env, "s").iter().map(names).collect();
    assert_eq!(kept, [("claude".to_owned(), "UserPromptSubmit".to_owned())]);
    let nameless = bare("t", br#"{"a":1}"#).success();
    assert!(nameless.stdout.is_empty() && nameless.stderr.is_empty(), "{nameless}");
    assert!(self::kept(&env, "t").is_empty(), "no event, nothing to keep");
    // Outside of a session there is nothing to keep, and nothing to block either.
    let outside = bare("", br#"{"hook_event_name":"UserPromptSubmit","prompt":"x"}"#).success();
    assert!(outside.stdout.is_empty() && outside.stderr.is_empty(), "{outside}");
    for input in [&b""[..], b"hello", b"\xff\xfe"] {
        let mut command = env.command::<&str>(&[]);
        command.env("CLAUDE_PROJECT_DIR", env.work());
        let output = env.run_with_input(&mut command, input).success();
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output}");
    }
    // People get the status, as without a terminal everywhere.
    for (session, input) in [("", &b"{}"[..]), ("s", b""), ("s", b"hello")] {
        let output = bare(session, input).success();
        assert!(output.stdout.is_empty() && output.stderr.contains("no sessions"), "{output}");
    }
}

#[test]
fn hooks_of_a_real_session_are_its_own() {
    let env = TestEnv::new();
    let session = env.spawn_actor(
        "x",
        &format!(
            "[[step]]\nhook = {{ event = \"SessionStart\", command = [{:?}, \"hook\", \"claude\"] }}\n\
             [[step]]\nprint = \"told\\n\"\n[[step]]\nstall = \"forever\"\n",
            dogwatch_testkit::dogwatch()
        ),
    );
    env.wait_screen("x", "told");
    let kept = kept(&env, &session.id);
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0].1, "SessionStart");
}

/// Whoever can set a variable of an agent must not reach other files of the user by it.
#[test]
fn a_forged_session_id_reaches_no_file() {
    let env = TestEnv::new();
    let _ = hook(&env, &["claude"], Some("s"), b"{}");
    // Folders that a path through them would need.
    for folder in ["news", "locks", "sessions", "spool", "runs", "stories"] {
        std::fs::create_dir_all(env.state_dir().join(folder)).unwrap();
    }
    let outside = env.home().join("precious");
    std::fs::write(&outside, "precious").unwrap();
    let files = |folder: &Path| -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    };
    let (state, home) = (files(env.state_dir()), files(env.home()));
    let absolute = outside.to_string_lossy().into_owned();
    let long = "x".repeat(5000);
    for id in [
        "../dogwatch.db",
        "../new-file",
        "../../precious",
        "../../../precious",
        &absolute,
        "..",
        ".",
        "-",
        "a/b",
        "a\nb",
        &long,
    ] {
        let _ = hook(&env, &["claude"], Some(id), br#"{"hook_event_name":"Stop"}"#);
        let mut statusline = env.command(&["hook", "claude", "--statusline"]);
        statusline.env("DOGWATCH_SESSION", id);
        let _ = env.run_with_input(&mut statusline, b"{}").success();
        for args in [
            &["agent", "register", "--role", "dev"][..],
            &["agent", "claim", "--role", "dev"],
            &["agent", "complete", "--result", "pass"],
            &["run", id],
            &["ls"],
            &["gc"],
            &["messages", id],
        ] {
            let mut command = env.command(args);
            let _ = env.run_with_input(command.env("DOGWATCH_SESSION", id), b"");
        }
        assert_eq!(kept(&env, "s").len(), 1, "{id}: the database is whole");
        assert!(kept(&env, id).is_empty(), "{id}");
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "precious", "{id}");
    }
    for folder in ["news", "locks"] {
        assert!(files(&env.state_dir().join(folder)).is_empty(), "{folder}");
    }
    let is_databases = |path: &PathBuf| path.to_string_lossy().contains("dogwatch.db");
    let now: Vec<PathBuf> =
        files(env.state_dir()).into_iter().filter(|path| !is_databases(path)).collect();
    let before: Vec<PathBuf> = state.into_iter().filter(|path| !is_databases(path)).collect();
    assert_eq!(now, before);
    assert_eq!(files(env.home()), home);
}

#[test]
fn a_pipe_that_stays_open_is_not_waited_for() {
    use std::io::Write;
    let env = TestEnv::new();
    for (payload, event) in [
        (&br#"{"hook_event_name":"Stop"}"#[..], "Stop"),
        (br#"{"hook_event_name":"Sto"#, "unknown"),
        (b"", "unknown"),
    ] {
        let mut command = env.command(&["hook", "claude"]);
        command.env("DOGWATCH_SESSION", "s").stdin(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Held until the hook has ended.
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(payload).unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let gone = std::thread::spawn(move || child.wait().unwrap());
        eventually("it ends", || gone.is_finished());
        assert!(gone.join().unwrap().success(), "{pid}");
        drop(stdin);
        assert_eq!(kept(&env, "s").pop().unwrap().1, event);
    }
}
