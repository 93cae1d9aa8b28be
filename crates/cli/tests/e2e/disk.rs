//! A full disk: what cannot be done is said, and an agent's end is recorded all the same.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use dogwatch_testkit::{TestEnv, eventually, is_root, skip};

/// A small disk of its own for the state. Unmounted on drop, after the test's processes are gone.
struct SmallDisk {
    env: TestEnv,
}

impl SmallDisk {
    /// `None`, with a word, where no disk can be made.
    fn mount(size: &str) -> Option<Self> {
        let env = TestEnv::new();
        fs::create_dir(env.state_dir()).unwrap();
        let options = format!("size={size},mode=0700");
        let mounted = is_root()
            && Command::new("mount")
                .args(["-t", "tmpfs", "-o", &options, "none"])
                .arg(env.state_dir())
                .output()
                .is_ok_and(|output| output.status.success());
        if !mounted {
            skip::skipped(None, "only root can mount a small disk, where mounting is allowed");
            return None;
        }
        fs::set_permissions(env.state_dir(), fs::Permissions::from_mode(0o700)).unwrap();
        Some(Self { env })
    }

    fn fill(&self) {
        let mut file = fs::File::create(self.env.state_dir().join("ballast")).unwrap();
        for size in [65536, 4096, 512, 1] {
            let block = vec![b'x'; size];
            while file.write_all(&block).is_ok() {}
        }
    }

