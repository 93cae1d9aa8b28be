//! What `./torture` has found, each in the smallest way that shows it.

use std::fs;
use std::process::Stdio;

use crate::env::{TestEnv, eventually};

/// The tmux client that makes the session is killed after the server has made it: nobody knows what was done.
#[test]
fn a_spawn_whose_tmux_is_killed_leaves_nothing() {
    let env = TestEnv::new();
    env.spawn_script("stays", "exec sleep 300");
    let path = std::env::var("PATH").unwrap_or_default();
    let script = format!(
        "PATH='{path}'\ntmux \"$@\" >/dev/null\ncase \" $* \" in *' new-session '*) kill -9 $$;; esac"
    );
    let fake = env.write_program("tmux", &script);
    let mut command = env.command(&["spawn", "--name", "x", "--", "sleep", "300"]);
    command.env("PATH", format!("{}:{path}", fake.parent().unwrap().display()));
    let _ = env.run(&mut command).code(5);
    assert_eq!(env.tmux(&["list-sessions", "-F", "#{session_name}"]), "stays");
    let listed = env.dogwatch(&["ls", "--all", "--json"]).success().json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
    // The name is free again.
    env.spawn_script("x", "exec sleep 300");
}

/// Whoever holds the old log ends when it notices; until then every other command would read from two logs at once.
#[test]
fn commands_work_after_the_databases_log_was_deleted() {
    let env = TestEnv::new();
    let _session = env.spawn_script("x", "exec sleep 300");
    let commands: [&[&str]; 3] =
        [&["watch"], &["reconcile", "--interval", "1s"], &["events", "--follow"]];
    let mut children: Vec<_> = commands
        .iter()
        .map(|args| {
            let mut command = env.command(args);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let log = env.state_dir().join("dogwatch.db-wal");
    let users = || {
        let pids = children.iter().map(|child| child.id());
        let uses = |pid: &u32| {
            let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            files.filter_map(|file| fs::read_link(file.path()).ok()).any(|path| path == log)
        };
        pids.filter(uses).count()
    };
    eventually("all use it", || users() == commands.len());
    fs::remove_file(&log).unwrap();
    for child in &mut children {
        eventually("it ends", || child.try_wait().unwrap().is_some());
        assert_eq!(child.wait().unwrap().code(), Some(6));
    }
    let _ = env.dogwatch(&["ls", "--all"]).success();
    env.spawn_script("y", "exec sleep 300");
    let _ = env.dogwatch(&["doctor"]);
    assert_eq!(env.seen("y")["state"], "running");
    // Its record may have gone with the log; the agent was not touched.
    env.tmux(&["kill-server"]);
}
