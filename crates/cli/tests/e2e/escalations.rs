//! Questions to people: raised once, told by all ways, answered once, and kept over everything.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use dogwatch_testkit::{PATIENCE, TestEnv, eventually};
use serde_json::Value;

/// Questions and their answers.
trait Escalations {
    fn raise(&self, args: &[&str]) -> Value;
    fn escalation(&self, number: i64) -> Value;
    fn configure(&self, text: &str);
}

impl Escalations for TestEnv {
    #[track_caller]
    fn raise(&self, args: &[&str]) -> Value {
        let mut command = self.command(&["escalations", "raise", "--json"]);
        self.run(command.args(args)).success().json()
    }

    #[track_caller]
    fn escalation(&self, number: i64) -> Value {
        self.dogwatch(&["escalations", "show", &number.to_string(), "--json"]).success().json()
    }

    fn configure(&self, text: &str) {
        let folder = self.home().join(".config/dogwatch");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), text).unwrap();
    }
}

#[test]
fn raised_shown_and_answered_by_the_first() {
    let env = TestEnv::new();
    let _ = env.dogwatch(&["escalations"]).success();
    let raised = env.raise(&[
        "commit_failed",
        "conflict in parser.rs",
        "--run",
        "epic-1",
        "--story",
        "1.2",
        "--key",
        "k",
    ]);
    assert_eq!((&raised["kind"], &raised["trigger"]), (&"critical".into(), &4.into()));
    let again = env.raise(&["commit_failed", "conflict in parser.rs", "--key", "k"]);
    assert_eq!(again["id"], raised["id"], "raised once");
    let shown = env.dogwatch(&["escalations", "show", "1"]).success().text();
    for part in ["story 1.2", "conflict in parser.rs", "  2  Continue without a commit"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let listed = env.dogwatch(&["escalations"]).success().text();
    assert!(listed.contains("story 1.2: conflict in parser.rs"), "the problem itself: {listed}");
    let wrong = env.dogwatch(&["escalations", "answer", "1", "--option", "9", "--json"]);
    assert_eq!(wrong.code(2).json()["error"]["code"], "no_such_option");
    let none = env.dogwatch(&["escalations", "answer", "1", "--json"]);
    assert_eq!(
        none.code(2).json()["error"]["code"],
        "bad_argument",
        "nobody is asked without a terminal"
    );
    let missing = env.dogwatch(&["escalations", "answer", "77", "--option", "1", "--json"]);
    assert_eq!(missing.code(3).json()["error"]["code"], "no_such_escalation");
    let answer =
        ["escalations", "answer", "1", "--option", "pause", "--note", "later", "--as", "ann"];
    let _ = env.dogwatch(&answer).success();
    let late =
        env.dogwatch(&["escalations", "answer", "1", "--option", "1", "--json"]).code(4).json();
    assert_eq!(late["error"]["code"], "settled");
    let _ = env.dogwatch(&["escalations", "answer", "1"]).code(4);
    let said = late["error"]["message"].as_str().unwrap();
    assert!(said.contains("ann chose 3 (pause)"), "{said}");
    let settled = &env.escalation(1)["settled"];
    assert_eq!((&settled["by"], &settled["note"]), (&"ann".into(), &"later".into()));
    assert!(settled["at"].is_string());
    let open = env.dogwatch(&["escalations", "ls", "--json"]).success().json();
    assert_eq!(open["escalations"], Value::Array(vec![]));
    let anew = env.raise(&["commit_failed", "again", "--key", "k"]);
    assert_eq!(anew["number"], 2);
}

#[test]
fn who_waits_is_told_at_once() {
    let env = TestEnv::new();
    env.raise(&["unexpected", "what?", "--run", "r"]);
    let mut wait = env.command(&["escalations", "wait", "1", "--json"]);
    let wait = wait.stdout(Stdio::piped()).spawn().unwrap();
    let none = env.dogwatch(&["escalations", "wait", "1", "--timeout", "0", "--json"]).code(124);
    assert_eq!(none.json()["settled"], Value::Null);
    let begun = Instant::now();
    let _ = env.dogwatch(&["escalations", "answer", "1", "-o", "2", "--as", "bob"]).success();
    let output = wait.wait_with_output().unwrap();
    assert!(begun.elapsed() < PATIENCE && output.status.success());
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&told["settled"]["action"], &told["settled"]["by"]),
        (&"skip_step".into(), &"bob".into())
    );
}

