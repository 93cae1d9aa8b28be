use std::path::{Path, PathBuf};

use dogwatch_testkit::{TestEnv, eventually, process};

#[test]
fn runs_through_without_a_terminal_and_leaves_nothing() {
    let env = TestEnv::new();
    let temporary = env.root().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut command = env.command(&["demo"]);
    let output = env.run(command.env("TMPDIR", &temporary)).success();
    let text = output.text();
    for words in ["worker", "asker", "failer", "waiting", "answered", "crashed", "Observed:"] {
        assert!(text.contains(words), "no {words:?} in {output}");
    }
    assert!(!text.contains('\u{1b}'), "no colours where nobody sees them");
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "its folder is gone");
    assert!(!env.socket().exists() && !env.state_dir().exists(), "the user's own is untouched");
    eventually("its processes are gone", || {
        process::carrying(temporary.to_str().unwrap()).is_empty()
    });
}

#[test]
fn can_be_interrupted() {
    let env = TestEnv::new();
    let temporary = env.root().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut command = env.command(&["demo"]);
    command
        .env("TMPDIR", &temporary)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let started = || process::carrying(temporary.to_str().unwrap()).len() > 3;
    eventually("the play has begun", started);
    process::signal(i32::try_from(child.id()).unwrap(), rustix::process::Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    eventually("its processes are gone", || {
        process::carrying(temporary.to_str().unwrap()).is_empty()
    });
}

#[test]
fn shows_a_table_on_a_terminal() {
    let env = TestEnv::new();
    let socket = env.another_socket("terminal");
    let line = format!("{} demo; echo code $?; exec cat", dogwatch_testkit::dogwatch());
    env.tmux_on(&socket, &["new-session", "-d", "-x", "110", "-y", "30", &line]);
    let screen = || env.tmux_on(&socket, &["capture-pane", "-p"]);
    eventually("the table is drawn", || {
        let screen = screen();
        screen.contains("AGENT") && screen.contains("asker") && screen.contains("waiting")
    });
    eventually("it has ended", || screen().contains("\ncode 0"));
    // Drawn over itself: one table is left.
    assert_eq!(screen().matches("AGENT").count(), 1, "{}", screen());
}

/// Runs a line in a terminal, and returns the folder that the demo in it makes its own in.
fn in_a_terminal(env: &TestEnv, line: &str) -> PathBuf {
    let temporary = env.root().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let line = format!("export TMPDIR={}; {line}; exec cat", temporary.display());
    let socket = env.another_socket("terminal");
    env.tmux_on(&socket, &["new-session", "-d", "-x", "110", "-y", "30", &line]);
    temporary
}

fn nothing_is_left(temporary: &Path) {
    let of_the_demo = format!("{}/dogwatch-demo", temporary.display());
    eventually("nothing is left of it", || {
        process::carrying(&of_the_demo).is_empty()
            && std::fs::read_dir(temporary).unwrap().count() == 0
    });
}

#[test]
fn a_terminal_that_is_closed_leaves_nothing() {
    let env = TestEnv::new();
    let temporary = in_a_terminal(&env, &format!("{} demo", dogwatch_testkit::dogwatch()));
    let of_the_demo = format!("{}/dogwatch-demo", temporary.display());
    eventually("the play has begun", || process::carrying(&of_the_demo).len() > 3);
    env.tmux_on(&env.root().join("terminal"), &["kill-server"]);
    nothing_is_left(&temporary);
}

#[test]
fn a_reader_that_leaves_early_leaves_nothing() {
    let env = TestEnv::new();
    let line = format!("{} demo 2>&1 | head -n 4; touch ended", dogwatch_testkit::dogwatch());
    let temporary = in_a_terminal(&env, &line);
    eventually("the pipe has ended", || env.work().join("ended").exists());
    nothing_is_left(&temporary);
}
