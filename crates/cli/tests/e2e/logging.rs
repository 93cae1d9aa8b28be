//! `DOGWATCH_LOG`: errors that are ignored on purpose can be seen, and nothing is said without it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dogwatch_testkit::{TestEnv, eventually, eventually_or};

const LOG: (&str, &str) = ("DOGWATCH_LOG", "debug");
const IGNORED: &str = "tell of news: Not a directory";

/// Where a folder is to be, there is a file: waiting processes cannot be woken, and that is all.
fn without_news(env: &TestEnv) {
    let _ = env.dogwatch(&["ls"]).success();
    let news = env.state_dir().join("news");
    let _ = fs::remove_dir_all(&news);
    fs::write(news, "").unwrap();
}

#[test]
fn a_short_command_logs_to_standard_error_if_asked() {
    let env = TestEnv::new();
    without_news(&env);
    let quiet = env.dogwatch(&["spawn", "--name", "one", "--", "sleep", "300"]).success();
    assert_eq!(quiet.stderr, "");
    let mut command = env.command(&["spawn", "--name", "two", "--", "sleep", "300"]);
    let loud = env.run(command.env(LOG.0, LOG.1)).success();
    assert_eq!(loud.text().trim(), "two");
    assert!(loud.stderr.contains("DEBUG dogwatch::ignored:"), "{}", loud.stderr);
    assert!(loud.stderr.contains(IGNORED), "{}", loud.stderr);
    let mut command = env.command(&["ls"]);
    let odd = env.run(command.env(LOG.0, "a=b=c")).success();
    assert!(odd.stderr.contains("DOGWATCH_LOG=a=b=c is not a filter"), "{}", odd.stderr);
}

#[test]
fn runners_and_hooks_log_to_a_file_and_never_to_the_terminal_of_the_agent() {
    let env = TestEnv::new();
    without_news(&env);
    let dogwatch = dogwatch_testkit::dogwatch();
    // What an agent does: it calls a hook, and what that says is on its screen.
    let script = format!("echo '{{}}' | '{dogwatch}' hook demo; echo hook ended $?; sleep 300");
    let words = ["spawn", "--name", "one", "--", "sh", "-c", &script];
    let mut command = env.command(&words);
    let _ = env.run(command.env(LOG.0, LOG.1)).success();
    let log = env.state_dir().join("log/dogwatch.log");
    let logged = || fs::read_to_string(&log).unwrap_or_default();
    eventually("the runner logs", || logged().contains(IGNORED));
    eventually("the hook ends", || {
        env.dogwatch(&["capture", "one"]).text().contains("hook ended 0")
    });
    let screen = env.dogwatch(&["capture", "one"]).text();
    assert_eq!(screen.trim(), "hook ended 0");
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    let folder = fs::metadata(log.parent().unwrap()).unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    let _ = env.dogwatch(&["kill", "one"]).success();
}

/// What was seen, and what dogwatch made of it: without that, a status that was wrong for a moment cannot be explained afterwards.
#[test]
fn decisions_are_logged() {
    let env = TestEnv::new();
    let only = "dogwatch::decision=debug";
    // The supervisor has the environment of the session that started it.
    let mut spawn = env.command(&["spawn", "--name", "x", "--json", "--", "sleep", "300"]);
    let spawned = env.run(spawn.env(LOG.0, only)).success().json();
    let id = spawned["id"].as_str().unwrap();
    let mut hook = env.command(&["hook", "claude"]);
    hook.env(LOG.0, only).env("DOGWATCH_SESSION", id);
    let prompt = br#"{"hook_event_name":"UserPromptSubmit","session_id":"c0"}"#;
    let _ = env.run_with_input(&mut hook, prompt).success();
    let stored = format!("hook of {id}: UserPromptSubmit is stored");
    let told = format!("status of {id}: working (");
    eventually_or("what was seen and decided is in the log", || {
        let logged = fs::read_to_string(env.state_dir().join("log/dogwatch.log"));
        let logged = logged.unwrap_or_default();
        let has_all = logged.contains(&stored) && logged.contains(&told);
        if has_all { Ok(()) } else { Err(logged) }
    });
}

#[test]
fn without_the_variable_there_is_no_log() {
    let env = TestEnv::new();
    without_news(&env);
    let _ = env.dogwatch(&["spawn", "--name", "one", "--", "true"]).success();
    let _ = env.dogwatch(&["wait", "one", "--until", "ended"]);
    assert!(!env.state_dir().join("log").exists());
}
