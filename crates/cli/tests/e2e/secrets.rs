//! What agents and other users must not find: dogwatch's own passwords, and environments that nobody took.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use dogwatch_testkit::{TestEnv, eventually, process, skip};

const SECRET: &str = "hunter2-of-the-broker";
const VARIABLES: [&str; 2] = ["DOGWATCH_MQTT_PASSWORD", "DOGWATCH_HOOK_TOKEN"];

/// All that an agent can read about its surroundings, in a file.
const LOOK: &str = "{ env; tmux show-environment -g; tmux show-environment; cat /proc/$PPID/environ; \
                    cat /proc/$(tmux display-message -p '#{pid}')/environ; } > seen 2>&1; exec sleep 300";

fn seen(env: &TestEnv) -> String {
    let path = env.work().join("seen");
    // The server's is last.
    eventually("the agent has looked", || {
        fs::read(&path)
            .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).matches("PATH=").count() >= 3)
    });
    String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
}

#[test]
fn agents_do_not_get_the_passwords_of_dogwatch() {
    let env = TestEnv::new();
    let mut spawn = env.command(&["spawn", "--name", "one", "--", "sh", "-c", LOOK]);
    for name in VARIABLES {
        spawn.env(name, SECRET);
    }
    let _ = env.run(&mut spawn).success();
    let seen = seen(&env);
    assert!(seen.contains("DOGWATCH_SESSION=") && !seen.contains(SECRET), "{seen}");
    let _ = env.dogwatch(&["kill-all", "--now", "--yes"]);
}

#[test]
fn nor_from_a_server_that_a_person_started_with_it() {
    let env = TestEnv::new();
    let mut start = env.tmux_command(&env.socket(), &["new-session", "-d", "-s", "mine", "cat"]);
    assert!(start.env(VARIABLES[0], SECRET).status().unwrap().success());
    let look = "{ env; tmux show-environment -g; cat /proc/$PPID/environ; env; } > seen 2>&1; exec sleep 300";
    let _ = env.dogwatch(&["spawn", "--name", "one", "--", "sh", "-c", look]).success();
    let seen = seen(&env);
    assert!(!seen.contains(SECRET), "{seen}");
    let _ = env.dogwatch(&["kill-all", "--now", "--yes"]);
}

/// Of another user's processes root can read everything, so this needs a user of its own.
#[test]
#[cfg(target_os = "linux")]
fn nor_from_a_process_of_dogwatch() {
    if !dogwatch_testkit::is_root() {
        skip::skipped(None, "only root can run a command as another user");
        return;
    }
    let env = TestEnv::new();
    let user = ["--reuid", "61722", "--regid", "61722", "--clear-groups"];
    let copy = env.root().join("dogwatch");
    fs::copy(dogwatch_testkit::dogwatch(), &copy).unwrap();
    for path in [env.root(), env.home().into(), env.work().into()] {
        std::os::unix::fs::chown(path, Some(61_722), Some(61_722)).unwrap();
    }
    let mut watch = env.foreign("setpriv");
    watch.args(user).arg(copy).arg("watch").env(VARIABLES[0], SECRET).stderr(Stdio::piped());
    let mut watch = watch.stdout(Stdio::null()).spawn().unwrap();
    let mut said = std::io::BufReader::new(watch.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert!(line.contains("watching"), "{line}");
    let mut look = env.foreign("setpriv");
    let look = look.args(user).arg("cat").arg(format!("/proc/{}/environ", watch.id()));
    let seen = env.run(look);
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(!seen.text().contains(SECRET) && seen.stderr.contains("denied"), "{seen}");
}

#[test]
fn an_environment_that_nobody_took_is_collected_by_the_next_command() {
    let commands: [&[&str]; 3] = [&["ls"], &["status"], &["gc"]];
    for command in commands {
        let env = TestEnv::new();
        // tmux hangs, and both die.
        let tmux = env.write_program("tmux", "echo $$ > \"$HOME/pid\"; exec sleep 300");
        let path =
            format!("{}:{}", tmux.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let mut spawn = env.command(&["spawn", "--name", "one", "--", "true"]);
        spawn.env("PATH", path).env("SOME_API_KEY", SECRET);
        let mut spawn = spawn.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let pid = env.home().join("pid");
        eventually("tmux was asked", || {
            fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n'))
        });
        assert!(holds(env.state_dir(), SECRET), "it waits for the runner");
        let _ = env.dogwatch(&["ls"]).success();
        assert!(holds(env.state_dir(), SECRET), "as long as its maker lives");
        spawn.kill().unwrap();
        spawn.wait().unwrap();
        let tmux: i32 = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
        process::signal(tmux, rustix::process::Signal::KILL);
        let _ = env.dogwatch(command).success();
        assert!(!holds(env.state_dir(), SECRET), "{command:?} left it");
    }
}

#[test]
fn gc_removes_environments_that_an_older_version_left() {
    let env = TestEnv::new();
    let one = env.spawn_script("one", "exec sleep 300");
    let old = env.session_dir(&one).join("environment");
    fs::write(&old, SECRET).unwrap();
    let _ = env.dogwatch(&["gc", "--dry-run"]).success();
    assert!(old.exists());
    let _ = env.dogwatch(&["gc"]).success();
    assert!(!old.exists());
    let _ = env.dogwatch(&["kill", "one", "--now"]).success();
}

#[test]
fn commands_that_notify_get_neither_passwords_nor_secrets() {
    let env = TestEnv::new();
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    let told = env.work().join("told");
    let script = format!("env > '{0}.env'; cat > '{0}'", told.display());
    let config = format!("[[notify]]\nkind = 'command'\ncommand = ['sh', '-c', \"{script}\"]\n");
    fs::write(folder.join("config.toml"), config).unwrap();
    let problem =
        "PGPASSWORD=S3cr3tA failed: mysql -u me -pS3cr3tB \u{202e}x; Authorization: Basic S3cr3tC";
    let args = ["escalations", "raise", "budget", problem, "--run", "a"];
    let mut raise = env.command(&args);
    raise.env(VARIABLES[0], SECRET).env("OTHER_API_KEY", "S3cr3t-of-mine");
    let _ = env.run(&mut raise).success();
    let (told, variables) = (
        fs::read_to_string(&told).unwrap(),
        fs::read_to_string(told.with_extension("env")).unwrap(),
    );
    assert!(told.contains("PGPASSWORD=xxx") && !told.contains("S3cr3t"), "{told}");
    assert!(variables.contains("OTHER_API_KEY") && !variables.contains(SECRET), "{variables}");
}

/// Whether any file below a folder has a text in it.
fn holds(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return holds(&path, text);
        }
        fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
    })
}