#[test]
fn a_deadline_answers() {
    let env = TestEnv::new();
    let raise = ["output_unclear", "?", "--run", "r", "--deadline", "1s", "--default", "3"];
    assert_eq!(env.raise(&raise)["kind"], "preference");
    let told =
        env.dogwatch(&["escalations", "wait", "1", "--timeout", "20s", "--json"]).success().json();
    assert_eq!(
        (&told["settled"]["action"], &told["settled"]["by"]),
        (&"pause".into(), &"deadline".into())
    );
    let late = env.dogwatch(&["escalations", "answer", "1", "-o", "1", "--json"]).code(4).json();
    assert_eq!(late["error"]["code"], "settled");
    let bad = ["escalations", "raise", "budget", "p", "--deadline", "1s", "--default", "9"];
    let _ = env.dogwatch(&bad).code(2);
    let _ = env.dogwatch(&["escalations", "raise", "rain", "p"]).code(2);
}

#[test]
fn everybody_who_is_set_up_is_told() {
    let env = TestEnv::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let told = env.work().join("told.json");
    let program = env.write_program("tell", &format!("cat > {}", told.display()));
    env.configure(&format!(
        "[[notify]]\nkind = 'command'\ncommand = ['{}']\n[[notify]]\nkind = 'webhook'\n\
         url = 'http://127.0.0.1:{port}/x'\non = ['escalation_raised', 'escalation_answered']\n\
         [[notify]]\nkind = 'command'\ncommand = ['false']\n",
        program.display()
    ));
    let hook = std::thread::spawn(move || {
        let mut all = Vec::new();
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut text = String::new();
            let mut part = [0; 4096];
            while !text.ends_with('}') {
                let length = stream.read(&mut part).unwrap();
                text.push_str(&String::from_utf8_lossy(&part[..length]));
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            all.push(text);
        }
        all
    });
    let mut raise =
        env.command(&["escalations", "raise", "budget", "100 of 100 used", "--run", "r"]);
    let output = env.run(&mut raise).success();
    let warned = output.stderr;
    assert!(warned.contains("notification failed: command false: exit status: 1"), "{warned}");
    let notice: Value = serde_json::from_slice(&std::fs::read(&told).unwrap()).unwrap();
    assert_eq!(notice["occasion"], "escalation_raised");
    assert!(notice["text"].as_str().unwrap().contains("100 of 100 used"));
    assert_eq!(notice["data"]["number"], 1);
    let _ = env.dogwatch(&["escalations", "answer", "1", "-o", "1"]).success();
    let posted = hook.join().unwrap();
    assert!(
        posted[0].contains("\"escalation_raised\"")
            && posted[1].contains("\"escalation_answered\"")
    );
    env.configure("[[notify]]\nkind = 'bel'\n");
    let mut raise = env.command(&["escalations", "raise", "budget", "again", "--run", "r"]);
    let warned = env.run(&mut raise).success().stderr;
    assert!(warned.contains("config.toml, line 2, column 8"), "{warned}");
}

