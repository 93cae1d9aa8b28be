//! What a session showed, as a file that callers read when it is over.

use std::fs;
use std::path::PathBuf;

use dogwatch_testkit::{TestEnv, eventually};

use crate::story_automator::Helper as _;

/// Outputs of monitored sessions.
trait Outputs {
    /// How a session ended, and the file of what it showed.
    fn monitored(&self, session: &str) -> (String, PathBuf);
}

impl Outputs for TestEnv {
    fn monitored(&self, session: &str) -> (String, PathBuf) {
        let ended = self.helper(&["monitor-session", session, "--json", "--initial-wait", "0"]);
        let ended = ended.success().json();
        let text = |key: &str| ended[key].as_str().unwrap().to_owned();
        (text("exit_reason"), text("output_file").into())
    }
}

#[test]
fn a_session_that_printed_nothing_has_one_too() {
    let env = TestEnv::new();
    // Names hold the step and the second: two sessions of one step within a second would have the same.
    for (step, command, line) in [
        ("create", "exit 9", "ended with code 9, no output\n"),
        ("dev", "exit 0", "ended with code 0, no output\n"),
        ("auto", "kill -KILL $$", "ended by signal 9, no output\n"),
        ("review", "printf ' \\n\\n'; exit 3", "ended with code 3, no output\n"),
    ] {
        let session = env.spawn_step(step, command);
        let (_, file) = env.monitored(&session);
        assert_eq!(fs::read_to_string(&file).unwrap(), line, "{command}");
        let row = env.helper(&["tmux-status-check", &session, "--full"]).text();
        assert_eq!(row.split(',').nth(3).unwrap(), file.to_str().unwrap(), "{row}");
    }
}

/// The order of the skill's own steps: monitor, kill, parse-output.
#[test]
fn what_a_killed_session_showed_is_there_until_gc() {
    let env = TestEnv::new();
    let reading = r#"{"status":"SUCCESS","summary":"s","next_action":"proceed"}"#;
    let session = env.spawn_step("retro", &format!("echo work; echo '{reading}'; exit 0"));
    let (_, file) = env.monitored(&session);
    let _ = env.helper(&["tmux-wrapper", "kill", &session]).success();
    let parse =
        || env.helper(&["orchestrator-helper", "parse-output", file.to_str().unwrap(), "retro"]);
    assert_eq!(parse().success().text().trim(), reading);

    // Others that are started and ended do not disturb it.
    let other = env.spawn_step("dev", "exec sleep 300");
    let _ = env.helper(&["tmux-wrapper", "kill-all"]).success();
    assert_ne!(other, session);
    assert_eq!(parse().success().text().trim(), reading);

    let _ = env.dogwatch(&["gc", "--older-than", "0s"]).success();
    assert!(!file.exists());
    assert!(parse().code(1).text().contains("output file not found or empty"));
}

#[test]
fn the_same_of_a_session_that_others_started() {
    let env = TestEnv::new();
    let script = "echo said; exec sleep 300";
    env.tmux(&["new-session", "-d", "-s", "sa-work-1", "-x", "80", "-y", "24", script]);
    eventually("its word", || {
        env.tmux(&["capture-pane", "-p", "-t", "sa-work-1"]).contains("said")
    });
    for _ in 0..10 {
        let _ = env.row("sa-work-1");
    }
    let row = env.helper(&["tmux-status-check", "sa-work-1", "--full"]).text();
    let file = PathBuf::from(row.split(',').nth(3).unwrap());
    let _ = env.helper(&["tmux-wrapper", "kill", "sa-work-1"]).success();
    assert_eq!(fs::read_to_string(&file).unwrap(), "said\n");
    // A day later the next spawn clears away what it remembered of looks, and this stays.
    let old = std::time::SystemTime::now() - std::time::Duration::from_hours(48);
    fs::File::open(&file).unwrap().set_modified(old).unwrap();
    let session = env.spawn_step("dev", "exec sleep 300");
    let _ = env.helper(&["tmux-wrapper", "kill", &session]).success();
    assert!(file.exists());
    let _ = env.dogwatch(&["gc", "--older-than", "1d"]).success();
    assert!(!file.exists());
}
