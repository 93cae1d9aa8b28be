//! The supervisor's socket: the same answers as a look of one's own, changes as they come, and bad guests.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use dogwatch_testkit::{PATIENCE, Spawned, TestEnv, eventually, is_root, process, wait_until};
use rustix::process::Signal;
use serde_json::{Value, json};

const HELLO: &str = r#"{"hello":{"protocol":1}}"#;

fn socket(env: &TestEnv) -> PathBuf {
    wait_until("the socket is there", || {
        let shown = env.dogwatch(&["supervisor", "--json"]).success().json();
        let path = PathBuf::from(shown["listens"].as_str()?);
        shown["health"]["clients"].is_u64().then_some(path)
    })
}

/// A program at the socket.
struct Guest(BufReader<UnixStream>);

impl Guest {
    fn connect(env: &TestEnv) -> Self {
        Self::at(&socket(env))
    }

    fn at(path: &Path) -> Self {
        // Its path may be longer than an address.
        let folder = std::fs::File::open(path.parent().unwrap()).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&folder);
        let name = path.file_name().unwrap().to_str().unwrap();
        let stream = UnixStream::connect(format!("/proc/self/fd/{number}/{name}")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    /// One that has introduced itself.
    fn welcome(env: &TestEnv) -> Self {
        let mut guest = Self::connect(env);
        let greeting = guest.line();
        assert_eq!(greeting["hello"]["protocol"], json!({"from": 1, "to": 1}), "{greeting}");
        guest.write(HELLO);
        guest
    }

    fn write(&mut self, line: &str) {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, request: &str) -> Value {
        self.write(request);
        self.line()
    }

    /// What it is told before it is sent away.
    fn is_sent_away(&mut self) -> Value {
        let line = self.line();
        let mut rest = Vec::new();
        let _ = self.0.read_to_end(&mut rest);
        assert_eq!(String::from_utf8_lossy(&rest), "", "and nothing else");
        line["error"]["code"].clone()
    }
}

/// The session's hook says that it asks for permission.
fn ask(env: &TestEnv, session: &Spawned) {
    let mut hook = env.command(&["hook", "claude"]);
    hook.env("DOGWATCH_SESSION", &session.id);
    let asks = r#"{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm x"}}"#;
    let _ = env.run_with_input(&mut hook, asks.as_bytes()).success();
}

/// What a command prints while the supervisor answers, and while it stands still, so that the command looks by itself.
fn both_ways(env: &TestEnv, args: &[&str]) -> (Value, Value) {
    let asked = env.dogwatch(args).success().facts();
    (asked, env.without_supervisor(|| env.dogwatch(args).success().facts()))
}

#[test]
fn the_same_answer_both_ways() {
    let env = TestEnv::new();
    env.spawn_script("stays", "exec sleep 600");
    env.spawn_script("fails", "exit 3");
    env.spawn_script("ends", "exit 0");
    let asks = env.spawn_script("asks", "exec sleep 600");
    ask(&env, &asks);
    let _ = env.dogwatch(&["rename", "stays", "The one that stays"]).success();
    let _ = env.dogwatch(&["tag", "add", "stays", "a", "b"]).success();
    env.wait_state("fails", "crashed");
    env.wait_state("ends", "exited");
    let _pid = socket(&env);
    for args in [
        vec!["status", "--json"],
        vec!["status", "stays", "asks", "--json"],
        vec!["status", "--tag", "a", "--json"],
        vec!["ls", "--json"],
        vec!["why", "fails", "--json"],
    ] {
        // A turn may end, or a screen move, between the two looks: then they are made again.
        let same = wait_until("both are the same", || {
            let (asked, looked) = both_ways(&env, &args);
            if asked != looked {
                eprintln!("{args:?}\n{asked}\n{looked}");
                return None;
            }
            Some(asked)
        });
        assert!(same.to_string().contains("stays") || args[0] == "why", "{same}");
    }
}

/// Whatever has happened before a question is in its answer.
#[test]
fn an_answer_has_what_happened_before_the_question() {
    let env = TestEnv::new();
    env.spawn_script("stays", "exec sleep 600");
    let _path = socket(&env);
    for turn in 0..10 {
        let name = format!("s{turn}");
        let session = env.spawn_script(&name, "exec sleep 600");
        let listed = env.dogwatch(&["ls", "--json"]).success().json();
        let names: Vec<&str> = listed["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|s| s["name"].as_str())
            .collect();
        assert!(names.contains(&name.as_str()), "{names:?}");
        ask(&env, &session);
        let status = env.dogwatch(&["status", &name, "--json"]).success().json();
        assert_eq!(status["sessions"][0]["state"], "waiting", "{status:#}");
        let _ = env.dogwatch(&["kill", &name, "--now"]).success();
        let status = env.dogwatch(&["status", "--json"]).success().json();
        assert!(!status.to_string().contains(&format!("\"{name}\"")), "{status:#}");
    }
}

/// What the supervisor keeps between two answers is not older than what has happened since.
#[test]
fn an_answer_has_what_the_last_one_did_not() {
    let env = TestEnv::new();
    let profile = "own_word = 'claude_state_file'\ntranscript = { dialect = 'claude' }\n";
    env.add_profile("fake", profile, "exec sleep 600");
    let git = |args: &[&str]| {
        let mut git = env.foreign("git");
        git.current_dir(env.work()).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
        let _ = env.run(&mut git).success();
    };
    git(&["init", "-q", "-b", "first"]);
    git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    let session = env.spawn(&["--name", "one", "fake"]);
    let path = env.work().join("talk.jsonl");
    let line = |text: &str| {
        let line = json!({ "timestamp": jiff::Timestamp::now(), "type": "user", "message": { "content": text } });
        format!("{line}\n")
    };
    std::fs::write(&path, line("first")).unwrap();
    let hook = |payload: Value| {
        let mut hook = env.command(&["hook", "claude"]);
        hook.env("DOGWATCH_SESSION", &session.id);
        let _ = env.run_with_input(&mut hook, payload.to_string().as_bytes()).success();
    };
    hook(json!({ "hook_event_name": "UserPromptSubmit", "transcript_path": path }));
    let _path = socket(&env);
    let row = || {
        let row = env.dogwatch(&["status", "--json"]).success().json()["sessions"][0].clone();
        assert_eq!(row["name"], "one", "{row:#}");
        row
    };
    // Twice: what the first has read is kept.
    let both = || (row(), row()).1;
    assert_eq!((&both()["branch"], &both()["state"]), (&json!("first"), &json!("working")));
    git(&["switch", "-q", "-c", "second"]);
    assert_eq!(row()["branch"], "second");
    let _ = env.dogwatch(&["rename", "one", "A title"]).success();
    assert_eq!(row()["title"], "A title");
    let _ = env.dogwatch(&["tag", "add", "one", "a"]).success();
    assert_eq!(both()["tags"], json!(["a"]));
    hook(json!({ "hook_event_name": "Stop" }));
    assert_eq!(row()["state"], "idle");
    // Nothing but its runner is told of this, and tells.
    process::signal(session.pid, Signal::STOP);
    eventually("it is seen stopped", || row()["state"] == "waiting");
    process::signal(session.pid, Signal::CONT);
    eventually("it is seen to go on", || row()["state"] == "idle");
    env.tmux(&["kill-pane", "-t", &session.pane]);
    eventually("its end is seen", || {
        let shown = env.dogwatch(&["ls", "--json"]).success().json();
        shown["sessions"][0]["state"] != "running"
    });
}

#[test]
fn changes_come_and_a_cursor_brings_those_that_were_missed() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 600");
    let mut guest = Guest::welcome(&env);
    let first = guest.ask(r#"{"id":5,"ask":"follow"}"#);
    assert_eq!(first["id"], 5);
    assert_eq!(first["snapshot"]["sessions"][0]["name"], "one", "{first:#}");
    let start = first["snapshot"]["cursor"].as_str().unwrap().to_owned();
    env.spawn_script("two", "exit 4");
    let mut told = Vec::new();
    while told.last().is_none_or(|line: &Value| line["change"]["state"] != "crashed") {
        told.push(guest.line());
    }
    assert!(told.iter().all(|line| line["id"] == 5 && line["change"]["name"] == "two"), "{told:?}");
    drop(guest);
    let mut guest = Guest::welcome(&env);
    guest.write(&format!(r#"{{"id":6,"ask":"follow","after":"{start}"}}"#));
    for before in &told {
        assert_eq!(guest.line()["change"], before["change"]);
    }
    // A cursor of another supervisor is not known here.
    let mut guest = Guest::welcome(&env);
    let first = guest.ask(r#"{"id":7,"ask":"follow","sessions":["one"],"after":"1.2.3"}"#);
    assert_eq!(first["snapshot"]["sessions"].as_array().unwrap().len(), 1, "{first:#}");
    // Questions are answered beside.
    assert_eq!(guest.ask(r#"{"id":8,"ask":"tmux_status"}"#)["answer"], json!({"text": "*1 x1"}));
    assert_eq!(
        guest.ask(r#"{"id":9,"ask":"why","session":"nobody"}"#)["error"]["code"],
        "no_such_session"
    );
}

#[test]
fn a_supervisor_that_stands_still_keeps_no_command_waiting() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 600");
    let _path = socket(&env);
    let pid = env.supervisor().unwrap();
    process::signal(pid, Signal::STOP);
    for args in [&["status", "--json"][..], &["ls", "--json"], &["why", "one", "--json"]] {
        assert!(env.dogwatch(args).success().text().contains("\"one\""));
    }
    let _ = env.dogwatch(&["tmux-status"]).success();
    let shown = env.dogwatch(&["supervisor"]).success().text();
    assert!(shown.contains("does not answer"), "{shown}");
    let doctor = env.dogwatch(&["doctor"]).text();
    assert!(doctor.contains("does not answer"), "{doctor}");
    process::signal(pid, Signal::CONT);
    eventually("it answers again", || {
        env.dogwatch(&["supervisor"]).success().text().contains("clients:    0")
    });
}

#[test]
fn bad_guests_are_told_what_is_wrong_and_change_nothing() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 600");
    let path = socket(&env);
    let about = std::fs::symlink_metadata(&path).unwrap();
    assert!(about.file_type().is_socket());
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
    let pid = env.supervisor().unwrap();
    for (lines, code) in [
        (vec!["\u{1b}[31m not JSON"], "bad_request"),
        (vec![r#"{"id":1,"ask":"ls"}"#], "bad_request"),
        (vec![r#"{"hello":{"protocol":99}}"#], "unknown_version"),
        (vec![r#"{"hello":{"protocol":1,"view":"other"}}"#], "other_view"),
        (vec![HELLO, "[[[[[[[["], "bad_request"),
        (vec![HELLO, r#"{"id":1,"ask":"conquer"}"#], "bad_request"),
    ] {
        let mut guest = Guest::connect(&env);
        let _greeting = guest.line();
        for line in &lines {
            guest.write(line);
        }
        assert_eq!(guest.is_sent_away(), code, "{lines:?}");
    }
    // A line without an end.
    let mut guest = Guest::welcome(&env);
    let long = vec![b'x'; 64 * 1024];
    let written = (0..16 * 1024).take_while(|_| guest.0.get_mut().write_all(&long).is_ok()).count();
    assert!(written < 1024, "{written} pieces were taken");
    // Who does not read is sent away, and keeps nobody waiting meanwhile.
    let mut silent = Guest::welcome(&env);
    let more = format!("{}\n", r#"{"id":1,"ask":"status"}"#).repeat(1000);
    let stream = silent.0.get_mut();
    stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    while stream.write(more.as_bytes()).is_ok_and(|count| count > 0) {}
    assert!(env.dogwatch(&["status", "--json"]).success().text().contains("\"one\""));
    drop(silent);
    assert_eq!(env.supervisor(), Some(pid), "it is the same one");
    assert_eq!(
        env.dogwatch(&["supervisor", "--json"]).success().json()["health"]["errors"],
        json!([])
    );
}

#[test]
fn five_hundred_programs_at_once() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 600");
    let path = socket(&env);
    let mut crowd: Vec<Guest> = (0..500).map(|_| Guest::at(&path)).collect();
    let welcome = crowd.iter_mut().map(Guest::line).filter(|line| line["hello"].is_object());
    assert_eq!(welcome.count(), 200);
    // The others look by themselves.
    assert!(env.dogwatch(&["status", "--json"]).success().text().contains("\"one\""));
    drop(crowd);
    eventually("there is room again", || {
        env.dogwatch(&["supervisor"]).success().text().contains("clients:    0")
    });
}

#[test]
fn other_users_are_kept_out() {
    if !is_root() {
        return;
    }
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 600");
    let path = socket(&env);
    // Even if the folder let them through.
    let mut folder = path.parent().unwrap();
    while folder.starts_with(env.root()) {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        folder = folder.parent().unwrap();
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    let script = "import os, socket, sys\nos.setgid(65534); os.setuid(65534)\n\
        os.chdir(sys.argv[1])\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[2])\n\
        s.settimeout(20)\nprint(s.makefile().read())\n";
    let name = path.file_name().unwrap();
    let mut python = Command::new("python3");
    python.args(["-c", script]).arg(path.parent().unwrap()).arg(name);
    let told = env.run(&mut python).success().json();
    assert_eq!(told["error"]["code"], "refused", "{told}");
}

/// The program in `docs/protocol.md`, as it stands there.
#[test]
fn the_documented_client_works() {
    let page = include_str!("../../../../docs/protocol.md");
    let begin = page.find("```python\n").unwrap() + "```python\n".len();
    let script = &page[begin..begin + page[begin..].find("```").unwrap()];
    assert!(script.lines().count() <= 30, "it is short");
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 600");
    let _path = socket(&env);
    let mut python = env.foreign("python3");
    python.args(["-u", "-c", script]).stdout(Stdio::piped());
    let folder = Path::new(dogwatch_testkit::dogwatch()).parent().unwrap();
    let searched = std::env::var("PATH").unwrap();
    let mut child = python.env("PATH", format!("{}:{searched}", folder.display())).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("one is ")));
    env.spawn_script("two", "exit 3");
    assert!(lines.any(|line| line.contains("two") && line.contains("crashed")));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Its request cannot be answered while tmux hangs, and nobody waits for the answer.
#[test]
fn a_program_that_asks_and_leaves_costs_nothing() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 600");
    let mut guest = Guest::welcome(&env);
    let pid = env.supervisor().unwrap();
    let server = env.server_pid();
    process::signal(server, Signal::STOP);
    guest.write(r#"{"id":1,"ask":"status"}"#);
    drop(guest);
    let used = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..].split(' ').collect();
        fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap()
    };
    // In ticks of ten milliseconds: a thread that spins uses all of them.
    let begun = used();
    eventually("it is idle", || {
        let before = used();
        // sleep: what is measured is how much is done in this time
        std::thread::sleep(Duration::from_millis(500));
        used() - before < 10
    });
    let ticks = used() - begun;
    process::signal(server, Signal::CONT);
    assert!(ticks < 150, "{ticks} ticks until the request was given up");
}
