//! What `./torture` has found, each in the smallest way that shows it.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::send::agent_named;
use dogwatch_testkit::{TestEnv, eventually};

/// The tmux client that makes the session is killed after the server has made it: nobody knows what was done.
#[test]
fn a_spawn_whose_tmux_is_killed_leaves_nothing() {
    let env = TestEnv::new();
    env.spawn_script("stays", "exec sleep 300");
    let path = std::env::var("PATH").unwrap_or_default();
    let script = format!(
        "PATH='{path}'\ncase \" $* \" in *' new-session '*) tmux \"$@\" >/dev/null; kill -9 $$;; esac\nexec tmux \"$@\""
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
    let watch = env.command(&["watch"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut reconcile = env.command(&["reconcile", "--interval", "1s"]);
    let reconcile = reconcile.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    // A message that waits for the agent: so does the process that its runner has started for it.
    env.add_profile("fake", "", "exec sleep 300");
    let _spawned = env.dogwatch(&["spawn", "fake", "--name", "f"]).success();
    let mut send = env.command(&["send", "f", "hello", "--timeout", "5m"]);
    let send = send.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut children = [watch.unwrap(), reconcile.unwrap(), send.unwrap()];
    // Their first words come after they have opened the database.
    children[0].stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    children[1].stderr.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let log = env.state_dir().join("dogwatch.db-wal");
    eventually("all use it", || {
        let uses = |pid: u32| {
            let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            files.filter_map(|file| fs::read_link(file.path()).ok()).any(|path| path == log)
        };
        children.iter().all(|child| uses(child.id()))
    });
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

/// The supervisor is killed after it has written down that it types a message, and before tmux has the text. The next one types it; the
/// command of the first, which is still on its way, types nothing any more.
#[test]
fn a_message_that_was_to_be_typed_is_typed_once() {
    let tools = tempfile::tempdir().unwrap();
    let (path, at) = (std::env::var("PATH").unwrap_or_default(), tools.path().display());
    let script = format!(
        "#!/bin/sh\nPATH='{path}'\ncase \" $* \" in *' load-buffer '*)\n\
         if mkdir '{at}/once' 2>/dev/null; then\ncat > '{at}/text'; kill -9 $PPID\n\
         until [ -e '{at}/go' ]; do sleep 0.02; done\n\
         tmux \"$@\" < '{at}/text' > '{at}/said' 2>&1; : > '{at}/late'; exit 0\nfi;; esac\n\
         exec tmux \"$@\"\n"
    );
    let program = tools.path().join("tmux");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let env = TestEnv::with_variable("PATH", format!("{at}:{path}").leak());
    agent_named(&env, "a");
    let args = ["send", "a", "the only one", "--timeout", "60s", "--json"];
    let sent = env.dogwatch(&args).success().json();
    assert_eq!(sent["outcome"], "delivered", "{sent:#}");
    assert!(tools.path().join("text").exists(), "the first try was cut off");
    fs::write(tools.path().join("go"), "").unwrap();
    eventually("the first command has reached tmux", || tools.path().join("late").exists());
    let said = fs::read_to_string(tools.path().join("said")).unwrap();
    assert!(said.contains("ended") && !said.contains("typed"), "{said}");
    let args = ["send", "a", "the next one", "--timeout", "60s", "--json"];
    assert_eq!(env.dogwatch(&args).success().json()["outcome"], "delivered");
    let received = fs::read(env.work().join("received")).unwrap();
    let received = String::from_utf8_lossy(&received);
    assert_eq!(received.matches("the only one").count(), 1, "{received:?}");
}
