//! The pane works as if the agent had been started by hand in a shell.

use std::fs;

use dogwatch_testkit::{TestEnv, eventually, process};
use rustix::process::Signal;

#[test]
fn typing_reaches_the_agent() {
    let env = TestEnv::new();
    let session =
        env.spawn_script("x", "printf 'name? '; read name; echo \"hello $name\"; exec sleep 300");
    env.wait_screen("x", "name?");
    env.keys(&session, &["-l", "Grace H."]);
    env.keys(&session, &["Enter"]);
    env.wait_screen("x", "hello Grace H.");
}

#[test]
fn ctrl_c_interrupts_the_agent() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    env.keys(&session, &["C-c"]);
    let seen = env.wait_state("x", "stopped");
    assert_eq!(seen["exit"]["signal"], 2);
    assert_eq!(seen["reason"], "signal 2 (INT), probably Ctrl-C");
}

#[test]
fn ctrl_c_can_be_handled() {
    let env = TestEnv::new();
    let session = env.spawn_script(
        "x",
        "trap 'echo interrupted' INT; echo ready; while [ ! -e go ]; do sleep 0.1; done; exit 4",
    );
    env.wait_screen("x", "ready");
    env.keys(&session, &["C-c"]);
    env.wait_screen("x", "interrupted");
    env.write("go", "");
    assert_eq!(env.wait_state("x", "crashed")["exit"]["code"], 4);
}

#[test]
fn ctrl_backslash_and_ctrl_d() {
    let env = TestEnv::new();
    let session = env.spawn_script("quit", "exec sleep 300");
    env.keys(&session, &["C-\\"]);
    assert_eq!(env.wait_state("quit", "stopped")["exit"]["signal"], 3);
    let session = env.spawn_script("end", "cat; echo done; exit 0");
    env.keys(&session, &["C-d"]);
    env.wait_state("end", "exited");
}

/// Counts up while it is allowed to, and answers lines.
const COUNTER: &str = "echo ready; while read line; do echo \"got $line\"; done";

#[test]
fn ctrl_z_and_fg() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", COUNTER);
    env.wait_screen("x", "ready");
    for turn in ["one", "two", "three"] {
        env.keys(&session, &["C-z"]);
        let stops = || env.screen("x").matches("[dogwatch] stopped").count();
        let want = ["one", "two", "three"].iter().position(|t| *t == turn).unwrap() + 1;
        eventually("it is stopped", || stops() == want);
        assert_eq!(env.seen("x")["state"], "running");
        env.keys(&session, &["fg", "Enter"]);
        env.keys(&session, &[turn, "Enter"]);
        env.wait_screen("x", &format!("got {turn}"));
    }
    env.keys(&session, &["C-d"]);
    assert_eq!(env.wait_state("x", "exited")["exit"]["code"], 0);
}

#[test]
fn what_is_typed_ahead_of_fg_reaches_the_agent() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", COUNTER);
    env.wait_screen("x", "ready");
    for turn in 0..5 {
        env.keys(&session, &["C-z"]);
        eventually("it is stopped", || env.screen("x").matches("] stopped").count() > turn);
        let word = format!("word{turn}");
        env.keys(&session, &["fg", "Enter", &word, "Enter", "more", "Enter"]);
        env.wait_screen("x", &format!("got {word}\ngot more"));
    }
}

#[test]
fn continued_from_outside() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", COUNTER);
    env.wait_screen("x", "ready");
    env.keys(&session, &["C-z"]);
    env.wait_screen("x", "[dogwatch] stopped");
    process::signal(session.pid, Signal::CONT);
    // A line that is typed before the runner has noticed goes to the runner.
    eventually("it has the terminal again", || {
        env.keys(&session, &["back", "Enter"]);
        env.screen("x").contains("got back")
    });
}

#[test]
fn stopped_from_outside() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", COUNTER);
    env.wait_screen("x", "ready");
    process::signal(session.pid, Signal::STOP);
    env.wait_screen("x", "[dogwatch] stopped");
    env.keys(&session, &["fg", "Enter"]);
    env.keys(&session, &["again", "Enter"]);
    env.wait_screen("x", "got again");
}

#[test]
fn words_typed_to_the_runner() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", COUNTER);
    env.wait_screen("x", "ready");
    env.keys(&session, &["C-z"]);
    env.wait_screen("x", "[dogwatch] stopped");
    // Neither ends the runner, nor does an unknown word.
    env.keys(&session, &["C-c"]);
    env.keys(&session, &["C-z"]);
    env.keys(&session, &["help", "Enter"]);
    env.wait_screen("x", "[dogwatch] fg: continue it");
    env.keys(&session, &["C-d"]);
    eventually("it still listens", || env.screen("x").matches("[dogwatch] fg:").count() == 2);
    env.keys(&session, &["kill", "Enter"]);
    let seen = env.wait_state("x", "stopped");
    assert_eq!(seen["reason"], "on request (signal 15 (TERM))");
}

