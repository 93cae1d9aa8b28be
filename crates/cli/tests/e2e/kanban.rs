//! The monitor with a scripted board: what the real one does not do on demand.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use dogwatch_testkit::{TestEnv, eventually, eventually_or};

/// Plays `hermes kanban`: one card whose comments are lines in a file. As the real one it ends with 0 whatever happens.
const HERMES: &str = r#"
cd "$(dirname "$0")"
[ -e hang ] && exec sleep 300
[ -e fail ] && { echo "kanban: database is locked" >&2; exit 0; }
verb=$2
echo "$verb" >> calls
case $verb in
show)
  printf '{"task":{"status":"%s"},"comments":[' "$(cat status)"
  gap=
  while read -r author body; do
    printf '%s{"author":"%s","body":"%s","created_at":1}' "$gap" "$author" "$body"
    gap=,
  done < comments
  printf ']}\n' ;;
claim) echo running > status; echo "Claimed t_1" ;;
heartbeat) echo "Heartbeat recorded for t_1" ;;
comment) for body; do :; done; printf 'dogwatch %s\n' "$(printf %s "$body" | tr '\n' '~')" >> comments
  echo "Comment added to t_1" ;;
block) echo blocked > status; echo "Blocked t_1: x" ;;
esac
"#;

struct Board {
    env: TestEnv,
}

impl Board {
    fn new() -> Self {
        let env = TestEnv::new();
        env.write_program("hermes", HERMES);
        let board = Self { env };
        fs::write(board.file("comments"), "").unwrap();
        fs::write(board.file("status"), "ready").unwrap();
        board
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.env.root().join("bin").join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    fn monitor(&self) -> Command {
        let hermes = self.file("hermes").to_string_lossy().into_owned();
        let words =
            ["monitor", "--kanban", "t_1", "--hermes", &hermes, "--interval", "200ms", "--json"];
        self.env.command(&words)
    }

    fn start(&self) -> Child {
        let log = fs::File::create(self.file("log")).unwrap();
        self.monitor().stdout(log).stderr(Stdio::null()).spawn().unwrap()
    }
}

fn open_files(pid: u32) -> usize {
    fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")).unwrap().count()
}

fn resident(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Hundreds of passes, calls and differences leave it as it was.
#[test]
#[cfg(target_os = "linux")]
fn it_does_not_grow() {
    let board = Board::new();
    let mut monitor = board.start();
    let shows = |count: usize| board.read("calls").matches("show").count() >= count;
    for round in 0..6 {
        let name = format!("w{round}-creator-claude");
        board.env.spawn_script(&name, "exec sleep 300");
        eventually("it is told", || board.read("comments").contains(&name));
    }
    eventually("it has looked", || shows(10));
    let (files, memory) = (open_files(monitor.id()), resident(monitor.id()));
    eventually("it has looked often", || shows(60));
    // The last one stays: without any, the server would be gone, which is another difference.
    for round in 0..5 {
        board.env.tmux(&["kill-session", "-t", &format!("=w{round}-creator-claude")]);
    }
    eventually("it is told of all ends", || board.read("comments").matches("[A]").count() == 5);
    assert!(open_files(monitor.id()) <= files + 2, "{files}, then {}", open_files(monitor.id()));
    let grown = resident(monitor.id()).saturating_sub(memory);
    assert!(grown < 4 << 20, "{grown} bytes more");
    monitor.kill().unwrap();
    monitor.wait().unwrap();
    let comments = board.read("comments");
    let mut lines: Vec<&str> = comments.lines().collect();
    lines.sort_unstable();
    let count = lines.len();
    lines.dedup();
    assert_eq!(lines.len(), count, "nothing twice: {comments}");
}

#[test]
fn a_board_that_fails_is_tried_again() {
    let board = Board::new();
    let mut monitor = board.start();
    eventually("it is at its post", || board.read("log").contains("heartbeat"));
    fs::write(board.file("fail"), "").unwrap();
    board.env.spawn_script("one-creator-claude", "exec sleep 300");
    eventually_or("the trouble is said", || {
        let log = board.read("log");
        if log.contains("database is locked") { Ok(()) } else { Err(log) }
    });
    fs::remove_file(board.file("fail")).unwrap();
    eventually("it is told", || board.read("comments").contains("one-creator-claude"));
    eventually("and that is said", || board.read("log").contains("\"well\""));
    assert_eq!(board.read("log").matches("database is locked").count(), 1, "said once");
    fs::write(board.file("comments"), board.read("comments") + "ann stop\n").unwrap();
    assert!(monitor.wait().unwrap().success());
    assert_eq!(board.read("status").trim(), "blocked");
}

#[test]
fn what_is_wrong_is_said_at_once() {
    let board = Board::new();
    let none = ["monitor", "--kanban", "t_1", "--hermes", "no-such-hermes", "--json"];
    let missing = board.env.dogwatch(&none).code(7).json();
    assert_eq!(missing["error"]["hint"], "install it: pip install hermes-agent");
    fs::write(board.file("fail"), "").unwrap();
    let failed = board.env.run(&mut board.monitor()).code(1).json();
    assert!(
        failed["error"]["message"].as_str().unwrap().contains("database is locked"),
        "{failed}"
    );
    fs::remove_file(board.file("fail")).unwrap();
    fs::write(board.file("status"), "done").unwrap();
    fs::write(board.file("hermes"), "#!/bin/sh\necho 'cannot claim t_1: status=done' >&2\n")
        .unwrap();
    let strange = board.env.run(&mut board.monitor()).code(1).json();
    assert_eq!(strange["error"]["code"], "report_target", "{strange}");
}

/// Without a card, people are told by what they have set up.
#[test]
fn people_are_told_of_differences() {
    let env = TestEnv::new();
    let told = env.work().join("told");
    let program = env.write_program("tell", &format!("cat >> {0}; echo >> {0}", told.display()));
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    let table = format!(
        "[[notify]]\nkind = 'command'\ncommand = ['{}']\non = ['drift']\n",
        program.display()
    );
    fs::write(folder.join("config.toml"), table).unwrap();
    let mut monitor = env.command(&["monitor", "--interval", "200ms"]);
    let mut monitor = monitor.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let posts = || {
        let database = rusqlite::Connection::open(env.state_dir().join("dogwatch.db"));
        let count = database
            .and_then(|c| c.query_row("SELECT count(*) FROM monitors", [], |r| r.get::<_, i64>(0)));
        count.unwrap_or(0)
    };
    eventually("it is at its post", || posts() == 1);
    env.spawn_script("one-creator-claude", "exec sleep 300");
    let text = || fs::read_to_string(&told).unwrap_or_default();
    eventually("somebody is told", || {
        text().contains("\"drift\"") && text().contains("one-creator-claude")
    });
    monitor.kill().unwrap();
    monitor.wait().unwrap();
}
