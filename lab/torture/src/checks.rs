//! Checks the invariants after each round.

use std::fs;
use std::time::{Duration, Instant};

use dogwatch_testkit::process;

use crate::judge::{self, Reported};
use crate::ledger;
use crate::plan::Role;
use crate::stage::Stage;

/// How long the true status may take to appear after a fault.
const SETTLE: Duration = Duration::from_secs(20);

/// After each fault the next command works.
pub(crate) fn recovers(stage: &Stage) {
    let probe = format!("p{}", stage.round());
    let begun = Instant::now();
    loop {
        let listed = stage.dogwatch(&["ls", "--json"]);
        let spawned = stage.dogwatch(&["spawn", "--json", "--name", &probe, "--", "true"]);
        if listed.is_ok() && spawned.is_ok() {
            break;
        }
        if begun.elapsed() > SETTLE || stage.is_interrupted() {
            stage.violation(format_args!(
                "does not recover: ls {:?} {}, spawn {:?} {}",
                listed.code,
                listed.words(),
                spawned.code,
                spawned.words()
            ));
            return;
        }
        // sleep: a fault may take a moment to end: a tmux server that exits, a lock that is held.
        std::thread::sleep(Duration::from_millis(200));
    }
    let took = begun.elapsed();
    stage.checked("recoveries", 1);
    stage.log(format_args!("recovered in {:.3} s", took.as_secs_f64()));
}

/// Checks every open session, and closes those that are over and were reported correctly.
pub(crate) fn sessions(stage: &Stage) {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(100);
    loop {
        let complaints = judge_all(stage);
        if complaints.is_empty() {
            return;
        }
        if begun.elapsed() > SETTLE || stage.is_interrupted() {
            for (name, text) in complaints {
                stage.violation(format_args!("{name}: {text}"));
                // Report it only once.
                stage.ledger().close(&name);
            }
            return;
        }
        // sleep: poll interval.
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_secs(1));
    }
}

fn judge_all(stage: &Stage) -> Vec<(String, String)> {
    // First reality, then the report: what ends in between is checked again.
    let scan = ledger::scan();
    let names = stage.ledger().names();
    let mut truths = Vec::new();
    for name in names {
        let (began, said_end) = ledger::witness(&stage.world, &name);
        stage.ledger().change(&name, |entry| {
            entry.truth.began = began;
            entry.truth.said_end = said_end;
            entry.truth.is_alive = ledger::agent_lives(&name, entry.pid, &scan);
        });
        if let Some(entry) = stage.ledger().get(&name) {
            truths.push((name.clone(), entry.clone()));
        }
    }
    let listed = stage.dogwatch(&["ls", "--all", "--json"]);
    if !listed.is_ok() {
        return vec![("ls".to_owned(), format!("unclear: {}", listed.words()))];
    }
    let listed = listed.json();
    let mut complaints = Vec::new();
    for (name, entry) in truths {
        let (reported, pid) = ledger::reported(&listed, &name);
        if entry.pid.is_none() && pid.is_some() {
            stage.ledger().change(&name, |entry| entry.pid = pid);
        }
        if let Some(text) = judge::complaint(&reported, &entry.truth) {
            complaints.push((
                name,
                format!("{text}; reported {reported:?}, truth {:?}, {:?}", entry.truth, entry.role),
            ));
        } else if matches!(reported, Reported::Nothing | Reported::Over { .. } | Reported::Lost)
            && !entry.truth.is_alive
        {
            messages(stage, &name, entry.role);
            stage.checked("endings", 1);
            stage.ledger().close(&name);
        }
    }
    complaints
}

/// No message is delivered twice, and one that was delivered has arrived.
fn messages(stage: &Stage, name: &str, role: Role) {
    if role != Role::Agent {
        return;
    }
    let witness = stage.world.witness(name);
    let took = fs::read_to_string(&witness).unwrap_or_default();
    let received = fs::read(witness.with_file_name(format!("{name}.received"))).unwrap_or_default();
    let received = String::from_utf8_lossy(&received);
    let all: Vec<_> = {
        let mut ledger = stage.ledger();
        ledger.messages.extract_if(.., |message| message.session == name).collect()
    };
    stage.checked("messages", all.len());
    for message in all {
        let pasted = received.matches(&message.text).count();
        let line = format!("took {}", message.text);
        let taken = took.lines().filter(|one| *one == line).count();
        if pasted > 1 || taken > 1 {
            stage.violation(format_args!(
                "twice: {message:?} was pasted {pasted} and taken {taken} times"
            ));
        }
        if message.outcome.as_deref() == Some("delivered") && taken == 0 {
            stage.violation(format_args!("lost: {message:?} is said to be delivered, and is not"));
        }
    }
}

