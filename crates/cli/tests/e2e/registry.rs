//! The registry: true to what is there, and the person's own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use dogwatch_testkit::{CommandOutput, TestEnv, eventually, process};
use rustix::process::Signal;
use serde_json::Value;

/// Plays claude: its conversation is on disk once something was said, and it goes on with one that it is given.
const CLAUDE: &str = r#"
[ "$1" = --version ] && { echo "2.1.325 (Claude Code)"; exit; }
while [ $# -gt 0 ]; do
  case $1 in --session-id|--resume) id=$2; shift ;; esac
  shift
done
id=${id:-$(cat /proc/sys/kernel/random/uuid)}
dir=$HOME/.claude/projects/$(pwd | sed 's/[^A-Za-z0-9]/-/g')
echo "ready $id"
while read -r line; do
  mkdir -p "$dir"
  printf '{"sessionId":"%s","cwd":"%s","said":"%s"}\n' "$id" "$PWD" "$line" >> "$dir/$id.jsonl"
  echo "heard $line"
done
"#;

/// Commands and files of the registry.
pub(crate) trait Registry {
    /// A world with that agent on the path.
    fn with_claude() -> Self;
    fn roll_command(&self, args: &[&str]) -> Command;
    fn roll(&self, args: &[&str]) -> CommandOutput;
    /// One pass; the classes of what it told.
    fn pass(&self, more: &[&str]) -> (Vec<String>, Value);
    fn registry_path(&self) -> PathBuf;
    fn registry(&self) -> String;
    /// A row of `registry --json`.
    fn listed(&self, name: &str) -> Value;
    /// Says something to an agent, and waits until it was heard.
    fn say(&self, name: &str, line: &str);
    /// Starts that agent in tmux, as a person would.
    fn by_hand(&self, name: &str) -> String;
    /// Waits until what was done to the registry is no longer fresh.
    fn let_settle(&self);
    fn conversation_file(&self, id: &str) -> PathBuf;
}

impl Registry for TestEnv {
    fn with_claude() -> Self {
        let env = Self::new();
        env.write_program("claude", CLAUDE);
        env
    }

    fn roll_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(args);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.root().join("bin").display()));
        command
    }

    fn roll(&self, args: &[&str]) -> CommandOutput {
        self.run(&mut self.roll_command(args))
    }

    fn pass(&self, more: &[&str]) -> (Vec<String>, Value) {
        let args = [&["reconcile", "--once", "--emit-diff"], more].concat();
        let said = self.roll(&args).success().json();
        let drifts = said["drifts"].as_array().unwrap().iter();
        (drifts.map(|drift| drift["class"].as_str().unwrap().to_owned()).collect(), said)
    }

    fn registry_path(&self) -> PathBuf {
        self.state_dir().join("agent-sessions.yaml")
    }

    fn registry(&self) -> String {
        fs::read_to_string(self.registry_path()).unwrap_or_default()
    }

    fn listed(&self, name: &str) -> Value {
        let said = self.roll(&["registry", "--json"]).success().json();
        let rows = said["sessions"].as_array().cloned().unwrap();
        rows.into_iter().find(|row| row["name"] == name).unwrap_or(Value::Null)
    }

    fn say(&self, name: &str, line: &str) {
        let pane = self.tmux(&["display-message", "-p", "-t", &format!("={name}:"), "#{pane_id}"]);
        self.tmux(&["send-keys", "-t", &pane, "-l", line]);
        self.tmux(&["send-keys", "-t", &pane, "Enter"]);
        let heard = format!("heard {line}");
        eventually(&heard, || self.tmux(&["capture-pane", "-p", "-t", &pane]).contains(&heard));
    }

    fn by_hand(&self, name: &str) -> String {
        let program = self.root().join("bin/claude").display().to_string();
        let ask = ["new-session", "-d", "-s", name, "-P", "-F", "#{pane_id}", &program];
        let pane = self.tmux(&ask);
        eventually("it runs", || self.tmux(&["capture-pane", "-p", "-t", &pane]).contains("ready"));
        pane
    }

    fn let_settle(&self) {
        let aged = r"UPDATE touches SET at = at - 60000";
        let database = rusqlite::Connection::open(self.state_dir().join("dogwatch.db")).unwrap();
        database.execute(aged, []).unwrap();
        // The same for the times in the file: a minute ago.
        let old = self.registry();
        let minute_ago = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(1);
        let stamp = jiff::Timestamp::from_second(minute_ago.as_second()).unwrap().to_string();
        let age = |line: &str| match line.split_once("_at: 2") {
            Some((key, _)) => format!("{key}_at: {stamp}"),
            None => line.to_owned(),
        };
        let text: Vec<String> = old.lines().map(age).collect();
        fs::write(self.registry_path(), format!("{}\n", text.join("\n"))).unwrap();
    }

    fn conversation_file(&self, id: &str) -> PathBuf {
        let key: String = self
            .work()
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        self.home().join(".claude/projects").join(key).join(format!("{id}.jsonl"))
    }
}

