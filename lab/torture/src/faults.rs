//! Faults: injected in the middle of a round, and reverted at its end.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use dogwatch_testkit::process;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::broker::Broker;
use crate::deeds;
use crate::disk::Disk;
use crate::plan::{Fault, Round, Service};
use crate::service::Daemon;
use crate::stage::Stage;
use crate::story::Stories;
use crate::supervisors::{self, Trouble};

/// Targets of faults besides sessions.
#[derive(Debug)]
pub(crate) struct Targets {
    pub(crate) disk: Option<Disk>,
    pub(crate) broker: Option<Broker>,
    pub(crate) daemons: Vec<Daemon>,
    pub(crate) stories: Stories,
    /// The broker was killed, or the database's log deleted, since completeness was last checked.
    pub(crate) events_may_miss: bool,
    /// The database's log was deleted since the last checkpoint.
    pub(crate) log_deleted: bool,
}

impl Targets {
    pub(crate) fn daemon(&mut self, service: Service) -> Option<&mut Daemon> {
        self.daemons.iter_mut().find(|daemon| daemon.name == service.as_str())
    }

    fn pid(&mut self, service: Service) -> Option<i32> {
        match service {
            Service::Story => self.stories.pid(),
            _ => self.daemon(service)?.pid(),
        }
    }
}

/// Injects the fault, holds it for its time, and reverts it.
pub(crate) fn inject(stage: &Stage, round: &Round, targets: &mut Targets) {
    // sleep: the time of the fault, by the plan.
    std::thread::sleep(Duration::from_millis(round.fault_after_ms));
    let hold = Duration::from_millis(round.fault_for_ms);
    let done = match round.fault {
        Fault::None => true,
        Fault::KillSupervisors => supervisors::disturb(stage, round.fault_pick, Trouble::Kills),
        Fault::StopSupervisor => supervisors::disturb(stage, round.fault_pick, Trouble::Stopped),
        Fault::ReplaceSupervisor => {
            supervisors::disturb(stage, round.fault_pick, Trouble::Replaced)
        }
        Fault::FullSupervisor => targets.disk.as_ref().is_some_and(|disk| {
            disturb_spawns(stage);
            let done = supervisors::disturb(stage, round.fault_pick, Trouble::Full(disk));
            disturb_spawns(stage);
            done
        }),
        Fault::KillRunner => kill_runner(stage, round.fault_pick, targets),
        Fault::KillAgent => kill_agent(stage, round.fault_pick),
        Fault::DyingAgents => dying_agents(stage, round.fault_pick),
        Fault::KillServer | Fault::EndServer => end_server(stage, round.fault),
        Fault::KillControlClient => kill_control_client(round.fault_pick, targets),
        Fault::KillTmuxCommand => kill_tmux_command(stage),
        Fault::KillService(Service::Story) => targets.stories.kill(),
        Fault::KillService(service) => targets.daemon(service).is_some_and(Daemon::kill),
        Fault::StopRunner => {
            let pid = pick_runner(stage, round.fault_pick).map(|(_, pid)| pid);
            stop(pid.into_iter().collect(), hold)
        }
        Fault::StopAgent => {
            let name = stage.ledger().pick(round.fault_pick, |entry| !entry.truth.kill_asked);
            let pid = name.and_then(|name| stage.ledger().get(&name)?.pid);
            stop(pid.into_iter().collect(), hold)
        }
        Fault::StopServer => stop(stage.world.server_pid().into_iter().collect(), hold),
        Fault::StopService(service) => stop(targets.pid(service).into_iter().collect(), hold),
        Fault::StopCommands => {
            disturb_spawns(stage);
            stop(stage.commands.pids(), hold)
        }
        Fault::DiskFull => full_disk(stage, targets, hold),
        Fault::DiskReadOnly => read_only_disk(stage, targets, hold),
        Fault::DeletedLog => delete_log(stage, targets),
        Fault::DatabaseLocked => lock_database(stage, hold),
        Fault::HookStorm => hook_storm(stage, round.fault_pick),
        Fault::BrokerStopped => broker_away(stage, targets, Signal::TERM, hold),
        Fault::BrokerKilled => broker_away(stage, targets, Signal::KILL, hold),
        Fault::HostileFiles => hostile_files(stage, round.fault_pick, hold),
    };
    if done {
        stage.injected(round.fault.label());
    } else {
        stage.log(format_args!("nothing to aim {} at", round.fault.label()));
    }
}

fn disturb_spawns(stage: &Stage) {
    stage.ledger().change_all(|entry| entry.truth.spawn_disturbed |= entry.spawning);
}

