//! A machine out of processes and threads: an error with a reason, never an abort.

use std::os::unix::fs::chown;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use dogwatch_testkit::{TestEnv, dogwatch, is_root, skip};

/// A user that has no processes, so that the limit counts ours alone.
const NOBODY_ELSE: u32 = 61_721;

/// Runs a command as that user, who may have so many processes and threads.
fn limited(env: &TestEnv, most: u32, args: &[&str]) -> Command {
    let user = NOBODY_ELSE.to_string();
    let limit = format!("--nproc={most}");
    let mut command = env.foreign("prlimit");
    command.args([&limit, "setpriv", "--reuid", &user, "--regid", &user, "--clear-groups"]);
    command.arg(env.root().join("dogwatch")).args(args);
    command
}

#[test]
fn out_of_processes_is_an_error_and_no_abort() {
    let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !is_root() || !has("prlimit") || !has("setpriv") {
        skip::skipped(None, "only root can run a command as another user");
        return;
    }
    let env = TestEnv::new();
    std::fs::create_dir(env.state_dir()).unwrap();
    std::fs::set_permissions(env.state_dir(), std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .unwrap();
    for path in [env.root(), env.home().into(), env.work().into(), env.state_dir().into()] {
        chown(path, Some(NOBODY_ELSE), Some(NOBODY_ELSE)).unwrap();
    }
    std::fs::copy(dogwatch(), env.root().join("dogwatch")).unwrap();
    let broker = "[mqtt]\nurl = 'mqtt://localhost:1'\n[[notify]]\nkind = 'command'\ncommand = ['true']\n\
                  on = ['escalation_raised', 'job_done', 'job_failed']\n";
    let config = env.home().join(".config/dogwatch");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), broker).unwrap();
    let commands: [&[&str]; 9] = [
        &["ls"],
        &["status"],
        &["doctor"],
        &["agents"],
        &["spawn", "--", "true"],
        &["fleet"],
        &["relay"],
        &["watch"],
        &["broker", "--listen", "127.0.0.1:0"],
    ];
    for args in commands {
        // One is the command itself: it has no thread and no child.
        let mut command = limited(&env, 1, args);
        let mut child = command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // Those that go on do so without threads; they are ended.
        let begun = std::time::Instant::now();
        while child.try_wait().unwrap().is_none() {
            if begun.elapsed() > std::time::Duration::from_secs(4) {
                child.kill().unwrap();
            }
            // sleep: the interval of a poll.
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.signal().is_none_or(|signal| signal == 9), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
        if args[0] == "spawn" {
            assert!(said.contains("ulimit -u"), "{said}");
            assert!(!output.status.success());
        }
    }
    // Somewhere between: tmux runs, and the runner has no threads.
    for most in 2..9 {
        let output = limited(&env, most, &["spawn", "--", "true"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some(), "{most}: {said}");
        assert!(!said.contains("panicked"), "{most}: {said}");
        assert!(output.status.success() || said.contains("error: "), "{most}: {said}");
        let _ = env.tmux_command(&env.socket(), &["kill-server"]).output();
    }
}