    fn make_room(&self) {
        fs::remove_file(self.env.state_dir().join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // What still runs keeps the disk busy: it is taken away lazily, before the folder is removed.
        let _ = self.env.tmux_command(&self.env.socket(), &["kill-server"]).output();
        unmount(self.env.state_dir());
    }
}

fn unmount(path: &Path) {
    let _ = Command::new("umount").arg("-l").arg(path).output();
}

#[test]
fn nothing_can_be_started_on_a_full_disk() {
    let Some(disk) = SmallDisk::mount("1m") else { return };
    let env = &disk.env;
    let _ = env.dogwatch(&["ls"]).success();
    disk.fill();
    let output = env.dogwatch(&["spawn", "--name", "x", "--", "sleep", "300"]).code(6);
    assert!(output.stderr.contains("no space left on the disk"), "{output}");
    assert!(output.stderr.contains("free some space"), "{output}");
    let doctor = env.dogwatch(&["doctor", "--json"]).code(1);
    assert!(doctor.text().contains("no space left"), "{doctor}");
    disk.make_room();
    let listed = env.dogwatch(&["ls", "--all", "--json"]).success().json();
    assert_eq!(listed["sessions"], serde_json::json!([]));
    let left = fs::read_dir(env.state_dir().join("sessions")).into_iter().flatten().count();
    assert_eq!(left, 0, "a folder was left behind");
    env.spawn_script("x", "exec sleep 300");
}

#[test]
fn a_disk_that_is_full_from_the_start() {
    let Some(disk) = SmallDisk::mount("512k") else { return };
    disk.fill();
    for args in [&["ls"][..], &["spawn", "--", "true"]] {
        let output = disk.env.dogwatch(args).code(6);
        assert!(output.stderr.contains("no space left on the disk"), "{output}");
    }
    let _ = disk
        .env
        .run(disk.env.command(&["hook", "claude", "{}"]).env("DOGWATCH_SESSION", "x"))
        .success();
    disk.make_room();
    let _ = disk.env.dogwatch(&["ls"]).success();
}

#[test]
fn a_prompt_that_does_not_fit() {
    let Some(disk) = SmallDisk::mount("1m") else { return };
    let env = &disk.env;
    let prompt = env.write("prompt", "x".repeat(2_000_000));
    let args = ["spawn", "--prompt-file", prompt.to_str().unwrap(), "--", "true"];
    let output = env.dogwatch(&args).code(6);
    assert!(output.stderr.contains("no space left on the disk"), "{output}");
    env.spawn_script("x", "exec sleep 300");
}

#[test]
fn an_end_is_recorded_though_the_disk_has_filled_up() {
    let Some(disk) = SmallDisk::mount("1m") else { return };
    let env = &disk.env;
    let session = env.spawn_script("x", "while [ ! -e go ]; do sleep 0.05; done; exit 3");
    let killed = env.spawn_script("y", "exec sleep 300");
    disk.fill();
    env.write("go", "");
    let ended = env.session_dir(&session).join("ended");
    eventually("the end is recorded", || {
        fs::read_to_string(&ended).is_ok_and(|text| text.contains(r#""code":3"#))
    });
    // Nothing can be looked up without room for the database's own files; that is said as such.
    let output = env.dogwatch(&["ls"]);
    assert!(output.code == Some(0) || output.stderr.contains("no space left"), "{output}");
    dogwatch_testkit::process::signal(killed.pid, rustix::process::Signal::KILL);
    dogwatch_testkit::process::wait_gone(killed.pid);
    disk.make_room();
    assert_eq!(env.wait_state("x", "crashed")["exit"]["code"], 3);
    assert_eq!(env.wait_state("y", "crashed")["exit"]["signal"], 9);
}

#[test]
fn a_crash_on_a_full_disk_sends_a_notification() {
    let Some(disk) = SmallDisk::mount("4m") else { return };
    let env = &disk.env;
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    let script = env.write("told.sh", "cat >> \"$1\"\n");
    let told = env.root().join("told");
    let command = format!("command = ['sh', '{}', '{}']", script.display(), told.display());
    let rule = format!("[[notify]]\nkind = 'command'\n{command}\non = ['crashed']\n");
    fs::write(folder.join("config.toml"), rule).unwrap();
    env.spawn_script("x", "read line; exit 3");
    // Each of them sees the end.
    let watchers = [&["watch"][..], &["monitor"], &["watch", "--json"]];
    let mut watchers = watchers.map(|args| {
        let mut watcher = env.command(args);
        watcher.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    });
    disk.fill();
    env.tmux(&["send-keys", "-t", "=x:", "Enter"]);
    eventually("a notification arrives", || {
        fs::read_to_string(&told).is_ok_and(|told| told.contains("x: crashed, exit code 3"))
    });
    disk.make_room();
    let log = env.dogwatch(&["notify", "log", "--json"]).success().json();
    let sent = log["deliveries"].as_array().unwrap();
    // If there was room to write it down, but none to record that it was sent, it is sent again after its lease.
    assert!(sent.iter().all(|one| one["state"] != "failed"), "{log:#}");
    let told = fs::read_to_string(&told).unwrap();
    assert_eq!(told.matches("x: crashed, exit code 3\",\"text").count(), 1, "{told}");
    for watcher in &mut watchers {
        watcher.kill().unwrap();
        watcher.wait().unwrap();
    }
}

/// A session can be ended, but not with exit code 0: nothing keeps that it was ended on purpose.
#[test]
fn a_kill_on_a_disk_that_is_read_only() {
    let Some(disk) = SmallDisk::mount("20M") else { return };
    let env = &disk.env;
    let session = env.spawn_script("x", "exec sleep 300");
    let started = fs::read_to_string(env.session_dir(&session).join("started")).unwrap();
    let started: serde_json::Value = serde_json::from_str(&started).unwrap();
    let runner = format!("/proc/{}/fd", started["runner"]["pid"]);
    eventually("supervisor and runner have their files open, on the disk below", || {
        let open = fs::read_dir(&runner).unwrap().flatten();
        let waits = |file: &Path| file.to_string_lossy().contains("/supervisors/");
        let waits = open.filter_map(|one| fs::read_link(one.path()).ok()).any(|file| waits(&file));
        let judged = env.dogwatch(&["events", "--kind", "state", "--json"]).success().text();
        waits && !judged.is_empty()
    });
    // Over itself: the disk below stays as it is for those who have files open.
    let state = env.state_dir().display().to_string();
    for options in [&["--bind", &state, &state][..], &["-o", "remount,bind,ro", &state][..]] {
        // The kernel refuses while the supervisor has a file open there for writing, as it has now and then.
        eventually("it is mounted", || {
            Command::new("mount").args(options).output().unwrap().status.success()
        });
    }
    let killed = env.dogwatch(&["kill", "x"]);
    unmount(env.state_dir());
    let killed = killed.code(6);
    assert!(killed.stderr.contains("could not be recorded"), "{killed}");
    assert!(!killed.text().contains("exited cleanly"), "{killed}");
    assert!(!dogwatch_testkit::process::is_alive(session.pid));
}
