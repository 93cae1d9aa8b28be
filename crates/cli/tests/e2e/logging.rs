//! `DOGWATCH_LOG`: errors that are ignored on purpose can be seen, and nothing is said without it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dogwatch_testkit::{TestEnv, eventually};

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
    let session = env.spawn_script("x", "exec sleep 300");
    let only = "dogwatch::decision=debug";
    let mut hook = env.command(&["hook", "claude"]);
    hook.env(LOG.0, only).env("DOGWATCH_SESSION", &session.id);
    let prompt = br#"{"hook_event_name":"UserPromptSubmit","session_id":"c0"}"#;
    let _ = env.run_with_input(&mut hook, prompt).success();
    let logged = fs::read_to_string(env.state_dir().join("log/dogwatch.log")).unwrap();
    let stored = format!("hook of {}: UserPromptSubmit is stored", session.id);
    assert!(logged.contains(&stored), "{logged}");
    let mut status = env.command(&["status", "x"]);
    let said = env.run(status.env(LOG.0, only)).success().stderr;
    let told = format!("status of {}: working (", session.id);
    assert!(said.contains(&told) && said.contains("Hook Decided: turn began at 2"), "{said}");
}

#[test]
fn without_the_variable_there_is_no_log() {
    let env = TestEnv::new();
    without_news(&env);
    let _ = env.dogwatch(&["spawn", "--name", "one", "--", "true"]).success();
    let _ = env.dogwatch(&["wait", "one", "--until", "ended"]);
    assert!(!env.state_dir().join("log").exists());
}