/// The runner of a session, by its own record.
fn runner_of(stage: &Stage, id: &str) -> Option<i32> {
    let path = stage.world.state().join("sessions").join(id).join("started");
    let record: Value = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    let pid = i32::try_from(record["runner"]["pid"].as_i64()?).ok()?;
    (process::is_alive(pid) && process::command_line(pid).contains("dogwatch")).then_some(pid)
}

fn pick_runner(stage: &Stage, pick: u64) -> Option<(String, i32)> {
    let ledger = stage.ledger();
    let name = ledger
        .pick(pick, |entry| entry.id.as_ref().is_some_and(|id| runner_of(stage, id).is_some()))?;
    let pid = runner_of(stage, ledger.get(&name)?.id.as_ref()?)?;
    Some((name, pid))
}

fn kill_runner(stage: &Stage, pick: u64, targets: &Targets) -> bool {
    // One in four targets a session of the run of stories.
    if pick.is_multiple_of(4) && targets.stories.pid().is_some() && kill_story_runner(stage) {
        return true;
    }
    let Some((name, pid)) = pick_runner(stage, pick) else { return false };
    stage.ledger().change(&name, |entry| entry.truth.runner_killed = true);
    stage.log(format_args!("runner of {name}, {pid}"));
    process::try_signal(pid, Signal::KILL)
}

fn kill_story_runner(stage: &Stage) -> bool {
    let mark = stage.world.path("stories").display().to_string();
    let runners = process::pids().into_iter().filter(|&pid| {
        let here = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        process::name(pid) == "sh" && here.to_string_lossy().starts_with(&mark)
    });
    let mut hit = false;
    for pid in runners {
        stage.log(format_args!("a story's script, {pid}"));
        hit |= process::try_signal(pid, Signal::KILL);
    }
    hit
}

fn kill_agent(stage: &Stage, pick: u64) -> bool {
    let mut ledger = stage.ledger();
    let name = ledger.pick(pick, |entry| entry.pid.is_some_and(process::is_alive));
    let Some(name) = name else { return false };
    let pid = ledger.get(&name).and_then(|entry| entry.pid).unwrap_or(0);
    ledger.change(&name, |entry| entry.truth.agent_killed = true);
    drop(ledger);
    stage.log(format_args!("agent of {name}, {pid}"));
    process::try_signal(pid, Signal::KILL)
}

/// How many agents die in one round, and how many write to each.
const DYING: usize = 4;
const WRITERS: usize = 3;
/// The number of the first in names, after those of the operations.
const FIRST_DYING: usize = 100;

/// Messages to agents that are killed while they are typed: no server may end, and none may be said to be delivered that was not.
fn dying_agents(stage: &Stage, pick: u64) -> bool {
    let mut is_done = false;
    for number in FIRST_DYING..FIRST_DYING + DYING {
        let _ = deeds::spawn(stage, number, crate::plan::Role::Agent, None);
        let name = deeds::name_of(stage, number);
        let Some(pid) = stage.ledger().get(&name).and_then(|entry| entry.pid) else { continue };
        // One half from before it shows its box to after it took the first message; the other exactly while text is typed.
        let spread = u64::try_from(number).unwrap_or(0).wrapping_mul(0x9e37_79b9) ^ pick;
        let after = Duration::from_millis(150 + spread % 900);
        let is_exact = number.is_multiple_of(2);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (name, text) = (&name, format!("{writer} to {number}"));
                scope.spawn(move || deeds::send_to(stage, name, &text, writer == 0, None));
            }
            let typing = if is_exact { stop_typing(stage, &name) } else { None };
            if !is_exact {
                // sleep: the time of the kill, by the plan.
                std::thread::sleep(after);
            }
            stage.ledger().change(&name, |entry| entry.truth.agent_killed = true);
            is_done |= process::try_signal(pid, Signal::KILL);
            if let Some(client) = typing {
                wait_dead(stage, &name);
                stage.log(format_args!("text is typed into the dead {name}"));
                process::try_signal(client, Signal::CONT);
            }
        });
    }
    is_done
}

/// Stops the tmux client by which a message for this session is typed, before it has given the text to the server: the server
/// waits for it, and pastes whenever it goes on.
fn stop_typing(stage: &Stage, name: &str) -> Option<i32> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        let senders = stage.commands.pids().into_iter();
        for sender in senders.filter(|&pid| process::command_line(pid).contains(name)) {
            let is_typing = |pid: &i32| process::command_line(*pid).contains("load-buffer");
            if let Some(client) = process::children(sender).into_iter().find(is_typing)
                && process::try_signal(client, Signal::STOP)
            {
                return Some(client);
            }
        }
        // sleep: poll interval.
        std::thread::sleep(Duration::from_micros(200));
    }
    None
}