#[test]
fn the_bell_rings_in_an_attached_terminal() {
    let env = TestEnv::new();
    env.spawn_script("s", "exec sleep 300");
    // A second server in whose pane a client of the first is attached: its bell is seen by the outer one.
    let outer = env.another_socket("outer");
    let attach = format!("tmux -u -f /dev/null -S {} attach", env.socket().display());
    let pane =
        ["new-session", "-d", "-x", "100", "-y", "30", "env", "-u", "TMUX", "sh", "-c", &attach];
    env.tmux_on(&outer, &pane);
    env.tmux_on(&outer, &["set-option", "-g", "monitor-bell", "on"]);
    env.tmux_on(&outer, &["set-option", "-g", "bell-action", "any"]);
    // The bell of the current window is no news, so another one is.
    env.tmux_on(&outer, &["new-window", "sleep", "300"]);
    eventually("somebody is attached", || env.tmux(&["list-clients"]).contains("/dev/"));
    env.raise(&["budget", "p", "--run", "r"]);
    eventually("the bell is heard", || {
        env.tmux_on(&outer, &["list-windows", "-F", "#{window_bell_flag}"]).contains('1')
    });
}

#[test]
fn a_pane_that_cannot_be_started_is_asked_about() {
    let env = TestEnv::new();
    // An agent with the screens of Claude Code to be recognised by, that never shows one.
    env.add_profile("claude", "", "exec sleep 300");
    env.tmux(&["new-session", "-d", "-s", "team", "-x", "200", "-y", "50", "sleep", "300"]);
    let pane = env.tmux(&["list-panes", "-t", "team", "-F", "#{pane_id}"]);
    let spawn = [
        "pane", "spawn", "--role", "dev", "--master", &pane, "--ready", "300ms", "--json", "claude",
    ];
    let failed = env.dogwatch(&spawn).code(7).json();
    let hint = failed["error"]["hint"].as_str().unwrap_or_default().to_owned();
    assert!(hint.contains("dogwatch escalations show 1"), "{failed}");
    let raised = env.escalation(1);
    assert_eq!((&raised["trigger"], &raised["kind"]), (&3.into(), &"critical".into()));
    let actions: Vec<&Value> =
        raised["options"].as_array().unwrap().iter().map(|option| &option["action"]).collect();
    assert_eq!(actions, [&Value::from("retry"), &Value::from("leave")]);
    let _ = env.dogwatch(&spawn).code(7);
    let open = env.dogwatch(&["escalations", "ls", "--json"]).success().json();
    assert_eq!(open["escalations"].as_array().unwrap().len(), 1, "asked once");
    let other = ["pane", "spawn", "--role", "dev", "--master", &pane, "--", "cat"];
    let _ = env.dogwatch(&other).success();
    assert_eq!(env.escalation(1)["settled"]["how"], "withdrawn");
}

#[test]
fn a_sink_that_hangs_holds_nobody_up_for_long() {
    let env = TestEnv::new();
    env.configure("[[notify]]\nkind = 'command'\ncommand = ['sleep', '300']\ntimeout = 1\n");
    let begun = Instant::now();
    env.raise(&["budget", "p", "--run", "r"]);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

/// Whoever raises a question is killed while people are told: raised again, it is the same, and they are told.
#[test]
fn a_crash_between_asking_and_telling() {
    let env = TestEnv::new();
    env.configure("[[notify]]\nkind = 'command'\ncommand = ['sleep', '5']\ntimeout = 30\n");
    let words = ["escalations", "raise", "budget", "p", "--run", "r", "--key", "k", "--json"];
    let mut killed = env.command(&words).stdout(Stdio::null()).spawn().unwrap();
    let open = || env.dogwatch(&["escalations", "--json"]).success().json()["escalations"].clone();
    eventually("it is asked", || open()[0]["number"] == 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let told = env.work().join("told");
    let program = env.write_program("tell", &format!("cat >> {}", told.display()));
    env.configure(&format!("[[notify]]\nkind = 'command'\ncommand = ['{}']\n", program.display()));
    for _ in 0..2 {
        let again = env.dogwatch(&words).success().json();
        assert_eq!(again["number"], 1, "asked once");
    }
    let told = std::fs::read_to_string(told).unwrap();
    assert_eq!(told.matches("escalation_raised").count(), 1, "told once: {told}");
}
