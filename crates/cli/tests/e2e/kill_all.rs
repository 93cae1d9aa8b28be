use dogwatch_testkit::{TestEnv, dogwatch, eventually, process};

#[test]
fn off_a_terminal_it_needs_a_yes() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.dogwatch(&["kill-all", "--yes"]).success(), @r"
    ------- stderr -------
    no sessions
    ");
    let one = env.spawn_script("one", "exec sleep 300");
    let two = env.spawn_script("two", "exec sleep 300");
    insta::assert_snapshot!(env.dogwatch(&["kill-all"]).code(2), @r"
    ------- stderr -------
    error: kill-all needs --yes when standard input is not a terminal
    [exit code: 2]
    ");
    let refused = env.dogwatch(&["kill-all", "--now", "--json"]).code(2).json();
    assert_eq!(refused["error"]["code"], "bad_argument");
    assert!(process::is_alive(one.pid) && process::is_alive(two.pid), "no signal was sent");
    insta::assert_snapshot!(env.dogwatch(&["kill-all", "--yes"]).success(), @r"
    one: ended by TERM (signal 15 (TERM))
    two: ended by TERM (signal 15 (TERM))
    ");
    assert!(!process::is_alive(one.pid) && !process::is_alive(two.pid));
    insta::assert_snapshot!(env.dogwatch(&["kill-all", "-y", "--json"]).success(), @r#"{"killed":[]}"#);
}

/// Runs `kill-all` in a terminal and answers its question.
fn answered(env: &TestEnv, terminal: &str, flags: &str, answer: Option<&str>) -> String {
    let socket = env.another_socket(terminal);
    let line = format!("{} kill-all {flags}; echo code $?; exec cat", dogwatch());
    env.tmux_on(&socket, &["new-session", "-d", "-x", "120", "-y", "30", &line]);
    let screen = || env.tmux_on(&socket, &["capture-pane", "-p"]);
    if let Some(answer) = answer {
        eventually("it asks", || screen().contains("[y/N]"));
        env.tmux_on(&socket, &["send-keys", "-l", answer]);
        env.tmux_on(&socket, &["send-keys", "Enter"]);
    }
    eventually("it has ended", || screen().contains("code "));
    let text = screen();
    env.tmux_on(&socket, &["kill-server"]);
    text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn asks_on_a_terminal() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    env.spawn_script("ended", "exit 0");
    env.wait_state("ended", "exited");
    for (terminal, no) in [("t1", "n"), ("t2", ""), ("t3", "nonsense"), ("t4", "Y E S")] {
        let screen = answered(&env, terminal, "", Some(no));
        assert!(screen.starts_with("End 2 sessions, 1 of them running? [y/N]"), "{screen}");
        assert!(screen.ends_with("code 1"), "{screen}");
        assert!(process::is_alive(session.pid));
    }
    let screen = answered(&env, "t5", "", Some("y"));
    assert!(screen.ends_with("code 0"), "{screen}");
    assert!(!process::is_alive(session.pid));
}

#[test]
fn yes_is_an_answer() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    let screen = answered(&env, "t", "--yes", None);
    assert!(screen.ends_with("code 0") && !screen.contains("[y/N]"), "{screen}");
    assert!(!process::is_alive(session.pid));
}