/// Waits until tmux knows that the process in a session's pane is gone.
fn wait_dead(stage: &Stage, name: &str) {
    let begun = Instant::now();
    let target = format!("={name}:");
    let is_alive = || {
        let dead = stage.world.tmux(&["list-panes", "-t", &target, "-F", "#{pane_dead}"]);
        dead.is_some_and(|dead| dead == "0")
    };
    while is_alive() && begun.elapsed() < Duration::from_secs(4) {
        // sleep: poll interval.
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn end_server(stage: &Stage, fault: Fault) -> bool {
    let Some(pid) = stage.world.server_pid() else { return false };
    stage.ledger().change_all(|entry| {
        entry.truth.terminal_gone = true;
        entry.truth.spawn_disturbed |= entry.spawning;
    });
    let done = match fault {
        Fault::KillServer => process::try_signal(pid, Signal::KILL),
        _ => stage.world.tmux(&["kill-server"]).is_some(),
    };
    disturb_spawns(stage);
    done
}

fn kill_control_client(pick: u64, targets: &Targets) -> bool {
    let mut clients = Vec::new();
    for pid in targets.daemons.iter().filter_map(Daemon::pid) {
        clients.extend(process::children(pid).into_iter().filter(|&pid| is_tmux(pid)));
    }
    let at = usize::try_from(pick).unwrap_or(0) % clients.len().max(1);
    clients.get(at).is_some_and(|&pid| process::try_signal(pid, Signal::KILL))
}

fn is_tmux(pid: i32) -> bool {
    process::name(pid).starts_with("tmux")
}

fn kill_tmux_command(stage: &Stage) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(400) {
        for command in stage.commands.pids() {
            let tmux = process::children(command).into_iter().find(|&pid| is_tmux(pid));
            if let Some(pid) = tmux {
                disturb_spawns(stage);
                return process::try_signal(pid, Signal::KILL);
            }
        }
        // sleep: poll interval.
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

fn stop(pids: Vec<i32>, hold: Duration) -> bool {
    let stopped: Vec<i32> =
        pids.into_iter().filter(|&pid| process::try_signal(pid, Signal::STOP)).collect();
    // sleep: how long the fault lasts, by the plan.
    std::thread::sleep(hold);
    for &pid in &stopped {
        process::try_signal(pid, Signal::CONT);
    }
    !stopped.is_empty()
}

fn full_disk(stage: &Stage, targets: &Targets, hold: Duration) -> bool {
    let Some(disk) = &targets.disk else { return false };
    disturb_spawns(stage);
    disk.fill();
    // sleep: how long the fault lasts, by the plan.
    std::thread::sleep(hold);
    disturb_spawns(stage);
    disk.make_room();
    true
}

fn read_only_disk(stage: &Stage, targets: &mut Targets, hold: Duration) -> bool {
    // A process with a file open for writing would prevent the remount.
    targets.stories.kill();
    for daemon in &mut targets.daemons {
        if let Some(text) = daemon.end() {
            stage.violation(text);
        }
    }
    let Some(disk) = &targets.disk else { return false };
    let mark = || {
        stage.ledger().change_all(|entry| {
            entry.truth.not_writable = true;
            entry.truth.spawn_disturbed |= entry.spawning;
        });
    };
    mark();
    let done = disk.make_read_only();
    // sleep: how long the fault lasts, by the plan.
    std::thread::sleep(hold);
    mark();
    if !disk.make_writable() {
        stage.log("the disk could not be made writable again");
    }
    done
}

fn delete_log(stage: &Stage, targets: &mut Targets) -> bool {
    stage.ledger().change_all(|entry| {
        entry.truth.forgotten = true;
        entry.truth.spawn_disturbed |= entry.spawning;
    });
    targets.stories.forgotten = true;
    targets.events_may_miss = true;
    targets.log_deleted = true;
    fs::remove_file(stage.world.state().join("dogwatch.db-wal")).is_ok()
}

fn lock_database(stage: &Stage, hold: Duration) -> bool {
    let path = stage.world.state().join("dogwatch.db");
    let Ok(database) = rusqlite::Connection::open(path) else { return false };
    let _ = database.busy_timeout(Duration::from_secs(2));
    let locked = database.execute_batch("BEGIN IMMEDIATE").is_ok();
    // sleep: how long the fault lasts, by the plan.
    std::thread::sleep(hold);
    let _ = database.execute_batch("ROLLBACK");
    locked
}

const STORM: usize = 40;

/// Many simultaneous hooks of one session: each is stored, in the database or in the spool.
fn hook_storm(stage: &Stage, pick: u64) -> bool {
    let name = stage.ledger().pick(pick, |entry| entry.role != crate::plan::Role::Agent);
    let id = name.and_then(|name| stage.ledger().get(&name)?.id.clone());
    let Some(id) = id else { return false };
    let storm = format!("storm of round {}", stage.round());
    let call = |n: usize| {
        let payload = json!({ "hook_event_name": "PostToolUse", "storm": storm, "n": n });
        // Some are killed: they may be stored or not.
        let cut = (n % 8 == 7).then(|| Duration::from_millis(u64::try_from(n).unwrap_or(0)));
        let ended = deeds::call_hook(stage, &id, &payload, cut);
        if !ended.cut && !ended.is_ok() {
            stage.violation(format_args!("a hook ended with {:?}", ended.code));
        }
        usize::from(ended.is_ok())
    };
    let call = &call;
    let taken: usize = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..STORM).map(|n| scope.spawn(move || call(n))).collect();
        calls.into_iter().map(|call| call.join().unwrap_or(0)).sum()
    });
    let kept = kept_signals(stage, &storm);
    stage.checked("hooks of a storm", taken);
    if kept < taken {
        stage.violation(format_args!("lost: {taken} hooks were taken, {kept} are kept"));
    }
    true
}

