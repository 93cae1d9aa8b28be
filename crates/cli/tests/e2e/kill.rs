//! Ending a session: its own way out, then TERM, then KILL, each only if needed.

use std::fs;

use dogwatch_testkit::{TestEnv, dogwatch, process};

/// The scripted agent as an agent with a profile, whose way out is Ctrl-C twice.
fn add_polite_agent(env: &TestEnv, scenario: &str) {
    let file = env.write("polite.toml", scenario);
    let script = format!("exec '{}' lab actor '{}'", dogwatch(), file.display());
    env.add_profile("polite", "[[ending]]\nkeys = [\"C-c\"]\nwait_ms = 600\ntimes = 2\n", &script);
}

const LEAVES_ON_SECOND_CTRL_C: &str = r#"
on_ctrl_c = "exit-on-second"
ctrl_c_code = 0
record = "received"
[[step]]
raw = true
[[step]]
print = "ready\n"
[[step]]
stall = "forever"
"#;

#[test]
fn by_the_agents_own_exit() {
    let env = TestEnv::new();
    add_polite_agent(&env, LEAVES_ON_SECOND_CTRL_C);
    let session = env.spawn(&["--name", "x", "polite"]);
    env.wait_screen("x", "ready");
    let output = env.dogwatch(&["kill", "x"]).success();
    insta::assert_snapshot!(output, @"x: exited cleanly (exit code 0)");
    assert_eq!(fs::read(env.work().join("received")).unwrap(), b"\x03\x03");
    process::wait_gone(session.pid);
    let seen = env.seen("x");
    assert_eq!((seen["state"].as_str(), seen["put_away"].as_bool()), (Some("exited"), Some(true)));
}

#[test]
fn keys_are_only_pressed_if_the_profile_says_so() {
    let env = TestEnv::new();
    env.spawn_actor("x", LEAVES_ON_SECOND_CTRL_C);
    env.wait_screen("x", "ready");
    let output = env.dogwatch(&["kill", "x"]).success();
    insta::assert_snapshot!(output, @"x: ended by TERM (signal 15 (TERM))");
    assert!(fs::read(env.work().join("received")).unwrap_or_default().is_empty());
}

#[test]
fn keys_reach_an_agent_whose_pane_is_in_copy_mode() {
    let env = TestEnv::new();
    add_polite_agent(&env, LEAVES_ON_SECOND_CTRL_C);
    let session = env.spawn(&["--name", "x", "polite"]);
    env.wait_screen("x", "ready");
    env.tmux(&["copy-mode", "-t", &session.pane]);
    let killed = env.dogwatch(&["kill", "--json", "x"]).success().json();
    assert_eq!(killed["killed"][0]["by"], "own_exit");
}

