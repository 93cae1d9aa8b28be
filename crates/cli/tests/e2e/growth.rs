//! What piles up: ended sessions, hooks, events. None of it may be in the way of what lives.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};

use dogwatch_core::launch::Launch;
use dogwatch_core::name::SessionName;
use dogwatch_core::record::{Cause, Ended, Exit, ProcessIdent, Started};
use dogwatch_store::{NewSession, StateDir, Store, Wanted};
use dogwatch_testkit::{TestEnv, eventually};
use jiff::{SignedDuration, Timestamp};

/// Sessions that ended some hours ago, as a real end leaves them, but for their panes.
fn seed_ended(env: &TestEnv, prefix: &str, count: usize, hours_ago: i64) {
    let dir = StateDir::open(env.state_dir()).unwrap();
    let mut store = Store::open(&dir).unwrap();
    let at = Timestamp::now() - SignedDuration::from_hours(hours_ago);
    for n in 0..count {
        let (id, name) = (uuid(), SessionName::new(&format!("{prefix}-{n}")).unwrap());
        let socket = env.socket();
        let new = NewSession {
            id: &id,
            agent: "command",
            project: env.work(),
            cwd: env.work(),
            story: None,
            model: None,
            conversation: None,
            command: &[],
            socket: &socket,
            created: at,
            tags: &[],
            membership: None,
            subscriber: None,
            limits: None,
            prompt: None,
        };
        let launch = Launch {
            argv: vec!["true".into()],
            shown: vec![],
            env: vec![],
            files: vec![],
            prompt_in_file: false,
            fallback: None,
        };
        let folder = dir.session(&id);
        folder.create(&launch, None).unwrap();
        store.register(&new, Wanted::Exactly(&name), &[]).unwrap().unwrap();
        let gone = ProcessIdent { pid: i32::MAX, start: 1 };
        let started = Started { at, runner: gone, agent: gone, pane: Some("%999999".into()) };
        folder.write_started(&started).unwrap();
        store.started(&id, &started).unwrap();
        let ended = Ended {
            at,
            exit: Exit::Code(0),
            cause: Cause::Itself,
            error: None,
            by: None,
            hangup: None,
        };
        folder.write_ended(&ended).unwrap();
        store.ended(&id, &ended).unwrap();
    }
}

fn uuid() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("01a1df30-7629-7000-8000-{:012x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn listed(env: &TestEnv, args: &[&str]) -> (usize, u64) {
    let json = env.dogwatch(args).success().json();
    (json["sessions"].as_array().unwrap().len(), json["left_out"].as_u64().unwrap())
}

#[test]
fn ended_sessions_leave_the_lists_after_a_day() {
    let env = TestEnv::new();
    let _alive = env.spawn_script("alive", "exec sleep 300");
    seed_ended(&env, "recent", 2, 1);
    seed_ended(&env, "old", 3, 25);
    for command in ["ls", "status"] {
        assert_eq!(listed(&env, &[command, "--json"]), (3, 3), "{command}");
        assert_eq!(listed(&env, &[command, "--all", "--json"]), (6, 0), "{command}");
        let said = env.dogwatch(&[command]).success();
        assert!(said.to_string().contains("3 more ended sessions are not shown; --all shows them"));
    }
    // They are known by name all the same.
    assert_eq!(
        env.dogwatch(&["status", "old-1", "--json"]).json()["sessions"][0]["state"],
        "exited"
    );
}

#[test]
fn of_many_that_ended_the_last_hundred_are_listed() {
    let env = TestEnv::new();
    seed_ended(&env, "older", 30, 3);
    seed_ended(&env, "newer", 100, 1);
    assert_eq!(listed(&env, &["ls", "--json"]), (100, 30));
    let table = env.dogwatch(&["ls"]).text();
    assert!(table.contains("newer-0") && table.contains("newer-99") && !table.contains("older-"));
}

#[test]
fn gc_forgets_many_and_leaves_nothing_of_them() {
    let env = TestEnv::new();
    seed_ended(&env, "old", 300, 24 * 8);
    seed_ended(&env, "young", 3, 1);
    let told = env.dogwatch(&["gc", "--json"]).success().json();
    assert_eq!(told["sessions"].as_array().unwrap().len(), 300);
    assert_eq!(count(&env.state_dir().join("sessions")), 3);
    assert_eq!(listed(&env, &["ls", "--all", "--json"]).0, 3);
}

#[test]
fn a_long_journal_is_printed_whole_and_in_order() {
    let env = TestEnv::new();
    let mut store = Store::open(&StateDir::open(env.state_dir()).unwrap()).unwrap();
    for n in 0..1_203 {
        store
            .record_event(Timestamp::now(), None, "heartbeat", &serde_json::json!({ "n": n }))
            .unwrap();
    }
    let printed = |args: &[&str]| -> Vec<i64> {
        let text = env.dogwatch(args).success().text();
        let event = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        text.lines().map(|line| event(line)["data"]["n"].as_i64().unwrap()).collect()
    };
    assert_eq!(printed(&["events", "--json"]), (0..1_203).collect::<Vec<_>>());
    assert_eq!(printed(&["events", "--json", "--last", "702"]), (501..1_203).collect::<Vec<_>>());
    assert_eq!(printed(&["events", "--json", "--last", "1"]), [1_202]);
}

/// Starts a command that follows what happens, and waits until it does.
fn follow(env: &TestEnv, args: &[&str]) -> Child {
    let mut child =
        env.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 1];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    child
}

#[test]
fn those_who_follow_say_that_their_files_were_taken_away() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 3] = [
        ("dogwatch.db-wal", |state| fs::remove_file(state.join("dogwatch.db-wal")).unwrap()),
        ("dogwatch.db", |state| {
            fs::copy(state.join("dogwatch.db"), state.join("backup")).unwrap();
            fs::rename(state.join("backup"), state.join("dogwatch.db")).unwrap();
        }),
        ("state", |state| fs::rename(state, state.with_extension("old")).unwrap()),
    ];
    for (what, harm) in harms {
        let env = TestEnv::new();
        let _session = env.spawn_script("x", "exec sleep 300");
        let followers = [follow(&env, &["watch"]), follow(&env, &["events", "--follow"])];
        harm(env.state_dir());
        for mut follower in followers {
            eventually("it ends", || follower.try_wait().unwrap().is_some());
            let output = follower.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(6), "{said}");
            assert!(said.contains(&format!("{what} was removed or replaced")), "{said}");
        }
        // For the end of the test.
        let old = env.state_dir().with_extension("old");
        if old.exists() {
            let _ = fs::remove_dir_all(env.state_dir());
            fs::rename(old, env.state_dir()).unwrap();
        }
    }
}

#[test]
fn dead_panes_go_when_their_sessions_have_left_the_lists() {
    let env = TestEnv::new();
    let _alive = env.spawn_script("alive", "exec sleep 300");
    for name in ["recent", "old"] {
        env.spawn_script(name, "echo what it said; exit 0");
        env.wait_state(name, "exited");
    }
    let database = rusqlite::Connection::open(env.state_dir().join("dogwatch.db")).unwrap();
    database
        .execute("UPDATE sessions SET over = over - 2*86400000 WHERE name = 'old'", [])
        .unwrap();
    let _ = env.dogwatch(&["gc"]).success();
    let mut left: Vec<String> =
        env.tmux(&["list-sessions", "-F", "#{session_name}"]).lines().map(str::to_owned).collect();
    left.sort();
    assert_eq!(left, ["alive", "recent"]);
    assert!(env.dogwatch(&["capture", "old"]).success().text().contains("what it said"));
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}