#[test]
fn created_talked_to_deleted_and_resumed() {
    let env = TestEnv::with_claude();
    let name = "work-creator-claude";
    assert_eq!(env.roll(&["create", "claude", "--role", "writer"]).success().text().trim(), name);
    let row = env.listed(name);
    assert_eq!(
        (&row["status"], &row["seen"], &row["role"]),
        (&"running".into(), &"alive".into(), &"writer".into())
    );
    assert_eq!(row["conversation"], Value::Null, "nothing was said yet");
    insta::assert_snapshot!(env.roll(&["create", "claude"]).code(4), @r#"
    ------- stderr -------
    error: the registry already has a session "work-creator-claude"
    hint: to resume its conversation: dogwatch resume work-creator-claude; or choose another name
    [exit code: 4]
    "#);
    env.let_settle();
    assert_eq!(env.pass(&[]).0, [""; 0]);
    env.say(name, "one");
    let (classes, said) = env.pass(&[]);
    assert_eq!((classes.as_slice(), &said["written"]), (["C".to_owned()].as_slice(), &true.into()));
    assert_eq!(env.pass(&[]).0, [""; 0], "told once");
    let id = env.listed(name)["conversation"].as_str().unwrap().to_owned();
    assert!(env.registry().contains(&format!("claude_session_id_own: {id}")), "{}", env.registry());

    let deleted = env.roll(&["delete", name, "--json"]).success().json();
    assert_eq!(
        (&deleted["conversation"], &deleted["purged"]),
        (&id.as_str().into(), &Value::Array(vec![]))
    );
    let row = env.listed(name);
    assert_eq!(
        (&row["status"], &row["termination_mode"], &row["seen"]),
        (&"terminated".into(), &"user".into(), &"gone".into())
    );
    assert_eq!(env.roll(&["resume", "--all"]).success().text(), "", "a person ended it");

    let _ = env.roll(&["resume", name]).success();
    insta::assert_snapshot!(env.roll(&["resume", name]).code(4), @r"
    ------- stderr -------
    work-creator-claude: session work-creator-claude is already running
    hint: to see it: dogwatch attach work-creator-claude; to end it: dogwatch delete work-creator-claude
    [exit code: 4]
    ");
    env.say(name, "two");
    let talk = fs::read_to_string(env.conversation_file(&id)).unwrap();
    assert!(talk.contains("one") && talk.contains("two"), "{talk}");
    env.let_settle();
    assert_eq!(env.pass(&[]).0, [""; 0]);

    let _ = env.roll(&["delete", name, "--purge-conversation"]).success();
    assert!(!env.conversation_file(&id).exists());
    assert!(!env.registry().contains(&id), "{}", env.registry());
    assert_eq!(
        env.roll(&["resume", name, "--json"]).code(3).json()["resumed"][0]["error"]["code"],
        "no_conversation"
    );
    assert_eq!(env.roll(&["delete", "nobody"]).code(3).stdout, b"");
}

#[test]
fn a_server_that_does_not_answer_was_not_looked_at() {
    let env = TestEnv::with_claude();
    let _ = env.roll(&["create", "claude"]).success();
    let before = env.registry();
    let server = env.server_pid();
    process::signal(server, Signal::STOP);
    let said = env.roll(&["reconcile", "--once", "--emit-diff"]);
    process::signal(server, Signal::CONT);
    assert_eq!(said.code(5).json()["error"]["code"], "tmux");
    assert_eq!(env.registry(), before);
}

/// Only its process knows where it is, and that is gone by then.
#[test]
fn a_conversation_in_another_home_is_removed_too() {
    let env = TestEnv::with_claude();
    let home = env.root().join("elsewhere");
    fs::create_dir(&home).unwrap();
    let variable = format!("HOME={}", home.display());
    let name = env.roll(&["create", "claude", "--env", &variable]).success().text();
    let name = name.trim();
    env.say(name, "one");
    env.let_settle();
    assert_eq!(env.pass(&[]).0, ["C"]);
    let deleted = env.roll(&["delete", name, "--purge-conversation", "--json"]).success().json();
    let purged = PathBuf::from(deleted["purged"][0].as_str().unwrap_or_default());
    assert!(purged.starts_with(&home) && !purged.exists(), "{deleted}");
}

#[test]
fn started_by_hand_left_and_ended() {
    let env = TestEnv::with_claude();
    let name = "lab-creator-claude";
    env.by_hand(name);
    env.by_hand("private");
    let (classes, said) = env.pass(&["--dry-run"]);
    assert_eq!(
        (classes.as_slice(), &said["written"]),
        (["B".to_owned()].as_slice(), &false.into())
    );
    assert!(!env.registry_path().exists(), "a dry run writes nothing");
    let (classes, said) = env.pass(&[]);
    assert_eq!((classes.as_slice(), &said["written"]), (["B".to_owned()].as_slice(), &true.into()));
    let after = &said["drifts"][0]["after"];
    assert_eq!(
        (&after["workspace"], &after["last_visible_status"]),
        (&"lab".into(), &"auto-registered".into())
    );
    assert!(!env.registry().contains("private"));

    env.let_settle();
    env.say(name, "hello");
    assert_eq!(env.pass(&[]).0, ["C"]);
    env.tmux(&["kill-session", "-t", &format!("={name}:")]);
    let (classes, said) = env.pass(&[]);
    assert_eq!(classes, ["A"]);
    assert!(said["drifts"][0]["message"].as_str().unwrap().contains("marked terminated"));
    assert_eq!(env.pass(&[]).0, [""; 0]);
    let row = env.listed(name);
    assert_eq!(
        (&row["status"], &row["termination_mode"]),
        (&"terminated".into(), &"auto-detected".into())
    );

    let shell =
        env.tmux(&["new-session", "-d", "-s", "b-creator-claude", "-P", "-F", "#{pane_id}", "sh"]);
    assert_eq!(env.pass(&[]).0, ["B"]);
    env.let_settle();
    assert_eq!(env.pass(&[]).0, ["E"], "nobody runs in it");
    assert_eq!(env.pass(&[]).1["standing"][0]["class"], "E");
    env.tmux(&["send-keys", "-t", &shell, "claude() { :; }", "Enter"]);

    assert_eq!(env.listed("private"), Value::Null);
    let _ = env.roll(&["adopt", "private", "--role", "own"]).success();
    assert_eq!(env.listed("private")["role"], "own");
    assert_eq!(
        env.roll(&["adopt", "private", "--json"]).code(4).json()["error"]["code"],
        "registered"
    );
    assert_eq!(
        env.roll(&["adopt", "nobody", "--json"]).code(3).json()["error"]["code"],
        "no_such_session"
    );
    let ended = env.roll(&["delete", "private", "--json"]).success().json();
    assert_eq!(ended["by"], "own_exit");
    assert_eq!(env.listed("private")["seen"], "gone");
}

#[test]
fn all_gone_at_once_and_brought_back() {
    let env = TestEnv::with_claude();
    let names = ["a-creator-claude", "b-creator-claude", "c-creator-claude"];
    for name in names {
        let _ = env.roll(&["create", "claude", "--name", name, "--workspace", "w"]).success();
        env.say(name, "hello");
    }
    env.let_settle();
    env.pass(&[]);
    let ids: Vec<Value> =
        names.iter().map(|name| env.listed(name)["conversation"].clone()).collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids.iter().all(Value::is_string), "{ids:?}");
    env.tmux(&["kill-server"]);
    eventually("all are gone", || names.iter().all(|name| env.listed(name)["seen"] == "gone"));
    let (classes, said) = env.pass(&[]);
    assert_eq!(classes, ["F"], "{said:#}");
    assert_eq!(said["drifts"][0]["sessions"].as_array().unwrap().len(), 3);
    assert!(said["drifts"][0]["hint"].as_str().unwrap().contains("resume --all"));
    let resumed = env.roll(&["resume", "--all", "--json"]).success().json();
    assert_eq!(resumed["resumed"].as_array().unwrap().len(), 3, "{resumed:#}");
    for (name, id) in names.iter().zip(&ids) {
        let row = env.listed(name);
        assert_eq!(
            (&row["status"], &row["seen"], &row["conversation"]),
            (&"running".into(), &"alive".into(), id)
        );
    }
    env.let_settle();
    assert_eq!(env.pass(&[]).0, [""; 0]);
}

#[test]
fn a_file_that_cannot_be_read_is_left_and_sessions_are_still_seen() {
    let env = TestEnv::with_claude();
    env.by_hand("lab-creator-claude");
    let broken = "sessions:\n  a:\n    agent: claude\n  a:\n    agent: codex\n";
    let _ = env.dogwatch(&["ls"]).success();
    fs::write(env.registry_path(), broken).unwrap();
    let said = env.roll(&["reconcile", "--once", "--emit-diff"]).code(6).json();
    assert_eq!(said["error"]["code"], "bad_registry");
    assert!(said["error"]["message"].as_str().unwrap().contains("line 4, column 3"), "{said}");
    let said = env.roll(&["registry", "--json"]).code(6).json();
    assert_eq!(
        (&said["sessions"][0]["name"], &said["sessions"][0]["listed"]),
        (&"lab-creator-claude".into(), &false.into())
    );
    assert_eq!(
        env.roll(&["create", "claude", "--json"]).code(6).json()["error"]["code"],
        "bad_registry"
    );
    assert_eq!(env.registry(), broken);
    let elsewhere = env.root().join("none/x.yaml");
    let elsewhere = elsewhere.to_str().unwrap();
    assert_eq!(env.roll(&["reconcile", "--once", "--registry", elsewhere]).code(6).stdout, b"");
    let own = env.work().join("own.yaml");
    let mut command =
        env.roll_command(&["reconcile", "--once", "--pattern", "lab-<workspace>-<agent>"]);
    let _ = env.run(command.env("DOGWATCH_REGISTRY", &own)).success();
    assert!(fs::read_to_string(own).unwrap().contains("workspace: creator"));
}

#[test]
fn a_persons_file_keeps_its_words() {
    let env = TestEnv::with_claude();
    let _ = env.dogwatch(&["ls"]).success();
    let mine = "# mine\nsessions: # all of them\n  gone-creator-agy: # a friend\n    status: running # hopefully\n    likes: [tea]\n# bye\n";
    fs::write(env.registry_path(), mine).unwrap();
    env.by_hand("lab-creator-claude");
    env.pass(&[]);
    let text = env.registry();
    for kept in [
        "# mine\n",
        "sessions: # all of them\n",
        "gone-creator-agy: # a friend\n",
        "status: terminated # hopefully\n",
        "likes: [tea]\n",
        "# bye\n",
    ] {
        assert!(text.contains(kept), "{kept:?} in:\n{text}");
    }
    assert!(text.contains("  lab-creator-claude:\n"), "{text}");
}

#[test]
fn a_file_that_cannot_be_read_is_not_called_empty() {
    let env = TestEnv::new();
    let file = env.work().join("roll.yaml");
    fs::write(&file, "sessions: [\n").unwrap();
    let words = ["registry", "--registry", file.to_str().unwrap()];
    let said = env.run(&mut env.roll_command(&words)).code(6);
    assert!(said.stderr.contains("error: "), "{said}");
    assert!(!said.stderr.contains("the registry is empty"), "{said}");
}
