use crate::env::TestEnv;
use crate::process;

#[test]
fn runs_through_without_a_terminal_and_leaves_nothing() {
    let env = TestEnv::new();
    let temporary = env.root().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut command = env.command(&["demo"]);
    let output = env.run(command.env("TMPDIR", &temporary)).success();
    let text = output.text();
    for words in ["worker", "asker", "failer", "waiting", "answered", "crashed", "What was seen:"] {
        assert!(text.contains(words), "no {words:?} in {output}");
    }
    assert!(!text.contains('\u{1b}'), "no colours where nobody sees them");
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "its folder is gone");
    assert!(!env.socket().exists() && !env.state_dir().exists(), "the user's own is untouched");
    crate::env::eventually("its processes are gone", || {
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
    crate::env::eventually("the play has begun", started);
    process::signal(i32::try_from(child.id()).unwrap(), rustix::process::Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    crate::env::eventually("its processes are gone", || {
        process::carrying(temporary.to_str().unwrap()).is_empty()
    });
}

#[test]
fn shows_a_table_on_a_terminal() {
    let env = TestEnv::new();
    let socket = env.another_socket("terminal");
    let line = format!("{} demo; echo code $?; exec cat", crate::env::dogwatch());
    env.tmux_on(&socket, &["new-session", "-d", "-x", "110", "-y", "30", &line]);
    let screen = || env.tmux_on(&socket, &["capture-pane", "-p"]);
    crate::env::eventually("the table is drawn", || {
        let screen = screen();
        screen.contains("AGENT") && screen.contains("asker") && screen.contains("waiting")
    });
    crate::env::eventually("it has ended", || screen().contains("\ncode 0"));
    // Drawn over itself: one table is left.
    assert_eq!(screen().matches("AGENT").count(), 1, "{}", screen());
}

/// Runs the demo by a shell in a terminal, ends that in a way of its own, and waits for the demo's end.
fn cut_short(line: &str, close: bool) {
    let env = TestEnv::new();
    let temporary = env.root().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let socket = env.another_socket("terminal");
    let line = format!("export TMPDIR={}; {line}; exec cat", temporary.display());
    env.tmux_on(&socket, &["new-session", "-d", "-x", "110", "-y", "30", &line]);
    let of_the_demo = format!("{}/dogwatch-demo", temporary.display());
    let processes = || process::carrying(&of_the_demo);
    crate::env::eventually("the play has begun", || processes().len() > 3);
    if close {
        env.tmux_on(&socket, &["kill-server"]);
    }
    crate::env::eventually("nothing is left of it", || {
        processes().is_empty() && std::fs::read_dir(&temporary).unwrap().count() == 0
    });
}

#[test]
fn a_terminal_that_is_closed_leaves_nothing() {
    cut_short(&format!("{} demo", crate::env::dogwatch()), true);
}

#[test]
fn a_reader_that_leaves_early_leaves_nothing() {
    cut_short(&format!("{} demo 2>&1 | head -n 4", crate::env::dogwatch()), false);
}
