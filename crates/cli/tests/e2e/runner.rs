//! How an agent ended is written down, whatever ended it.

use dogwatch_testkit::{TestEnv, process};
use rustix::process::Signal;

#[test]
fn exit_codes() {
    let env = TestEnv::new();
    for code in [0, 1, 2, 3, 126, 127, 128, 130, 143, 255] {
        let name = format!("code-{code}");
        env.spawn_script(&name, &format!("exit {code}"));
        let seen = env.wait_state(&name, if code == 0 { "exited" } else { "crashed" });
        assert_eq!(seen["exit"]["code"], code, "{seen}");
        assert_eq!(seen["cause"], "itself");
        assert_eq!(seen["reason"], format!("exit code {code}, recorded by the runner"));
    }
}

#[test]
fn signals() {
    let env = TestEnv::new();
    let signals = [
        (Signal::HUP, "1 (HUP)"),
        (Signal::INT, "2 (INT)"),
        (Signal::QUIT, "3 (QUIT)"),
        (Signal::ILL, "4 (ILL)"),
        (Signal::ABORT, "6 (ABRT)"),
        (Signal::FPE, "8 (FPE)"),
        (Signal::KILL, "9 (KILL)"),
        (Signal::SEGV, "11 (SEGV)"),
        (Signal::PIPE, "13 (PIPE)"),
        (Signal::ALARM, "14 (ALRM)"),
        (Signal::TERM, "15 (TERM)"),
    ];
    for (signal, shown) in signals {
        let name = format!("signal-{}", signal.as_raw());
        let session = env.spawn_script(&name, "exec sleep 300");
        process::signal(session.pid, signal);
        let (state, why) = match signal {
            Signal::INT => ("stopped", "probably Ctrl-C"),
            Signal::QUIT => ("stopped", "probably Ctrl-\\"),
            _ => ("crashed", "recorded by the runner"),
        };
        let seen = env.wait_state(&name, state);
        assert_eq!(seen["exit"]["signal"], signal.as_raw(), "{seen}");
        assert_eq!(seen["cause"], "itself", "{shown}");
        assert_eq!(seen["reason"], format!("signal {shown}, {why}"));
    }
}

#[test]
fn a_real_crash() {
    let env = TestEnv::new();
    env.spawn_actor("x", "[[step]]\ncrash = \"SEGV\"\n");
    assert_eq!(env.wait_state("x", "crashed")["exit"]["signal"], 11);
}

#[test]
fn agents_that_end_within_a_millisecond() {
    let env = TestEnv::new();
    for n in 0..15 {
        let name = format!("s{n}");
        env.spawn(&["--name", &name, "--", "true"]);
        let seen = env.wait_state(&name, "exited");
        assert_eq!(seen["exit"]["code"], 0);
        assert!(seen["since"].is_string());
    }
}

#[test]
fn the_dead_pane_and_the_record_agree() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exit 9");
    env.wait_state("x", "crashed");
    let dead = || env.tmux(&["display-message", "-p", "-t", &session.pane, "#{pane_dead}"]);
    dogwatch_testkit::eventually("the runner has left", || dead() == "1");
    let status = env.tmux(&["display-message", "-p", "-t", &session.pane, "#{pane_dead_status}"]);
    // tmux 3.3a with utempter loses the status in about half of all deaths.
    assert!(["9", ""].contains(&status.as_str()), "{status}");
}

#[test]
fn an_unknown_session_cannot_be_run() {
    let env = TestEnv::new();
    let output = env.dogwatch(&["run", "no-such-id"]).code(6);
    insta::assert_snapshot!(output, @r"
    ------- stderr -------
    error: cannot read $STATE/sessions/no-such-id/argv: No such file or directory (os error 2)
    [exit code: 6]
    ");
}

#[test]
fn output_is_not_buffered_or_changed_by_the_runner() {
    let env = TestEnv::new();
    env.spawn_script("x", "printf 'no newline at the end'; exec sleep 300");
    env.wait_screen("x", "no newline at the end");
}
