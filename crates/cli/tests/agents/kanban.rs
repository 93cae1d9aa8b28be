//! The monitor and a real Hermes Kanban.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use dogwatch_testkit::{TestEnv, skip};
use serde_json::Value;

const VERSION: &str = include_str!("../../../../lab/kanban/version");

/// A board of the test's own.
struct Board {
    env: TestEnv,
    hermes: PathBuf,
}

impl Board {
    /// `None` if hermes is not installed and need not be.
    fn new() -> Option<Self> {
        let set =
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
        let home = cache.join(format!("dogwatch/lab-agents/hermes-{}", VERSION.trim()));
        if !home.join(".complete").exists() {
            skip::skipped(skip::AGENTS, "hermes is not installed; run lab/kanban/install");
            return None;
        }
        let board = Self { env: TestEnv::new(), hermes: home.join("bin/hermes") };
        board.kanban(&["init"]);
        Some(board)
    }

    fn kanban(&self, words: &[&str]) -> String {
        let mut command = self.env.foreign(&self.hermes);
        let output = self.env.run(command.arg("kanban").args(words));
        output.text() + &output.stderr
    }

    fn make_card(&self) -> String {
        let said = self.kanban(&["create", "Watch the sessions", "--json"]);
        let card: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
        card["id"].as_str().unwrap().to_owned()
    }

    fn card(&self, task: &str) -> Value {
        let said = self.kanban(&["show", task, "--json"]);
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"))
    }

    /// The comments by us, without their times, and without that no claude runs in these sessions.
    fn told(&self, task: &str) -> Vec<String> {
        let card = self.card(task);
        let comments = card["comments"].as_array().unwrap().iter();
        let ours = comments.filter(|comment| comment["author"] == "dogwatch");
        let line = |one: &Value| one["body"].as_str().unwrap().lines().next().unwrap().to_owned();
        ours.map(line).filter(|line| !line.starts_with("[E]")).collect()
    }

    fn monitor(&self, task: &str) -> Command {
        let program = self.hermes.to_string_lossy().into_owned();
        let words =
            ["monitor", "--kanban", task, "--hermes", &program, "--interval", "300ms", "--json"];
        self.env.command(&words)
    }

    fn start(&self, task: &str) -> Monitor {
        let out = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.env.work().join("monitor.log"))
            .unwrap();
        let err = out.try_clone().unwrap();
        Monitor(self.monitor(task).stdout(out).stderr(err).spawn().unwrap())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.env.work().join("monitor.log")).unwrap_or_default()
    }

    #[track_caller]
    fn is_told(&self, task: &str, what: &[&str]) {
        in_time("it is told", || {
            let told = self.told(task);
            let fits = told.len() == what.len()
                && told.iter().zip(what).all(|(told, what)| told.contains(what));
            if fits { Ok(()) } else { Err(format!("{told:#?}\n{}", self.log())) }
        });
    }
}

/// A call of hermes takes a quarter of a second of Python, and several on a busy machine.
const PATIENCE: Duration = Duration::from_secs(100);

#[track_caller]
fn in_time(what: &str, mut condition: impl FnMut() -> Result<(), String>) {
    let begun = Instant::now();
    while let Err(instead) = condition() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}; but: {instead}");
    }
}

struct Monitor(Child);

