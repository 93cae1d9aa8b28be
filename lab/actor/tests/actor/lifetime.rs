//! Stalls, ends, crashes and signals.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use dogwatch_testkit::wait_until;
use rustix::process::{Pid, Signal, kill_process};

use crate::script::{ACTOR, Script};

#[test]
fn exit_codes_come_from_the_scenario() {
    let cases = [
        ("[[step]]\nexit = 0", 0),
        ("[[step]]\nexit = 3", 3),
        ("[[step]]\nexit = 255", 255),
        ("[[step]]\nprint = \"the end\"", 0),
        ("[[step]]\nexit = \"x\"", 2),
        ("[[step]]\nraw = true", 74),
        ("[[step]]\nawait_file = { path = \"none\", within = \"20ms\" }", 124),
        ("[[step]]\nlabel = \"x\"\n[[step]]\ngoto = \"x\"", 74),
    ];
    for (toml, code) in cases {
        let output = Script::new(toml).on_pipes().output().expect("it runs");
        assert_eq!(output.status.code(), Some(code), "{toml}");
        let silent = !matches!(code, 2 | 74 | 124);
        assert_eq!(output.stderr.is_empty(), silent, "{toml}");
    }
}

#[test]
fn a_bad_scenario_plays_nothing() {
    let script = Script::new("[[step]]\nprint = \"seen\"\n[[step]]\ngoto = \"nowhere\"");
    let output = script.on_pipes().output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, b"");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("scenario.toml:4:8: no label \"nowhere\""), "{errors}");
}

#[test]
fn a_crash_is_a_death_by_signal() {
    for (name, number) in [("KILL", 9), ("SEGV", 11), ("TERM", 15), ("ABRT", 6)] {
        let script = Script::new(&format!("[[step]]\ncrash = \"{name}\""));
        let status = script.on_pipes().status().expect("it runs");
        assert_eq!(status.signal(), Some(number), "{name}");
    }
}

#[test]
fn a_file_steps_a_play_on() {
    let script = Script::new(
        r#"
        [[step]]
        write_file = { path = "waiting", text = "yes" }
        [[step]]
        await_file = { path = "go", within = "20s" }
        [[step]]
        append_json = { path = "transcript", value = { type = "user", text = "a \"b\" {env:HOME_OF_TEST}" } }
        [[step]]
        append_line = { path = "transcript", text = '{"type":"end"}' }
        [[step]]
        stall = "10ms"
        [[step]]
        exit = 4
        "#,
    );
    let mut child = script.on_pipes().env("HOME_OF_TEST", "c\n").spawn().expect("it runs");
    script.wait_for_file("waiting");
    assert!(child.try_wait().expect("a state").is_none());
    script.write("go", "");
    assert_eq!(child.wait().expect("an end").code(), Some(4));
    assert_eq!(
        script.read("transcript"),
        "{\"type\":\"user\",\"text\":\"a \\\"b\\\" c\\n\"}\n{\"type\":\"end\"}\n"
    );
}

#[test]
fn a_file_that_does_not_come_may_lead_elsewhere() {
    let script = Script::new(
        r#"
        [[step]]
        await_file = { path = "go", within = "20ms", else = "late" }
        [[step]]
        exit = 1
        [[step]]
        label = "late"
        [[step]]
        exit = 6
        "#,
    );
    let status = script.on_pipes().status().expect("it runs");
    assert_eq!(status.code(), Some(6));
}

#[test]
fn ignored_signals_do_not_end_a_stall() {
    let script = Script::new(
        r#"
        [[step]]
        ignore_signals = ["HUP", "TERM", "INT"]
        [[step]]
        write_file = { path = "waiting", text = "yes" }
        [[step]]
        await_file = { path = "go", within = "20s" }
        [[step]]
        crash = "TERM"
        [[step]]
        exit = 7
        "#,
    );
    let mut child = script.on_pipes().spawn().expect("it runs");
    script.wait_for_file("waiting");
    for signal in [Signal::HUP, Signal::TERM, Signal::INT] {
        kill_process(Pid::from_child(&child), signal).expect("sent");
    }
    script.write("go", "");
    assert_eq!(child.wait().expect("an end").code(), Some(7));
    assert!(script.read("log").contains("survived the crash"));
}

#[test]
fn a_hang_ends_by_a_signal_only() {
    let script = Script::new(
        "[[step]]\nwrite_file = { path = \"waiting\", text = \"yes\" }\n[[step]]\nhang = \"forever\"",
    );
    let mut child = script.on_pipes().spawn().expect("it runs");
    script.wait_for_file("waiting");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("sent");
    assert_eq!(child.wait().expect("an end").signal(), Some(15));
}

#[test]
fn a_suspended_play_notes_its_resumption() {
    let script = Script::new("[[step]]\nsuspend = \"STOP\"\n[[step]]\nexit = 8");
    let mut child = script.on_pipes().spawn().expect("it runs");
    let stat = format!("/proc/{}/stat", child.id());
    wait_until("the stop", || {
        let stat = fs::read_to_string(&stat).expect("a process");
        stat.contains(") T ").then_some(())
    });
    kill_process(Pid::from_child(&child), Signal::CONT).expect("sent");
    assert_eq!(child.wait().expect("an end").code(), Some(8));
    assert_eq!(script.read("log"), "1 resumed\n");
}

#[test]
fn a_scenario_can_be_checked_without_playing_it() {
    let script = Script::new("[[step]]\nprint = \"seen\"\n[[step]]\nexit = 9");
    let output = std::process::Command::new(ACTOR)
        .arg("--check")
        .arg(script.path("scenario.toml"))
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"");
}
