use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use dogwatch_testkit::{TestEnv, eventually};

use crate::story_automator::Helper as _;

/// A command that works until a file is there.
const GATED: &str = "echo Working; until [ -e go ]; do sleep 0.05; done; exit 3";

#[test]
fn told_when_it_happens_however_few_looks_were_asked_for() {
    let env = TestEnv::new();
    let session = env.spawn_step("dev", GATED);
    let mut command = env.helper_command(&[
        "monitor-session",
        &session,
        "--json",
        "--verbose",
        "--max-polls",
        "1",
        "--initial-wait",
        "0",
    ]);
    let mut monitor = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = String::new();
    let mut stderr = BufReader::new(monitor.stderr.take().unwrap());
    stderr.read_line(&mut progress).unwrap();
    assert!(progress.contains(&format!("{session} in_progress: ")), "{progress}");
    assert!(monitor.try_wait().unwrap().is_none(), "it waits");
    fs::write(env.work().join("go"), "").unwrap();
    let output = monitor.wait_with_output().unwrap();
    assert!(output.status.success());
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["final_state"], "crashed");
    assert_eq!(said["exit_reason"], "exit_code_3");
    let kept = fs::read_to_string(said["output_file"].as_str().unwrap()).unwrap();
    assert_eq!(kept, "Working\n");
    stderr.read_to_string(&mut progress).unwrap();
    assert!(progress.ends_with(&format!("{session} crashed\n")), "{progress}");
    let _ = env.helper(&["tmux-wrapper", "kill", &session]).success();
}

#[test]
fn what_is_not_there_or_taken_away() {
    let env = TestEnv::new();
    let gone = env.helper(&["monitor-session", "sa-nobody"]).success().text();
    assert_eq!(gone, "not_found,0,0,,session_gone\n");
    let session = env.spawn_step("dev", GATED);
    let late = env.helper(&["monitor-session", &session, "--timeout", "0"]).success().text();
    assert_eq!(late, "timeout,0,0,,exceeded_0m\n");
    let mut command = env.helper_command(&["monitor-session", &session]);
    let monitor = command.stdout(Stdio::piped()).spawn().unwrap();
    let _ = env.helper(&["tmux-wrapper", "kill", &session]).success();
    let output = monitor.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let expected = ["not_found,0,0,,session_gone\n", "crashed,0,0,"];
    assert!(expected.iter().any(|start| said.starts_with(start)), "{said}");
}

#[test]
fn a_stranger_is_waited_for_too() {
    let env = TestEnv::new();
    env.tmux(&[
        "new-session",
        "-d",
        "-s",
        "sa-work-1",
        "echo Thinking; read x; clear; echo '✻ Cooked for 3m 12s'; cat",
    ]);
    eventually("its words", || env.row("sa-work-1").ends_with(",in_progress"));
    let mut command = env.helper_command(&["monitor-session", "sa-work-1", "--workflow", "dev"]);
    let monitor = command.stdout(Stdio::piped()).spawn().unwrap();
    env.tmux(&["send-keys", "-t", "sa-work-1", "Enter"]);
    let output = monitor.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let (state, reason) =
        (said.split(',').next().unwrap(), said.trim().rsplit(',').next().unwrap());
    assert_eq!((state, reason), ("completed", "normal_completion"), "{said}");
    env.tmux(&["kill-session", "-t", "=sa-work-1"]);
}

#[test]
fn calls_that_say_nothing_are_refused() {
    let env = TestEnv::new();
    for (call, code) in [
        (&["monitor-session"][..], 1),
        (&["monitor-session", "x", "--state-file"], 1),
        (&["tmux-status-check"], 1),
        (&["codex-status-check"], 0),
        (&["heartbeat-check"], 0),
        (&["tmux-status-check", "a b"], 1),
        (&["tmux-wrapper", "spawn", "dev", "1", "1.1"], 1),
        (&["tmux-wrapper", "spawn", "dev", "1"], 1),
        (&["tmux-wrapper", "spawn", "d v", "1", "1.1", "--command", "true"], 1),
        (&["tmux-wrapper", "nothing"], 1),
        (&["list-sessions"], 1),
    ] {
        let _ = env.helper(call).code(code);
    }
    assert_eq!(env.helper(&["tmux-wrapper", "list"]).success().text(), "\n", "nothing was started");
}
