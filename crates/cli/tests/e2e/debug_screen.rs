//! One screen alone, however bad: no panic, no hang, and never more than what it shows.

use dogwatch_testkit::{CommandOutput, TestEnv};

const EDGE: &str = "────────────────────────────────────────";

fn judge(env: &TestEnv, screen: &[u8], more: &[&str]) -> CommandOutput {
    env.write("screen", screen);
    let mut command = env.command(&["debug", "screen", "--agent", "claude", "--screen", "screen"]);
    env.run(command.args(more)).success()
}

fn state(env: &TestEnv, screen: &[u8], more: &[&str]) -> String {
    let mut more = more.to_vec();
    more.push("--json");
    judge(env, screen, &more).json()["state"].as_str().unwrap().to_owned()
}

fn at_the_prompt() -> String {
    format!("● Done.\n\n{EDGE}\n❯\n{EDGE}\n")
}

#[test]
fn of_no_size() {
    let env = TestEnv::new();
    insta::assert_snapshot!(judge(&env, b"", &["--width", "0", "--height", "0"]), @r"
    unknown (inferred)
      no rule matched
    ");
    let prompt = at_the_prompt();
    for size in ["0", "1", "65535"] {
        for other in ["0", "1", "65535"] {
            let more = ["--width", size, "--height", other];
            assert_eq!(state(&env, b"", &more), "unknown", "{more:?}");
            let seen = state(&env, prompt.as_bytes(), &more);
            let shown = if other == "1" { "unknown" } else { "idle" };
            assert_eq!(seen, shown, "{more:?}");
        }
    }
    for bad in ["-1", "65536", "x", ""] {
        let args = ["debug", "screen", "--agent", "claude", "--screen", "screen", "--width", bad];
        let _ = env.dogwatch(&args).code(2);
    }
}

#[test]
fn ten_megabytes_of_escape_codes() {
    let env = TestEnv::new();
    let many = |unit: &str| unit.repeat((10 << 20) / unit.len());
    assert_eq!(state(&env, many("\x1b[7mx\x1b[0m\n").as_bytes(), &["--height", "50"]), "unknown");
    // What is left open ends with its line, and what comes after it is seen.
    for unit in ["\x1b[1;38;5;3m", "\x1b[", "\x1b]0;x"] {
        let screen = format!("{}\x1b[0m\n{}", many(unit), at_the_prompt());
        assert_eq!(state(&env, screen.as_bytes(), &["--height", "50"]), "idle", "{unit:?}");
    }
}

#[test]
fn that_is_no_text() {
    let env = TestEnv::new();
    assert_eq!(state(&env, b"\xff\xfe\xc3\x28\xe2\x82\0\0\xf0\x9f", &[]), "unknown");
    let mut screen = b"\xff\xfe\xc3\n\x9b31m\0\xf0\x9f\n\n".to_vec();
    screen.extend(at_the_prompt().into_bytes());
    assert_eq!(state(&env, &screen, &[]), "idle");
    // Nothing that is quoted from it can command the terminal.
    let title = "[ ! ] Action Required \x1b[2J";
    env.write("screen", at_the_prompt());
    let args = ["debug", "screen", "--agent", "codex", "--screen", "screen", "--title", title];
    let said = env.dogwatch(&args).success().text();
    assert!(said.contains("Action Required") && !said.contains('\x1b'), "{said:?}");
}

#[test]
fn that_cannot_be_read() {
    let env = TestEnv::new();
    env.write("screen", "");
    insta::assert_snapshot!(env.dogwatch(&["debug", "screen", "--agent", "nobody", "--screen", "screen"]), @r#"
    ------- stderr -------
    error: dogwatch has no screen rules for the agent "nobody"
    [exit code: 2]
    "#);
    std::os::unix::fs::symlink("/dev/zero", env.work().join("endless")).unwrap();
    insta::assert_snapshot!(env.dogwatch(&["debug", "screen", "--agent", "claude", "--screen", "endless"]), @r"
    ------- stderr -------
    error: endless: not a regular file but a device
    [exit code: 2]
    ");
    for (file, words) in [("nosuch", "No such file"), (".", "but a folder")] {
        let output =
            env.dogwatch(&["debug", "screen", "--agent", "claude", "--screen", file]).code(1);
        assert!(output.stderr.contains(words), "{output}");
    }
}
