//! What a person gets wrong is said in a sentence, with an exit code of its own, and changes nothing.

use dogwatch_testkit::TestEnv;

#[test]
fn nothing_to_start() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.dogwatch(&["spawn"]), @r"
    ------- stderr -------
    error: nothing to start; pass an agent, or a command after --
    [exit code: 2]
    ");
    let _ = env.dogwatch(&["spawn", "--"]).code(2);
    let _ = env.dogwatch(&["spawn", "--", ""]).code(7);
}

#[test]
fn an_unknown_agent() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.dogwatch(&["spawn", "cluade", "-p", "x"]), @r#"
    ------- stderr -------
    error: unknown agent "cluade"; known agents: claude, codex, gemini, opencode, copilot, qwen, kimi, aider, amp, crush, cursor, goose, agy
    hint: `dogwatch agents` lists the agents; `dogwatch spawn -- PROGRAM` runs any program
    [exit code: 7]
    "#);
    for bad in ["../../etc/passwd", "CLAUDE", "claude.toml", "a b", "é"] {
        let output = env.dogwatch(&["spawn", "--json", bad]).code(7);
        assert_eq!(output.json()["error"]["code"], "unknown_agent");
    }
}

#[test]
fn a_missing_command() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.dogwatch(&["spawn", "--", "no-such-program"]), @r"
    ------- stderr -------
    error: no-such-program was not found in PATH
    [exit code: 7]
    ");
    env.write("not-executable", "");
    insta::assert_snapshot!(env.dogwatch(&["spawn", "--", "./not-executable"]), @r"
    ------- stderr -------
    error: $WORK/./not-executable cannot be executed
    [exit code: 7]
    ");
    let empty = env.root().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let tmux_only = env.root().join("bin");
    std::fs::create_dir(&tmux_only).unwrap();
    let mut command = env.command(&["spawn", "claude"]);
    insta::assert_snapshot!(env.run(command.env("PATH", &empty)), @r"
    ------- stderr -------
    error: claude was not found in PATH
    hint: install it: npm install -g @anthropic-ai/claude-code
    [exit code: 7]
    ");
    assert!(!env.socket().exists(), "tmux was never started");
}

#[test]
fn wrong_usage() {
    let env = TestEnv::new();
    for args in [
        &["frobnicate"][..],
        &["ls", "--frob"],
        &["kill"],
        &["capture"],
        &["spawn", "--model", "m", "--", "true"],
        &["spawn", "--unattended", "--", "true"],
        &["spawn", "claude", "-p", "x", "--prompt-file", "y"],
        &["spawn", "claude", "-p", "x", "-"],
        &["spawn", "--epic", "1", "--", "true"],
    ] {
        let output = env.dogwatch(args).code(2);
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}: {output}");
    }
    // Without a terminal there is no dashboard.
    assert!(env.dogwatch::<&str>(&[]).success().stderr.contains("no sessions"));
    let _ = env.dogwatch(&["--help"]).success();
    let _ = env.dogwatch(&["--version"]).success();
}

#[test]
fn sockets_that_cannot_be_used() {
    let env = TestEnv::new();
    let long = format!("/tmp/{}", "x".repeat(200));
    for socket in ["/no/such/folder/socket", &long] {
        let output = env.dogwatch(&["--socket", socket, "spawn", "--name", "x", "--", "true"]);
        assert_eq!(output.code, Some(5), "{socket}: {output}");
    }
    assert_eq!(env.dogwatch(&["ls", "--all", "--json"]).json()["sessions"], serde_json::json!([]));
    // Asking where nothing runs is no error.
    let _ = env.dogwatch(&["--socket", "/no/such/folder/socket", "ls"]).success();
}

#[test]
fn a_file_in_the_place_of_the_socket_is_not_removed() {
    let env = TestEnv::new();
    let file = env.write("notes.txt", "mine");
    for args in [&["spawn", "--", "true"][..], &["exists", "x"], &["attach", "x"], &["doctor"]] {
        let output = env.run(env.command(args).env("DOGWATCH_TMUX", &file));
        assert_ne!(output.code, Some(0), "{args:?}: {output}");
    }
    insta::assert_snapshot!(env.dogwatch(&["--socket", "./notes.txt", "spawn", "--", "true"]), @r"
    ------- stderr -------
    error: ./notes.txt is not a tmux socket
    hint: pass a path that does not exist yet, or the name of a socket
    [exit code: 5]
    ");
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
}