#[test]
fn an_agent_that_does_not_care_for_its_own_exit_gets_term() {
    let env = TestEnv::new();
    let scenario = LEAVES_ON_SECOND_CTRL_C.replace("exit-on-second", "ignore");
    add_polite_agent(&env, &scenario);
    env.spawn(&["--name", "x", "polite"]);
    env.wait_screen("x", "ready");
    let killed = env.dogwatch(&["kill", "--json", "x"]).success();
    insta::assert_snapshot!(killed.json_shape(), @r#"
    {
      "killed": [
        {
          "name": "x",
          "id": "[id]",
          "by": "term",
          "exit": {
            "signal": 15
          }
        }
      ]
    }
    "#);
}

#[test]
fn one_that_ignores_term_leaves_at_hup() {
    let env = TestEnv::new();
    env.spawn_script("x", "trap '' TERM; echo ready; while :; do sleep 1; done");
    env.wait_screen("x", "ready");
    let output = env.dogwatch(&["kill", "x"]).success();
    insta::assert_snapshot!(output, @"x: ended by TERM (signal 1 (HUP))");
}

#[test]
fn one_that_ignores_everything_is_killed() {
    let env = TestEnv::new();
    let session = env.spawn_actor(
        "x",
        "[[step]]\nignore_signals = [\"HUP\", \"TERM\", \"INT\"]\n[[step]]\nprint = \"ready\\n\"\n\
         [[step]]\nstall = \"forever\"\n",
    );
    env.wait_screen("x", "ready");
    let output = env.dogwatch(&["kill", "x"]).success();
    insta::assert_snapshot!(output, @"x: ended by KILL (signal 9 (KILL))");
    process::wait_gone(session.pid);
}

#[test]
fn now_skips_the_polite_part() {
    let env = TestEnv::new();
    env.spawn_script(
        "x",
        "trap 'touch polite' TERM HUP INT; echo ready; while :; do sleep 1; done",
    );
    env.wait_screen("x", "ready");
    let output = env.dogwatch(&["kill", "--now", "x"]).success();
    insta::assert_snapshot!(output, @"x: ended by KILL (signal 9 (KILL))");
    assert!(!env.work().join("polite").exists());
}

#[test]
fn one_that_answers_term_decides_its_exit_code() {
    let env = TestEnv::new();
    env.spawn_script("x", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.1; done");
    env.wait_screen("x", "ready");
    let output = env.dogwatch(&["kill", "x"]).success();
    insta::assert_snapshot!(output, @"x: ended by TERM (exit code 7)");
    let seen = env.seen("x");
    assert_eq!((&seen["state"], &seen["cause"]), (&"stopped".into(), &"request".into()));
    let reason = seen["reason"].as_str().unwrap();
    assert!(reason.starts_with("by ") && reason.ends_with(" (exit code 7)"), "{reason}");
}

/// Who ended it, and how, is told by every command; nothing of it is a crash.
#[test]
fn it_is_told_who_stopped_a_session() {
    let env = TestEnv::new();
    env.spawn_script("x", "exec sleep 300");
    let mut kill = env.command(&["kill", "x", "--now"]);
    let _killed = env.run(kill.env("USER", "ann")).success();
    let seen = env.seen("x");
    assert_eq!((&seen["state"], &seen["cause"]), (&"stopped".into(), &"request".into()));
    assert_eq!(seen["reason"], "by ann (signal 9 (KILL))");
    assert_eq!(seen["by"], "ann");
    let why = env.dogwatch(&["why", "x", "--json"]).success().json();
    assert_eq!((&why["state"], &why["by"]), (&"stopped".into(), &"ann".into()), "{why:#}");
    let told = env.dogwatch(&["why", "x"]).success().text();
    assert!(told.starts_with("x is stopped: by ann (signal 9 (KILL)) (asserted)"), "{told}");
    let waited = env.dogwatch(&["wait", "x", "--for", "stopped", "--json"]).success().json();
    assert_eq!(waited["outcome"], "happened");
    let _impossible = env.dogwatch(&["wait", "x", "--for", "crashed"]).code(4);
}

#[test]
fn an_agent_tells_that_it_stopped_another() {
    let env = TestEnv::new();
    env.spawn_script("x", "exec sleep 300");
    let binary = dogwatch();
    env.spawn_script("lead", &format!("'{binary}' kill x; echo done; exec sleep 300"));
    env.wait_screen("lead", "done");
    assert_eq!(env.seen("x")["by"], "agent lead");
}

#[test]
fn one_that_is_stopped() {
    let env = TestEnv::new();
    let session = env.spawn_script("x", "exec sleep 300");
    env.keys(&session, &["C-z"]);
    env.wait_screen("x", "[dogwatch] stopped");
    let output = env.dogwatch(&["kill", "x"]).success();
    insta::assert_snapshot!(output, @"x: ended by TERM (signal 15 (TERM))");
}

#[test]
fn one_that_has_ended_before() {
    let env = TestEnv::new();
    env.spawn_script("x", "exit 3");
    env.wait_state("x", "crashed");
    let output = env.dogwatch(&["kill", "x"]).success();
    insta::assert_snapshot!(output, @"x: already ended (exit code 3)");
    let _ = env.dogwatch(&["exists", "x"]).code(1);
}

#[test]
fn named_by_id_start_of_id_or_pane() {
    let env = TestEnv::new();
    let by_id = env.spawn_script("a", "exec sleep 300");
    let by_start = env.spawn_script("b", "exec sleep 300");
    let by_pane = env.spawn_script("c", "exec sleep 300");
    let stays = env.spawn_script("d", "exec sleep 300");
    let start = &by_start.id[..by_start.id.len() - 4];
    let output = env.dogwatch(&["kill", &by_id.id, start, &by_pane.pane]).success();
    insta::assert_snapshot!(output, @r"
    a: ended by TERM (signal 15 (TERM))
    b: ended by TERM (signal 15 (TERM))
    c: ended by TERM (signal 15 (TERM))
    ");
    assert!(process::is_alive(stays.pid));
}

#[test]
fn an_unknown_name_changes_nothing() {
    let env = TestEnv::new();
    let known = env.spawn_script("known", "exec sleep 300");
    for unknown in ["nosuch", "kno", "know*", "known:0", "=known", "%99", "$0", "", "a b", "../x"] {
        let _ = env.dogwatch(&["kill", "known", unknown]).code(3);
        let _ = env.dogwatch(&["kill", "--now", unknown, "known"]).code(3);
    }
    insta::assert_snapshot!(env.dogwatch(&["kill", "known", "nosuch"]), @r#"
    ------- stderr -------
    error: no session "nosuch"
    hint: `dogwatch ls --all` lists all sessions
    [exit code: 3]
    "#);
    insta::assert_snapshot!(env.dogwatch(&["kill", "--json", "nosuch"]), @r#"
    {"error":{"code":"no_such_session","message":"no session \"nosuch\"","hint":"`dogwatch ls --all` lists all sessions"}}
    [exit code: 3]
    "#);
    assert!(process::is_alive(known.pid));
    assert_eq!(env.seen("known")["state"], "running");
}

#[test]
fn a_session_that_is_not_ours_is_left_alone() {
    let env = TestEnv::new();
    env.spawn_script("x", "exec sleep 300");
    env.tmux(&["new-session", "-d", "-s", "theirs", "cat"]);
    let _ = env.dogwatch(&["kill", "theirs"]).code(3);
    let pane = env.tmux(&["list-panes", "-t", "=theirs:", "-F", "#{pane_id}"]);
    let _ = env.dogwatch(&["kill", &pane]).code(3);
    let _ = env.dogwatch(&["kill-all", "--yes"]).success();
    assert_eq!(env.tmux(&["list-sessions", "-F", "#{session_name}"]), "theirs");
}

#[test]
fn a_closed_standard_error_does_not_hide_the_failure() {
    let env = TestEnv::new();
    let mut command = env.foreign("bash");
    let script = format!("'{}' kill nosuch 2> >(exec true); echo $?", dogwatch());
    let output = env.run(command.args(["-c", &script])).success();
    assert_eq!(output.text(), "3\n");
}
