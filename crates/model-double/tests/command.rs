//! The program: what it prints, how it fails, and that it never outlives a test.

#![expect(clippy::expect_used, reason = "helpers of tests may fail as tests do")]

use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(10);

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_model-double"))
}

fn scenario() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../lab/scenarios/basic.toml")
}

/// Ends a child even when its test fails.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn line(output: &mut impl std::io::BufRead) -> String {
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    line.trim_end().to_owned()
}

/// Whether all holders of the other end of a pipe are gone in time.
fn ends(mut output: impl std::io::Read + Send + 'static) -> bool {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = output.read_to_end(&mut Vec::new());
        let _ = sender.send(());
    });
    receiver.recv_timeout(LIMIT).is_ok()
}

#[test]
fn ends_when_its_input_is_closed() {
    let child = program()
        .arg(scenario())
        .arg("--with-parent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut child = Guard(child);
    let mut output = BufReader::new(child.0.stdout.take().expect("piped"));
    assert!(line(&mut output).starts_with("http://127.0.0.1:"));
    assert!(child.0.try_wait().expect("status").is_none(), "runs while its input is open");

    drop(child.0.stdin.take());
    assert!(ends(output), "still runs after its input was closed");
    assert!(child.0.wait().expect("status").success());
}

#[test]
fn ends_when_its_parent_dies() {
    // The shell starts the double without a pipe and waits for us; then it is killed.
    let shell = Command::new("sh")
        .args(["-c", "\"$0\" \"$1\" --with-parent </dev/null & read line"])
        .arg(env!("CARGO_BIN_EXE_model-double"))
        .arg(scenario())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut shell = Guard(shell);
    let mut output = BufReader::new(shell.0.stdout.take().expect("piped"));
    assert!(line(&mut output).starts_with("http://127.0.0.1:"));
    shell.0.kill().expect("killed");
    shell.0.wait().expect("reaped");
    assert!(ends(output), "still runs after its parent died");
}

#[test]
fn a_bad_scenario_is_told_with_its_place() {
    let dir = tempfile::tempdir().expect("temp dir");
    let bad = dir.path().join("bad.toml");
    std::fs::write(&bad, "[[rule]]\nmatch = 'x'\nsteps = [{ shel = 'ls' }]\n").expect("written");
    let output = program().arg(&bad).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    let place = format!("model-double: {}:3:12: ", bad.display());
    assert!(error.starts_with(&place) && error.contains("expected one of"), "{error}");
    assert!(output.stdout.is_empty());
}

#[test]
fn no_arguments_is_an_error_of_use() {
    let output = program().output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_home_is_written_and_its_environment_printed() {
    let dir = tempfile::tempdir().expect("temp dir");
    let home = dir.path().join("home");
    let output = program()
        .args(["home", "--agent", "codex", "--url", "http://127.0.0.1:9", "--home"])
        .arg(&home)
        .arg("--project")
        .arg(dir.path())
        .output()
        .expect("runs");
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(lines.lines().any(|line| line == format!("HOME={}", home.display())), "{lines}");
    assert!(home.join(".codex/config.toml").is_file());
}
