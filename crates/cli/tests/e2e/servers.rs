//! Which tmux server is used, and what its owner's settings must not break.

use std::fs;

use dogwatch_testkit::TestEnv;

#[test]
fn a_name_means_a_socket_in_tmuxs_own_folder() {
    let env = TestEnv::new();
    let folder = env.root().join("t");
    fs::create_dir(&folder).unwrap();
    let user = rustix::process::getuid().as_raw();
    let socket = env.another_socket(&format!("t/tmux-{user}/mine"));
    let run = |args: &[&str]| {
        let mut command = env.command(args);
        env.run(command.env("TMUX_TMPDIR", &folder).env("DOGWATCH_TMUX", "mine"))
    };
    let _ = run(&["spawn", "--name", "x", "--", "sleep", "300"]).success();
    assert_eq!(env.tmux_on(&socket, &["list-sessions", "-F", "#{session_name}"]), "x");
    // The same server by its path.
    let mut command = env.command(&["ls", "--json"]);
    let listed = env.run(command.env("DOGWATCH_TMUX", &socket)).json();
    assert_eq!(listed["sessions"][0]["state"], "running");
    // And not on the other one.
    assert_eq!(env.dogwatch(&["ls", "--json"]).json()["sessions"], serde_json::json!([]));
    let _ = run(&["kill", "x"]).success();
}

#[test]
fn the_flag_goes_before_the_environment() {
    let env = TestEnv::new();
    let other = env.another_socket("other");
    let args = ["spawn", "--socket", other.to_str().unwrap(), "--name", "x", "--", "sleep", "300"];
    let _ = env.dogwatch(&args).success();
    assert_eq!(env.tmux_on(&other, &["list-sessions", "-F", "#{session_name}"]), "x");
    assert!(!env.socket().exists());
}

#[test]
fn inside_tmux_it_is_the_server_around() {
    let env = TestEnv::new();
    let around = env.another_socket("around");
    let line = format!(
        "unset DOGWATCH_TMUX; {} spawn --name inner -- sleep 300; exec cat",
        dogwatch_testkit::dogwatch()
    );
    env.tmux_on(&around, &["new-session", "-d", "-s", "outer", &line]);
    let names = || env.tmux_on(&around, &["list-sessions", "-F", "#{session_name}"]);
    dogwatch_testkit::eventually("it is on the same server", || names() == "inner\nouter");
    dogwatch_testkit::eventually("it runs", || {
        let mut command = env.command(&["ls", "--json"]);
        let listed = env.run(command.env("DOGWATCH_TMUX", &around)).json();
        listed["sessions"][0]["state"] == "running"
    });
}

#[test]
fn two_state_folders_on_one_server() {
    let env = TestEnv::new();
    let args = ["spawn", "--step", "dev", "--story", "1", "--", "sleep", "300"];
    let other = env.root().join("other-state");
    // Both think the name free; tmux knows better.
    let names: Vec<String> = (0..6)
        .map(|n| {
            let mut command = env.command(&args);
            if n % 2 == 1 {
                command.env("DOGWATCH_STATE_DIR", &other);
            }
            env.run(&mut command).success().text().trim().to_owned()
        })
        .collect();
    let mut different = names.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), 6, "{names:?}");
    let count = |listed: serde_json::Value| listed["sessions"].as_array().unwrap().len();
    assert_eq!(count(env.dogwatch(&["ls", "--json"]).json()), 3);
    // Ending all of one's own leaves the other's alone.
    let _ = env.dogwatch(&["kill-all", "--yes"]).success();
    assert_eq!(env.tmux(&["list-sessions"]).lines().count(), 3);
}

/// Settings that people have, and that change what a new session is.
const SETTINGS: &str = "
set -g base-index 1
set -g pane-base-index 1
set -g renumber-windows on
set -g default-command 'echo from the default command; exec sh'
set -g default-shell /bin/false
set -g default-size 77x22
set -g history-limit 10
set -g remain-on-exit off
set -g status-left '#{pid} #[fg=red]'
set -g prefix C-a
set -g mouse on
set -g set-titles on
set -g allow-rename on
set -g automatic-rename on
set -g monitor-activity on
set -g visual-activity on
set -g default-terminal tmux-256color
set -g escape-time 500
set -g focus-events on
set-hook -g after-new-session 'rename-window hooked'
set-hook -g after-new-window 'rename-window hooked'
set-environment -g BASH_ENV /from/the/server
set-environment -g CLAUDECODE 1
bind-key -n C-c display-message nothing
";

#[test]
fn settings_of_the_user_break_nothing() {
    let env = TestEnv::new();
    fs::write(env.home().join(".tmux.conf"), SETTINGS).unwrap();
    let session = env.spawn_script(
        "x",
        "stty size; echo \"<$BASH_ENV$CLAUDECODE>\"; seq 5500; while [ ! -e go ]; do sleep 0.05; done; exit 3",
    );
    env.wait_screen("x", "5500");
    let format = "#{pane_width}x#{pane_height} #{session_windows}";
    assert_eq!(env.tmux(&["display-message", "-p", "-t", &session.pane, format]), "200x50 1");
    env.write("go", "");
    assert_eq!(env.wait_state("x", "crashed")["exit"]["code"], 3);
    let _ = env.dogwatch(&["exists", "x"]).success();
    let _ = env.dogwatch(&["kill", "x"]).success();
    let text = env.dogwatch(&["capture", "x", "--lines", "5000"]).success().text();
    assert_eq!((text.lines().next(), text.lines().last()), (Some("501"), Some("5500")));
    // The environment and size of the first lines are asked for apart: they have scrolled away.
    env.spawn_script("y", "stty size; echo \"<$BASH_ENV$CLAUDECODE>\"; exec sleep 300");
    env.wait_screen("y", "50 200\n<>");
    let output = env.dogwatch(&["kill", "y"]).success();
    insta::assert_snapshot!(output, @"y: ended by TERM (signal 15 (TERM))");
}

#[test]
fn settings_with_an_error_in_them() {
    let env = TestEnv::new();
    fs::write(env.home().join(".tmux.conf"), "set -g no-such-option on\nfrobnicate\n").unwrap();
    env.spawn_script("x", "exec sleep 300");
    assert_eq!(env.seen("x")["state"], "running");
    let _ = env.dogwatch(&["kill", "x"]).success();
}