/// A tmux session of the user's own, which no command may touch.
pub(crate) const MINE: &str = "mine";

/// No growth: after everything has ended and was removed, next to nothing is left.
pub(crate) fn leftovers(stage: &Stage, known: &[i32], projects: usize) {
    let state = stage.world.state();
    let count = |name: &str| fs::read_dir(state.join(name)).into_iter().flatten().count();
    let allowed = usize::try_from(stage.ledger().cut_spawns).unwrap_or(usize::MAX);
    // Each project in which stories were run keeps its lock: who waits for one has it open.
    let limits = [("sessions", allowed), ("spool", 0), ("locks", 40 + projects), ("news", 40)];
    for (folder, limit) in limits {
        if count(folder) > limit {
            stage.violation(format_args!(
                "growth: {} files in {folder}, at most {limit}",
                count(folder)
            ));
        }
    }
    for entry in fs::read_dir(state.join("sessions")).into_iter().flatten().flatten() {
        let file = entry.path().join("environment");
        if fs::read(file).is_ok_and(|bytes| process::contains(&bytes, crate::world::SECRET)) {
            stage.violation(format_args!(
                "secret: an environment stays in {}",
                entry.path().display()
            ));
        }
    }
    let left = fs::read_dir(stage.world.path("tmp")).into_iter().flatten().flatten();
    for file in left.filter(|file| !file.file_name().to_string_lossy().starts_with("tmux-")) {
        stage.violation(format_args!("growth: {} is left", file.path().display()));
    }
    processes(stage, known);
    tmux_sessions(stage);
    stage.checked("checkpoints", 1);
}

fn processes(stage: &Stage, known: &[i32]) {
    let mark = stage.world.root().display().to_string();
    let server = stage.world.server_pid();
    // Processes in panes are checked as sessions.
    let mut known: Vec<i32> = known.iter().copied().chain(server).collect();
    let mut at = 0;
    while let Some(&pid) = known.get(at) {
        known.extend(process::children(pid));
        at += 1;
    }
    let begun = Instant::now();
    loop {
        let mut left = process::carrying(&mark);
        left.retain(|pid| !known.contains(pid));
        if left.is_empty() {
            return;
        }
        if begun.elapsed() > Duration::from_secs(8) {
            for pid in left {
                let line = format!("{} of {:?}", process::command_line(pid), process::parent(pid));
                stage.violation(format_args!("growth: process {pid} is left: {line}"));
                process::try_signal(pid, rustix::process::Signal::KILL);
            }
            return;
        }
        // sleep: poll interval.
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Sessions whose records were lost with the database's log: end them as a person would; their directories stay for an hour.
pub(crate) fn end_forgotten(stage: &Stage) {
    let listed = stage.world.tmux(&["list-sessions", "-F", "#{session_name}"]).unwrap_or_default();
    for name in odd_sessions(&listed) {
        let _ = stage.world.tmux(&["kill-session", "-t", &format!("={name}")]);
    }
    let folders = fs::read_dir(stage.world.state().join("sessions")).into_iter().flatten().count();
    stage.ledger().cut_spawns += u64::try_from(folders).unwrap_or(0);
}

fn odd_sessions(listed: &str) -> Vec<&str> {
    listed.lines().filter(|name| *name != MINE && !name.starts_with("_dogwatch")).collect()
}

fn tmux_sessions(stage: &Stage) {
    let listed = stage.world.tmux(&["list-sessions", "-F", "#{session_name}"]).unwrap_or_default();
    let hidden = listed.lines().filter(|name| name.starts_with("_dogwatch")).count();
    let odd = odd_sessions(&listed);
    if !odd.is_empty() {
        stage.violation(format_args!("growth: tmux sessions are left: {odd:?}"));
    }
    if hidden > 6 {
        stage.violation(format_args!("growth: {hidden} hidden tmux sessions"));
    }
}
