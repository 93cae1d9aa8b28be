use dogwatch_testkit::{TestEnv, eventually};

/// Waits until the runner has kept the last screen, then puts the session away: tmux forgets it.
fn forgotten_by_tmux(env: &TestEnv, name: &str) {
    let _ = env.dogwatch(&["kill", name]).success();
    let _ = env.dogwatch(&["exists", name]).code(1);
}

#[test]
fn an_agent_that_somebody_else_started() {
    let env = TestEnv::new();
    let claude = env.write_program("claude", "echo hello; sleep 300");
    env.tmux(&["new-session", "-d", "-s", "mine", &claude.display().to_string()]);
    env.tmux(&["new-session", "-d", "-s", "shell", "sleep 300"]);
    let pane = env.tmux(&["list-panes", "-t", "=mine:", "-F", "#{pane_id}"]);
    eventually("it is seen", || env.dogwatch(&["status", "mine"]).code == Some(0));
    for target in ["mine", &pane] {
        eventually("it has spoken", || {
            env.dogwatch(&["capture", target]).success().stdout == b"hello\n"
        });
    }
    let refused = env.dogwatch(&["capture", "shell"]).code(3);
    assert!(refused.stderr.contains("did not start it"), "{refused}");
}

#[test]
fn the_screen_of_a_living_session() {
    let env = TestEnv::new();
    env.spawn_script("x", "printf 'one\\ntwo\\n'; exec sleep 300");
    env.wait_screen("x", "two");
    insta::assert_snapshot!(env.dogwatch(&["capture", "x"]), @r"
    one
    two
    ");
    insta::assert_snapshot!(env.dogwatch(&["capture", "x", "--lines", "1"]), @"two");
    insta::assert_snapshot!(env.dogwatch(&["capture", "x", "--json"]).json_shape(), @r#"
    {
      "name": "x",
      "id": "[id]",
      "state": "running",
      "from": "pane",
      "text": "one\ntwo\n"
    }
    "#);
}

#[test]
fn the_last_screen_after_tmux_has_forgotten_it() {
    let env = TestEnv::new();
    env.spawn_script("x", "printf 'first\\n\\n  last words: é 🐕\\n'; exit 3");
    env.wait_state("x", "crashed");
    forgotten_by_tmux(&env, "x");
    insta::assert_snapshot!(env.dogwatch(&["capture", "x"]), @r"
    first

      last words: é 🐕
    ------- stderr -------
    note: the session has ended; this is its last screen
    ");
    let shape = env.dogwatch(&["capture", "x", "--json"]).json();
    assert_eq!((shape["from"].as_str(), shape["state"].as_str()), (Some("kept"), Some("crashed")));
}

#[test]
fn five_thousand_lines_of_a_program_that_scrolled() {
    let env = TestEnv::new();
    // tmux drops a tenth of its history at once, so the number matters.
    for count in [5100, 5700, 6000] {
        let name = format!("to-{count}");
        env.spawn_script(&name, &format!("seq {count}"));
        env.wait_state(&name, "exited");
        forgotten_by_tmux(&env, &name);
        let text = env.dogwatch(&["capture", &name, "--lines", "5000"]).success().text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5000, "of {count}");
        assert_eq!(lines[0], (count - 4999).to_string());
        assert_eq!(lines[4999], count.to_string());
    }
}

#[test]
fn the_end_of_a_flood_is_kept() {
    let env = TestEnv::new();
    for n in 0..6 {
        let name = format!("s{n}");
        // Far more than the terminal's buffers hold, and the program ends right after.
        env.spawn_script(&name, "seq 200000; printf 'the very end'");
        env.wait_state(&name, "exited");
        forgotten_by_tmux(&env, &name);
        let text = env.dogwatch(&["capture", &name, "--lines", "2"]).success().text();
        assert_eq!(text, "200000\nthe very end\n");
    }
}

#[test]
fn colours_only_when_asked_for() {
    let env = TestEnv::new();
    env.spawn_script("x", "printf '\\033[1;31mred\\033[0m \\033[4mline\\033[0m\\n'; while [ ! -e go ]; do sleep 0.05; done");
    env.wait_screen("x", "red line");
    let check = || {
        let plain = env.dogwatch(&["capture", "x"]).success().text();
        assert_eq!(plain, "red line\n");
        let ansi = env.dogwatch(&["capture", "x", "--ansi"]).success().text();
        assert!(
            ansi.contains("\u{1b}[1m\u{1b}[31mred") || ansi.contains("\u{1b}[1;31mred"),
            "{ansi:?}"
        );
    };
    check();
    env.write("go", "");
    env.wait_state("x", "exited");
    forgotten_by_tmux(&env, "x");
    check();
}

#[test]
fn an_agent_on_the_alternate_screen() {
    let env = TestEnv::new();
    env.spawn_actor(
        "x",
        "[[step]]\nprint = \"before\\n\"\n[[step]]\nalternate_screen = true\n[[step]]\nprint = \"full screen\\n\"\n\
         [[step]]\nawait_file = { path = \"go\", within = \"60s\" }\n[[step]]\ncrash = \"KILL\"\n",
    );
    env.wait_screen("x", "full screen");
    env.write("go", "");
    env.wait_state("x", "crashed");
    forgotten_by_tmux(&env, "x");
    // It died without leaving the alternate screen: that is what was last seen.
    assert!(env.screen("x").contains("full screen"), "{}", env.screen("x"));
}

#[test]
fn the_transcript_of_an_agent_that_has_one() {
    let env = TestEnv::new();
    let transcript = env.write(
        "talk.jsonl",
        concat!(
            r#"{"type":"user","message":{"content":"build it"}}"#, "\n",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"On it."},{"type":"tool_use","name":"Bash","input":{"command":"make"}}]}}"#, "\n",
        ),
    );
    let program = env.root().join("bin");
    env.write_program("claude", "while [ ! -e go ]; do sleep 0.05; done");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut command = env.command(&["spawn", "--json", "--name", "x", "claude"]);
    let session = env.run(command.env("PATH", path)).success().json();
    let payload = serde_json::json!({ "hook_event_name": "Stop", "transcript_path": transcript });
    let mut hook = env.command(&["hook", "claude"]);
    hook.env("DOGWATCH_SESSION", session["id"].as_str().unwrap());
    let _ = env.run_with_input(&mut hook, payload.to_string().as_bytes()).success();
    env.write("go", "");
    env.wait_state("x", "exited");
    eventually("the runner has left", || {
        env.tmux(&["list-panes", "-a", "-F", "#{pane_dead}"]) == "1"
    });
    insta::assert_snapshot!(env.dogwatch(&["capture", "x"]), @r"
    > build it

    On it.

    * Bash make
    ------- stderr -------
    note: the session has ended; this is the end of its transcript
    ");
}

#[test]
fn what_cannot_be_captured() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.dogwatch(&["capture", "nosuch"]), @r#"
    ------- stderr -------
    error: no session "nosuch"
    hint: `dogwatch ls --all` lists all sessions
    [exit code: 3]
    "#);
    env.spawn_script("x", "exec sleep 300");
    for unknown in ["%99", "%", "=x", "x:", "X", "", "x*"] {
        let _ = env.dogwatch(&["capture", unknown]).code(3);
    }
    let _ = env.dogwatch(&["capture", "x", "--lines", "0"]).code(2);
    let _ = env.dogwatch(&["capture", "x", "--lines", "-5"]).code(2);
    let _ = env.dogwatch(&["capture", "x", "--lines", "99999999999"]).code(2);
}

#[test]
fn a_name_that_was_used_twice_means_the_living_one() {
    let env = TestEnv::new();
    env.spawn_script("x", "echo first; exec sleep 300");
    env.wait_screen("x", "first");
    let _ = env.dogwatch(&["kill", "x"]).success();
    assert_eq!(env.screen("x"), "first\n");
    env.spawn_script("x", "echo second; exec sleep 300");
    env.wait_screen("x", "second");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let env = TestEnv::new();
    env.spawn_script("x", "seq 4000");
    env.wait_state("x", "exited");
    let script = format!(
        "'{}' capture x --lines 4000 2>/dev/null | head -1; echo ${{PIPESTATUS[0]}}",
        dogwatch_testkit::dogwatch()
    );
    let output = env.run(env.foreign("bash").args(["-c", &script]));
    assert_eq!(output.text(), "1\n0\n");
    let script = format!("'{}' capture x > /dev/full", dogwatch_testkit::dogwatch());
    let _ = env.run(env.foreign("bash").args(["-c", &script])).code(1);
}
