use dogwatch_testkit::TestEnv;

#[test]
fn exactly_and_by_exit_code() {
    let env = TestEnv::new();
    let _ = env.dogwatch(&["exists", "web"]).code(1);
    env.spawn_script("web-12345", "exec sleep 300");
    for no in
        ["web", "web-1", "web-123456", "=web-12345", "web-12345:", "web*", "%0", "$0", "", "-", "é"]
    {
        let output = env.dogwatch(&["exists", "--", no]).code(1);
        assert!(output.stdout.is_empty(), "{no}: {output}");
    }
    let output = env.dogwatch(&["exists", "web-12345"]).success();
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
    insta::assert_snapshot!(env.dogwatch(&["exists", "--json", "web"]), @r#"
    {"name":"web","exists":false}
    [exit code: 1]
    "#);
    insta::assert_snapshot!(env.dogwatch(&["exists", "--json", "web.12345"]), @r#"{"name":"web.12345","exists":true}"#);
}

#[test]
fn also_for_what_is_not_ours_and_what_has_ended() {
    let env = TestEnv::new();
    env.spawn_script("ended", "exit 1");
    env.wait_state("ended", "crashed");
    let _ = env.dogwatch(&["exists", "ended"]).success();
    env.tmux(&["new-session", "-d", "-s", "theirs", "cat"]);
    let _ = env.dogwatch(&["exists", "theirs"]).success();
    let _ = env.dogwatch(&["kill", "ended"]).success();
    let _ = env.dogwatch(&["exists", "ended"]).code(1);
}

#[test]
fn a_session_of_somebody_elses_is_told_apart_from_none() {
    let env = TestEnv::new();
    env.spawn_script("ours", "exec sleep 300");
    env.tmux(&["new-session", "-d", "-s", "theirs", "cat"]);
    insta::assert_snapshot!(env.dogwatch(&["capture", "theirs"]), @r#"
    ------- stderr -------
    error: tmux has a session "theirs", but dogwatch did not start it
    hint: dogwatch changes only sessions that it started; use tmux for this one
    [exit code: 3]
    "#);
    let _ = env.dogwatch(&["kill", "theirs"]).code(3);
    let _ = env.dogwatch(&["kill", "nobodys"]).code(3);
    let _ = env.dogwatch(&["exists", "theirs"]).success();
}
