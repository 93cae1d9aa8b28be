use std::fs;
use std::os::unix::fs::PermissionsExt;

use dogwatch_testkit::{TestEnv, eventually};

#[test]
fn prints_the_name_of_a_session_that_runs() {
    let env = TestEnv::new();
    let output = env.dogwatch(&["spawn", "--name", "build.1", "--", "sleep", "300"]).success();
    insta::assert_snapshot!(output, @"build-1");
    let seen = env.seen("build-1");
    assert_eq!(seen["state"], "running");
    let tmux = env.tmux(&["list-sessions", "-F", "#{session_name}"]);
    assert_eq!(tmux, "build-1");
}

#[test]
fn json_shape() {
    let env = TestEnv::new();
    let output = env.dogwatch(&["spawn", "--json", "--name", "x", "--", "sleep", "300"]).success();
    insta::assert_snapshot!(output.json_shape(), @r#"
    {
      "id": "[id]",
      "name": "x",
      "agent": "command",
      "pane": "[pane]",
      "pid": "[pid]",
      "started": "[started]",
      "cwd": "$WORK",
      "conversation": null,
      "prompt_in_file": false,
      "version": null,
      "caution": null
    }
    "#);
    insta::assert_snapshot!(env.dogwatch(&["ls", "--json"]).success().json_shape(), @r#"
    {
      "as_of": "[as_of]",
      "sessions": [
        {
          "id": "[id]",
          "name": "x",
          "agent": "command",
          "state": "running",
          "since": "[since]",
          "reason": "running",
          "exit": null,
          "cause": null,
          "by": null,
          "project": "$WORK",
          "cwd": "$WORK",
          "story": null,
          "model": null,
          "conversation": null,
          "command": [
            "/usr/bin/sleep",
            "300"
          ],
          "pane": "[pane]",
          "pid": "[pid]",
          "attached": false,
          "created": "[created]",
          "put_away": false,
          "title": null,
          "tags": []
        }
      ],
      "left_out": 0
    }
    "#);
}

#[test]
fn the_table_of_sessions() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.dogwatch(&["ls"]), @r"
    ------- stderr -------
    no sessions; to start one: dogwatch spawn claude '…'
    ");
    env.spawn_script("ended", "exit 3");
    env.wait_state("ended", "crashed");
    let shown = env.dogwatch(&["ls"]).success().text();
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("NAME"), "{shown}");
    assert!(lines[1].starts_with("ended") && lines[1].contains("crashed"), "{shown}");
    assert!(lines[1].ends_with("exit code 3, recorded by the runner"), "{shown}");
}

#[test]
fn the_pane_has_the_promised_geometry_and_history() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "stty size; exec sleep 300");
    let format = "#{pane_width}x#{pane_height} #{session_windows} #{window_index}";
    assert_eq!(env.tmux(&["display-message", "-p", "-t", &session.pane, format]), "200x50 1 0");
    let option = env.tmux(&["show-options", "-w", "-v", "-t", &session.pane, "remain-on-exit"]);
    assert_eq!(option, "on");
    let history = env.tmux(&["display-message", "-p", "-t", &session.pane, "#{history_limit}"]);
    assert!(history.parse::<u32>().unwrap() >= 5000, "{history}");
    env.wait_screen("x", "50 200");
}

#[test]
fn a_dead_pane_stays_until_it_is_put_away() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exit 0");
    env.wait_state("x", "exited");
    let dead = || env.tmux(&["display-message", "-p", "-t", &session.pane, "#{pane_dead}"]);
    eventually("the pane is dead", || dead() == "1");
    let _ = env.dogwatch(&["kill", "x"]).success();
    assert_eq!(env.dogwatch(&["ls", "--json"]).json()["sessions"].as_array().unwrap().len(), 0);
}

#[test]
fn files_are_private_and_secrets_do_not_stay() {
    let env = TestEnv::new();
    let mut command = env.command(&["spawn", "--json", "-p", "x", "--", "sleep", "300"]);
    let output = env.run(command.env("API_KEY", "very-secret-4711")).success();
    let folder = env.state_dir().join("sessions").join(output.json()["id"].as_str().unwrap());
    assert!(!folder.join("environment").exists());
    let mut pending = vec![env.state_dir().to_owned()];
    while let Some(path) = pending.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let want = if meta.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(meta.permissions().mode() & 0o777, want, "{}", path.display());
        if meta.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        } else {
            let content = fs::read(&path).unwrap();
            let leak = content.windows(16).any(|part| part == b"very-secret-4711");
            assert!(!leak, "the secret is in {}", path.display());
        }
    }
}

#[test]
fn a_program_that_cannot_be_executed_leaves_nothing_behind() {
    let env = TestEnv::new();
    let broken = env.write_program("broken", "");
    fs::write(&broken, "#!/no/such/interpreter\n").unwrap();
    let broken = broken.to_string_lossy();
    let output = env.dogwatch(&["spawn", "--name", "x", "--", &broken]).code(7);
    insta::assert_snapshot!(output, @r"
    ------- stderr -------
    error: cannot start session x: $ROOT/bin/broken: No such file or directory (os error 2)
    [exit code: 7]
    ");
    assert_eq!(env.dogwatch(&["ls", "--all", "--json"]).json()["sessions"], serde_json::json!([]));
    assert_eq!(fs::read_dir(env.state_dir().join("sessions")).unwrap().count(), 0);
    let _ = env.dogwatch(&["exists", "x"]).code(1);
}

#[test]
fn a_name_in_use_is_refused_and_its_owner_untouched() {
    let env = TestEnv::new();
    let first = env.spawn_script("x", "exec sleep 300");
    let output = env.dogwatch(&["spawn", "--name", "x", "--", "true"]).code(4);
    insta::assert_snapshot!(output, @r"
    ------- stderr -------
    error: a session named x already exists
    hint: choose another name, or end that session first: dogwatch kill x
    [exit code: 4]
    ");
    assert_eq!(env.seen("x")["id"], first.id);
    // Also one that is not ours; one that is over makes room.
    env.tmux(&["new-session", "-d", "-s", "theirs", "cat"]);
    let _ = env.dogwatch(&["spawn", "--name", "theirs", "--", "true"]).code(4);
    let _ = env.dogwatch(&["kill", "x"]).success();
    let over = env.spawn_script("x", "exit 0");
    env.wait_state("x", "exited");
    let next = env.spawn_script("x", "exec sleep 300");
    assert_ne!(next.id, over.id);
    assert_eq!(env.seen("x")["state"], "running");
}
