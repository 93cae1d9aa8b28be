//! Many writers, a person's editor and `kill -9`, all on one registry.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dogwatch_testkit::TestEnv;
use rustix::fs::{CWD, RenameFlags, renameat_with};

const WRITERS: usize = 8;

/// 20 s, or as many as `DOGWATCH_CROWD_SECONDS` says.
fn how_long() -> Duration {
    let told = std::env::var("DOGWATCH_CROWD_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(told.unwrap_or(20))
}

/// Numbers without a clock or a crate: which writer is killed, and after how long.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Each writer changes a session of its own, over and over, a third of them killed at any moment, and the person saves notes. In the
/// end each session is as its last command that came to its end left it, every note is there, and no reader ever saw a
/// part of a file.
#[test]
fn nothing_is_lost() {
    let env = TestEnv::new();
    let file = env.state_dir().join("agent-sessions.yaml");
    env.tmux(&["new-session", "-d", "-s", "stays"]);
    for writer in 0..WRITERS {
        env.tmux(&["new-session", "-d", "-s", &format!("w{writer}"), "sh"]);
    }
    let _ = env.dogwatch(&["adopt", "stays", "--agent", "claude"]).success();
    let until = Instant::now() + how_long();
    let (over, torn, kills, done) =
        (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let (last, notes) = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (env, kills, done) = (&env, &kills, &done);
                scope.spawn(move || write(env, writer, until, kills, done))
            })
            .collect();
        let person = scope.spawn(|| edit(&file, until));
        let reader = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let text = fs::read_to_string(&file).unwrap_or_default();
                if !text.contains("sessions:") || !text.ends_with('\n') {
                    torn.fetch_add(1, Ordering::Relaxed);
                }
                // sleep: the pace of a reader.
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let last: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        let notes = person.join();
        over.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        let last: Vec<_> = last.into_iter().map(Result::unwrap).collect();
        let notes = notes.unwrap();
        (last, notes)
    });
    let text = fs::read_to_string(&file).unwrap();
    for note in 0..notes {
        assert!(text.contains(&format!("# note {note}\n")), "note {note} of {notes} lost:\n{text}");
    }
    let listed = env.dogwatch(&["registry", "--json"]).success().json();
    let rows: BTreeMap<&str, &str> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["role"].as_str().unwrap_or_default()))
        .collect();
    for (writer, rounds) in last.iter().enumerate() {
        let role = rows.get(format!("w{writer}").as_str()).copied().unwrap_or_default();
        assert!(
            rounds.contains(&role.to_owned()),
            "w{writer} is {role:?}, and not {rounds:?}:\n{text}"
        );
    }
    assert_eq!(torn.load(Ordering::Relaxed), 0, "a file was seen that was not whole");
    let (kills, done) = (kills.load(Ordering::Relaxed), done.load(Ordering::Relaxed));
    eprintln!("{done} writes, {kills} killed, {notes} notes");
    assert!(done > WRITERS && kills > 0, "{done} writes, {kills} killed");
}

/// What the session may be like in the end: as the last command that was not killed left it, or one killed after it.
fn write(
    env: &TestEnv,
    writer: usize,
    until: Instant,
    kills: &AtomicUsize,
    done: &AtomicUsize,
) -> Vec<String> {
    let name = format!("w{writer}");
    let mut dice = Dice(0x9e37_79b9 + writer as u64);
    let mut possible = vec![String::new()];
    for round in 0.. {
        if Instant::now() > until {
            break;
        }
        let role = format!("r{round}");
        let args = ["adopt", &name, "--agent", "claude", "--role", &role];
        let mut child =
            env.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        if dice.roll(3) == 0 {
            // sleep: the moments of a kill are spread over what the command does.
            std::thread::sleep(Duration::from_millis(dice.roll(60)));
            let was_running = child.try_wait().unwrap().is_none();
            let _ = child.kill();
            let _ = child.wait();
            kills.fetch_add(usize::from(was_running), Ordering::Relaxed);
            possible.push(role);
        } else {
            let output = child.wait_with_output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name} {role}: {error}");
            done.fetch_add(1, Ordering::Relaxed);
            possible = vec![role];
        }
    }
    possible
}

/// Adds notes of the person's own; returns how many. Their editor makes sure that it overwrites nothing but what was read.
fn edit(file: &Path, until: Instant) -> usize {
    let new = file.with_extension("mine");
    let swap = || renameat_with(CWD, &new, CWD, file, RenameFlags::EXCHANGE).unwrap();
    let mut notes = 0;
    while Instant::now() < until {
        let before = fs::read_to_string(file).unwrap();
        let after = before.replacen("sessions:", &format!("# note {notes}\nsessions:"), 1);
        fs::write(&new, &after).unwrap();
        swap();
        if fs::read_to_string(&new).unwrap() == before {
            notes += 1;
        } else {
            while fs::read_to_string(&new).unwrap() != after {
                swap();
            }
        }
        // sleep: the pace of a person: dogwatch waits for those who save without a pause.
        std::thread::sleep(Duration::from_millis(1200));
    }
    notes
}