#[test]
fn modes_of_the_terminal_are_given_back() {
    let env = TestEnv::new();
    let session = env.spawn_actor(
        "x",
        "[[step]]\nraw = true\n[[step]]\nprint = \"ready\\n\"\n[[step]]\nsuspend = \"STOP\"\n[[step]]\n\
         print = \"resumed\\n\"\n[[step]]\ninput = { want = \"key\" }\n[[step]]\nprint = \"key\\n\"\n[[step]]\nstall = \"forever\"\n",
    );
    env.wait_screen("x", "[dogwatch] stopped");
    env.keys(&session, &["fg", "Enter"]);
    env.wait_screen("x", "resumed");
    // A single key arrives without Enter: the terminal is raw again.
    env.keys(&session, &["k"]);
    env.wait_screen("x", "key");
}

#[test]
fn a_new_size_is_seen_by_the_agent() {
    let env = TestEnv::new();
    let session = env.spawn_actor(
        "x",
        "record_sizes = \"sizes\"\n[[step]]\nprint_size = \"{cols}x{rows}\\n\"\n[[step]]\nstall = \"forever\"\n",
    );
    env.wait_screen("x", "200x50");
    env.tmux(&["resize-window", "-t", &session.pane, "-x", "90", "-y", "31"]);
    let sizes = env.work().join("sizes");
    eventually("the new size is written down", || {
        fs::read_to_string(&sizes).is_ok_and(|text| text.contains("90x31"))
    });
}

#[test]
fn an_interactive_shell_has_job_control() {
    let env = TestEnv::new();
    let session = env.spawn(&["--name", "x", "--env", "PS1=ps1> ", "--", "bash", "--norc", "-i"]);
    env.wait_screen("x", "ps1>");
    assert!(!env.screen("x").contains("no job control"), "{}", env.screen("x"));
    // A background job that reads the terminal is stopped by the kernel, and the shell says so.
    env.keys(&session, &["cat &", "Enter"]);
    env.keys(&session, &["jobs", "Enter"]);
    eventually("the job is stopped", || {
        env.keys(&session, &["jobs", "Enter"]);
        env.screen("x").contains("Stopped")
    });
    env.keys(&session, &["sleep 300", "Enter"]);
    env.keys(&session, &["C-z"]);
    eventually("the shell took the terminal back", || {
        env.keys(&session, &["echo $((6 * 7))", "Enter"]);
        env.screen("x").contains("\n42")
    });
    let _ = env.dogwatch(&["kill", "x"]).success();
}

#[test]
fn a_stopped_agent_that_reads_at_once_when_continued() {
    let env = TestEnv::new();
    // `cat` reads before the runner can have given the terminal back.
    let session = env.spawn_script("x", "echo ready; exec cat");
    env.wait_screen("x", "ready");
    for turn in 0..5 {
        env.keys(&session, &["C-z"]);
        eventually("it is stopped", || env.screen("x").matches("] stopped").count() > turn);
        process::signal(session.pid, Signal::CONT);
        let word = format!("word{turn}");
        eventually("it reads again", || {
            env.keys(&session, &[&word, "Enter"]);
            // Echoed by the terminal, and printed by `cat`.
            env.screen("x").contains(&format!("\n{word}\n{word}\n"))
        });
    }
}

#[test]
fn an_agent_killed_while_it_is_stopped() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    env.keys(&session, &["C-z"]);
    env.wait_screen("x", "[dogwatch] stopped");
    process::signal(session.pid, Signal::KILL);
    assert_eq!(env.wait_state("x", "crashed")["exit"]["signal"], 9);
    let dead = || env.tmux(&["display-message", "-p", "-t", &session.pane, "#{pane_dead}"]);
    eventually("the runner has left", || dead() == "1");
}

#[test]
fn output_that_is_held_by_ctrl_s() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "while :; do echo flood; done");
    env.wait_screen("x", "flood");
    env.keys(&session, &["C-s"]);
    let begun = std::time::Instant::now();
    let output = env.dogwatch(&["kill", "x"]).success();
    insta::assert_snapshot!(output, @"x: ended by TERM (signal 15 (TERM))");
    assert!(begun.elapsed().as_secs() < 8, "it took {:?}", begun.elapsed());
    assert!(env.screen("x").contains("flood"));
}
