//! Sessions of Claude Code in its background service: a state file and a process, no pane.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Child, Command, Stdio};

use dogwatch_testkit::{TestEnv, eventually};

/// A process that is ended with the test.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Self {
        Self(Command::new("sleep").arg("300").stdin(Stdio::null()).spawn().unwrap())
    }

    /// The 22nd field of its `stat`: the name in parentheses may have blanks.
    fn began(&self) -> String {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let after = stat.rsplit_once(')').unwrap().1;
        after.split_whitespace().nth(19).unwrap().to_owned()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn write_state(env: &TestEnv, pid: u32, start: &str, kind: &str, status: &str) {
    let folder = env.home().join(".claude/sessions");
    fs::create_dir_all(&folder).unwrap();
    let text = format!(
        r#"{{"pid":{pid},"sessionId":"6865-{pid}","procStart":"{start}","kind":"{kind}","jobId":"job{pid}","name":"mine",{status},"statusUpdatedAt":1794829671963}}"#
    );
    fs::write(folder.join(format!("{pid}.json")), text).unwrap();
}

#[test]
fn they_are_listed_as_what_they_are() {
    let env = TestEnv::new();
    let (one, other) = (Sleeper::start(), Sleeper::start());
    let waiting = r#""status":"waiting","waitingFor":"permission prompt""#;
    write_state(&env, one.0.id(), &one.began(), "bg", waiting);
    // Not of a background session, of a process that is another one, and of none.
    write_state(&env, other.0.id(), &other.began(), "interactive", r#""status":"busy""#);
    let folder = env.home().join(".claude/sessions");
    let stale = fs::read_to_string(folder.join(format!("{}.json", one.0.id()))).unwrap();
    fs::write(folder.join("2.json"), stale.replace(&one.began(), "1")).unwrap();
    fs::write(folder.join("3.json"), "{").unwrap();
    fs::write(folder.join(format!("{}.ab12.key", one.0.id())), "{}").unwrap();

    let check = || {
        let listed = env.dogwatch(&["status", "--json"]).success().json();
        let found: Vec<_> = listed["sessions"].as_array().unwrap().clone();
        let of = |agent: &str| {
            let all: Vec<_> = found.iter().filter(|one| one["agent"] == agent).collect();
            assert_eq!(all.len(), 1, "{found:?}");
            all[0].clone()
        };
        let seen = of("claude");
        assert_eq!(seen["name"], format!("bg-job{}", one.0.id()));
        assert_eq!((&seen["ours"], &seen["pane"]), (&false.into(), &serde_json::Value::Null));
        assert_eq!((&seen["state"], &seen["for"]), (&"waiting".into(), &"permission".into()));
        assert_eq!(seen["basis"], "asserted");
    };
    // Without a tmux server, and beside a session of ours.
    check();
    env.spawn_script("mine", "exec sleep 300");
    check();
    let name = format!("bg-job{}", one.0.id());
    let why = env.dogwatch(&["why", &name]).success().text();
    assert!(why.contains("running in the background, without a pane"), "{why}");
    // The name that a person gave it is not its name here.
    assert_eq!(env.seen("mine")["agent"], "command");
    for act in [&["send", &name, "hello"][..], &["kill", &name], &["answer", &name, "1"]] {
        assert_eq!(
            env.dogwatch(&[&["--json"], act].concat()).code(3).json()["error"]["code"],
            "no_such_session"
        );
    }
    // A watcher lists the same as `status`.
    let told = env.work().join("told");
    let output = fs::File::create(&told).unwrap();
    let mut watch = env.command(&["watch", "--json"]).stdout(output).spawn().unwrap();
    eventually("watch lists it", || {
        let text = fs::read_to_string(&told).unwrap();
        text.lines().any(|line| line.contains(&name) && line.contains("\"waiting\""))
    });
    watch.kill().unwrap();
    watch.wait().unwrap();
    drop(one);
    let listed = env.dogwatch(&["status", "--json"]).success().json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
}