fn kept_signals(stage: &Stage, text: &str) -> usize {
    let state = stage.world.state();
    let spool = fs::read_dir(state.join("spool")).into_iter().flatten().flatten();
    let waiting = spool
        .filter(|file| fs::read(file.path()).is_ok_and(|bytes| process::contains(&bytes, text)));
    let waiting = waiting.count();
    let count = || {
        let database = rusqlite::Connection::open(state.join("dogwatch.db"))?;
        database.busy_timeout(Duration::from_secs(5))?;
        let query = "SELECT count(*) FROM signals WHERE instr(payload, ?1) > 0";
        database.query_row(query, [text], |row| row.get::<_, i64>(0))
    };
    waiting + count().ok().and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
}

fn broker_away(stage: &Stage, targets: &mut Targets, with: Signal, hold: Duration) -> bool {
    targets.events_may_miss |= with == Signal::KILL;
    let Some(broker) = &mut targets.broker else { return false };
    broker.stop(with);
    // sleep: how long the fault lasts, by the plan.
    std::thread::sleep(hold * 2);
    if let Err(error) = broker.run_again(&stage.world) {
        stage.log(format_args!("the broker does not come back: {error}"));
    }
    true
}

/// Files that dogwatch never creates: no command may hang, fail or lose data because of them.
fn hostile_files(stage: &Stage, pick: u64, hold: Duration) -> bool {
    let state = stage.world.state();
    let mut made: Vec<PathBuf> = Vec::new();
    let mut put = |path: PathBuf, content: &[u8]| {
        if fs::write(&path, content).is_ok() {
            made.push(path);
        }
    };
    put(state.join("spool/garbage.json"), b"{\"not\": json");
    put(state.join("spool/bytes.json"), &[0xff; 5000]);
    put(state.join("spool/deep.json"), "[".repeat(200_000).as_bytes());
    put(state.join("spool/.x.part"), b"");
    put(state.join("sessions/file-not-folder"), b"x");
    put(state.join("news/..odd"), b"x");
    let links = [
        ("spool/zero.json", "/dev/zero"),
        ("sessions/zero", "/dev/zero"),
        ("spool/self.json", "self.json"),
    ];
    for (name, target) in links {
        let path = state.join(name);
        if symlink(target, &path).is_ok() {
            made.push(path);
        }
    }
    for name in ["spool/pipe.json", "sessions/pipe"] {
        let path = state.join(name);
        let done = stage.world.program("mkfifo").arg(&path).output();
        if done.is_ok_and(|output| output.status.success()) {
            made.push(path);
        }
    }
    let folder = state.join("sessions/..hm #{pid} $(touch pwned)");
    let odd = fs::create_dir(&folder).is_ok();
    name_hostile_transcript(stage, pick);
    // sleep: how long the fault lasts, by the plan.
    std::thread::sleep(hold);
    for path in &made {
        let _ = fs::remove_file(path);
    }
    if odd {
        let _ = fs::remove_dir_all(folder);
    }
    if stage.world.path("work").join("pwned").exists() {
        stage.violation("a hostile name or output was run as a command");
    }
    true
}

/// A hook that names a transcript which must not be read to its end.
fn name_hostile_transcript(stage: &Stage, pick: u64) {
    let target =
        ["/dev/zero", "/proc/self/mem", "/dev/tty"][usize::try_from(pick % 3).unwrap_or(0)];
    let name = stage.ledger().pick(pick, |entry| entry.role != crate::plan::Role::Agent);
    let id = name.and_then(|name| stage.ledger().get(&name)?.id.clone());
    if let Some(id) = id {
        let payload = json!({ "hook_event_name": "SessionStart", "transcript_path": target });
        let _ = deeds::call_hook(stage, &id, &payload, None);
    }
}