impl Monitor {
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn ends(mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

#[test]
fn a_card_is_claimed_told_and_blocked_when_asked_to_stop() {
    let Some(board) = Board::new() else { return };
    let task = board.make_card();
    // Said before we came: not to us.
    board.kanban(&["comment", &task, "stop"]);
    let monitor = board.start(&task);
    in_time("it is claimed, and hears that all is well", || {
        let card = board.card(&task);
        let is_running = card["task"]["status"] == "running";
        let heard = |kind: &str| {
            card["events"].as_array().unwrap().iter().any(|event| event["kind"] == kind)
        };
        if is_running && heard("heartbeat") { Ok(()) } else { Err(board.log()) }
    });
    board.env.spawn_script("one-creator-claude", "exec sleep 300");
    board.is_told(&task, &["[B] one"]);
    board.env.tmux(&["kill-session", "-t", "=one-creator-claude"]);
    board.is_told(&task, &["[B] one", "[A] one"]);
    board.kanban(&["comment", &task, "--author", "dogwatch", "stop"]);
    board.kanban(&["comment", &task, "--author", "ann", "please don't stop"]);
    board.env.spawn_script("two-creator-claude", "exec sleep 300");
    board.is_told(&task, &["[B] one", "[A] one", "stop", "[B] two"]);
    board.kanban(&["comment", &task, "--author", "ann", "Stop monitoring."]);
    assert_eq!(monitor.ends(), Some(0), "{}", board.log());
    let card = board.card(&task);
    assert_eq!(card["task"]["status"], "blocked");
    assert_eq!(card["latest_summary"], "stop-requested by ann");
    board.is_told(&task, &["[B] one", "[A] one", "stop", "[B] two"]);
    let again = board.env.run(&mut board.monitor(&task)).code(4).json();
    assert_eq!(again["error"]["code"], "report_target_taken", "{again}");
}

#[test]
fn killed_and_started_again_it_tells_nothing_twice() {
    let Some(board) = Board::new() else { return };
    let task = board.make_card();
    let first = board.start(&task);
    board.env.spawn_script("one-creator-claude", "exec sleep 300");
    board.is_told(&task, &["[B] one"]);
    first.kill();
    // Found by somebody else while nobody is at the post.
    board.env.spawn_script("two-creator-claude", "exec sleep 300");
    let _ = board.env.dogwatch(&["reconcile", "--once"]).success();
    let second = board.start(&task);
    board.is_told(&task, &["[B] one", "[B] two"]);
    second.kill();
    // As if it had been killed after it told and before it wrote that down.
    let database = rusqlite::Connection::open(board.env.state_dir().join("dogwatch.db")).unwrap();
    database.busy_timeout(Duration::from_secs(20)).unwrap();
    database.execute("UPDATE monitors SET told = 0", []).unwrap();
    board.env.spawn_script("three-creator-claude", "exec sleep 300");
    let third = board.start(&task);
    board.is_told(&task, &["[B] one", "[B] two", "[B] three"]);
    board.kanban(&["comment", &task, "--author", "ann", "stop"]);
    assert_eq!(third.ends(), Some(0), "{}", board.log());
    board.is_told(&task, &["[B] one", "[B] two", "[B] three"]);
}

#[test]
fn a_card_that_is_not_to_be_had_is_said() {
    let Some(board) = Board::new() else { return };
    let task = board.make_card();
    board.kanban(&["claim", &task]);
    let taken = board.env.run(&mut board.monitor(&task)).code(4).json();
    assert!(taken["error"]["message"].as_str().unwrap().contains("cannot claim"), "{taken}");
    let missing = board.env.run(&mut board.monitor("t_nosuch")).code(3).json();
    assert_eq!(missing["error"]["code"], "no_such_card");
    let mut elsewhere = board.monitor(&task);
    let wrong = board.env.run(elsewhere.args(["--board", "nowhere"])).code(1).json();
    assert!(wrong["error"]["message"].as_str().unwrap().contains("does not exist"), "{wrong}");
}

/// Somebody finishes the card under us.
#[test]
fn a_card_that_is_no_longer_ours_ends_it() {
    let Some(board) = Board::new() else { return };
    let task = board.make_card();
    let monitor = board.start(&task);
    board.env.spawn_script("one-creator-claude", "exec sleep 300");
    board.is_told(&task, &["[B] one"]);
    board.kanban(&["complete", &task]);
    assert_eq!(monitor.ends(), Some(4), "{}", board.log());
    assert!(board.log().contains("it is done"), "{}", board.log());
}

/// A dispatcher that thinks us dead takes the claim off.
#[test]
fn a_claim_that_was_taken_off_is_made_again() {
    let Some(board) = Board::new() else { return };
    let task = board.make_card();
    let monitor = board.start(&task);
    in_time("it is claimed", || {
        if board.card(&task)["task"]["status"] == "running" { Ok(()) } else { Err(board.log()) }
    });
    board.kanban(&["reclaim", &task]);
    in_time("it is claimed again", || {
        let card = board.card(&task);
        let claims =
            card["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "claimed");
        if claims.count() == 2 { Ok(()) } else { Err(board.log()) }
    });
    board.env.spawn_script("one-creator-claude", "exec sleep 300");
    board.is_told(&task, &["[B] one"]);
    monitor.kill();
}
