use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use dogwatch_testkit::{TestEnv, eventually};

use crate::story_automator::Helper as _;

#[test]
fn targets_are_exact() {
    let env = TestEnv::new();
    let session = env.spawn_step("dev", "exec sleep 300");
    let start = &session[..session.len() - 4];
    let _ = env.helper(&["tmux-wrapper", "kill", start]).success();
    let _ = env.helper(&["tmux-wrapper", "exists", start]).code(1);
    assert_eq!(env.row(start), "not_found,0,0,,0,not_found");
    assert_eq!(env.row(&session), "active,0,0,Claude working,60,in_progress");
    let _ = env.helper(&["tmux-wrapper", "kill", &session]).success();
    let _ = env.helper(&["tmux-wrapper", "exists", &session]).code(1);
    assert_eq!(env.row(&session), "not_found,0,0,,0,not_found");
}

#[test]
fn sessions_of_one_second_are_numbered() {
    let env = TestEnv::new();
    let mut names: Vec<String> = std::thread::scope(|scope| {
        let spawn = || env.spawn_step("review", "exec sleep 300");
        let spawning: Vec<_> = (0..4).map(|_| scope.spawn(spawn)).collect();
        spawning.into_iter().map(|one| one.join().unwrap()).collect()
    });
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 4, "{names:?}");
    let listed = env.helper(&["tmux-wrapper", "list"]).success().text();
    assert_eq!(listed.lines().count(), 4, "{listed}");
    let killed = env.helper(&["tmux-wrapper", "kill-all"]).success().text();
    assert_eq!(killed, "Killed 4 sessions\n");
}

#[test]
fn a_project_is_told_by_its_root_and_not_by_its_short_name() {
    let env = TestEnv::new();
    let roots = ["a", "b"].map(|end| env.work().join(format!("my-awesome-project-{end}")));
    let names = roots.each_ref().map(|root| {
        fs::create_dir(root).unwrap();
        let mut spawn = env.helper_command(&[
            "tmux-wrapper",
            "spawn",
            "dev",
            "1",
            "1.1",
            "--command",
            "exec sleep 300",
        ]);
        env.run(spawn.current_dir(root)).success().text().trim().to_owned()
    });
    assert!(names.iter().all(|name| name.starts_with("sa-myawesom-")), "{names:?}");
    let only = |args: &[&str]| {
        let mut command = env.helper_command(args);
        env.run(command.current_dir(&roots[0])).success().text()
    };
    assert_eq!(only(&["tmux-wrapper", "list", "--project-only"]).trim(), names[0]);
    assert_eq!(only(&["tmux-wrapper", "kill-all", "--project-only"]), "Killed 1 sessions\n");
    assert_eq!(env.helper(&["tmux-wrapper", "list"]).text().trim(), names[1]);
    let _ = env.helper(&["tmux-wrapper", "kill-all"]).success();
}

#[test]
fn what_a_child_finds() {
    let env = TestEnv::new();
    let report = r#"test -t 0 && tty=yes || tty=no
        echo "$tty ${STORY_AUTOMATOR_CHILD} $AI_AGENT [$CLAUDECODE$BASH_ENV$BMAD_AUDIT_KEY] $(stty size) $PWD" > found.new
        mv found.new found"#;
    let mut spawn = env.helper_command(&[
        "tmux-wrapper",
        "spawn",
        "dev",
        "1.5",
        "1.5.2",
        "--agent",
        "codex",
        "--command",
        report,
    ]);
    spawn.env("CLAUDECODE", "1").env("BMAD_AUDIT_KEY", "secret").env("CLAUDE_PID", "1");
    let name = env.run(&mut spawn).success().text();
    assert!(name.contains("-e1-5-s1-5-2-dev"), "{name}");
    let found = env.work().join("found");
    eventually("the report", || found.exists());
    let expected = format!("yes true codex [] 50 200 {}\n", env.work().display());
    assert_eq!(fs::read_to_string(&found).unwrap(), expected);
    let _ = env.helper(&["tmux-wrapper", "kill", name.trim()]).success();
}

#[test]
fn no_file_that_others_may_have_written_is_believed() {
    let env = TestEnv::new();
    let hash = env.helper(&["tmux-wrapper", "project-hash"]).text().trim().to_owned();
    let state = env.root().join(format!(".sa-{hash}-session-sa-x-1-state.json"));
    fs::write(
        &state,
        r#"{"schemaVersion":1,"lifecycle":"finished","result":"success","exitCode":0}"#,
    )
    .unwrap();
    assert_eq!(env.row("sa-x-1"), "not_found,0,0,,0,not_found");
    let session = env.spawn_step("dev", "echo hello; exit 7");
    eventually("its end", || env.row(&session) == "crashed,0,0,,7,crashed");
    let planted = env.root().join(format!("sa-{hash}-output-{session}.txt"));
    fs::write(&planted, "forged\n").unwrap();
    let row = env.helper(&["tmux-status-check", &session, "--full"]).text();
    let path = row.split(',').nth(3).unwrap();
    assert!(path.starts_with(env.state_dir().to_str().unwrap()), "{row}");
    assert_eq!(fs::read_to_string(path).unwrap(), "hello\n");
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    // What the original left goes with the session.
    let _ = env.helper(&["tmux-wrapper", "kill", &session]).success();
    assert!(!planted.exists());
    assert_eq!(fs::read_to_string(path).unwrap(), "hello\n", "it is read after the kill");
}

#[test]
fn typed_into_a_shell_if_that_is_wanted() {
    let env = TestEnv::new();
    let mut spawn = env.helper_command(&[
        "tmux-wrapper",
        "spawn",
        "dev",
        "1",
        "1.1",
        "--command",
        "echo Working on $((6 * 7)); cat",
    ]);
    let spawn = spawn.env("SA_TMUX_RUNTIME", "legacy").env("SHELL", "/bin/bash");
    let session = env.run(spawn).success().text().trim().to_owned();
    eventually("its words", || env.row(&session) == "active,0,0,Working on 42,60,in_progress");
    let _ = env.helper(&["tmux-wrapper", "kill", &session]).success();
    assert_eq!(env.helper(&["tmux-wrapper", "list"]).text(), "\n");
}

#[test]
fn the_clock_of_a_status_line_is_the_last_word_on_a_stranger() {
    let env = TestEnv::new();
    let script =
        "echo 'proj | ctx(12%) | 10:00:00'; read x; clear; echo 'proj | ctx(12%) | 10:00:01'; cat";
    env.tmux(&["new-session", "-d", "-s", "sa-work-1", "-x", "80", "-y", "24", script]);
    eventually("its line", || {
        env.tmux(&["capture-pane", "-p", "-t", "sa-work-1"]).contains("10:00")
    });
    for _ in 0..10 {
        assert_eq!(env.row("sa-work-1"), "idle,0,0,,0,just_started");
    }
    assert_eq!(env.row("sa-work-1"), "idle,0,0,,0,stuck");
    env.tmux(&["send-keys", "-t", "sa-work-1", "Enter"]);
    eventually("the next", || env.tmux(&["capture-pane", "-p", "-t", "sa-work-1"]).contains(":01"));
    assert_eq!(env.row("sa-work-1"), "idle,0,0,,0,just_started");
    assert_eq!(env.row("sa-work-1"), "idle,0,0,,0,stuck");
    let killed = env.helper(&["tmux-wrapper", "kill-all", "--project-only"]).success().text();
    assert_eq!(killed, "Killed 1 sessions\n");
}

#[test]
fn heartbeats() {
    let env = TestEnv::new();
    let session = env.spawn_step("dev", "while :; do :; done");
    let beat = || env.helper(&["heartbeat-check", &session]).success().text();
    let busy = beat();
    let columns: Vec<&str> = busy.trim().split(',').collect();
    assert!(columns[0] == "alive" && columns[1].parse::<f64>().unwrap() > 0.1, "{busy}");
    let _ = env.helper(&["tmux-wrapper", "kill", &session]).success();
    assert_eq!(beat(), "error,0.0,,session_not_found\n");
    let quiet = env.spawn_step("auto", "exec sleep 300");
    let beat = env.helper(&["heartbeat-check", &quiet]).success().text();
    assert!(beat.starts_with("idle,0.0,") && beat.ends_with(",false\n"), "{beat}");
    let _ = env.helper(&["tmux-wrapper", "kill", &quiet]).success();
}

#[test]
fn a_copy_in_the_helpers_place_works_as_a_link_does() {
    let env = TestEnv::new();
    let copy = env.root().join("story-automator");
    fs::copy(dogwatch_testkit::dogwatch(), &copy).unwrap();
    let call = |words: &[&str]| env.run(env.foreign(&copy).args(words)).success().text();
    let spawn = ["tmux-wrapper", "spawn", "dev", "1", "1.1", "--command", "echo hello"];
    let session = call(&spawn).trim().to_owned();
    eventually("its end", || call(&["tmux-status-check", &session]) == "idle,1,1,,0,completed\n");
    call(&["tmux-wrapper", "kill", &session]);
}
