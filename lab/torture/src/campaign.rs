//! Round after round until the time is over.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::broker::Broker;
use crate::checks::{self, MINE};
use crate::deeds;
use crate::disk::Disk;
use crate::faults::{self, Targets};
use crate::plan::{Fault, Round};
use crate::service::Daemon;
use crate::stage::Stage;
use crate::story::Stories;
use crate::supervisors;

/// Rounds between two checkpoints, at which everything is ended and counted.
const STRETCH: u32 = 12;
/// Too many violations to read; the campaign ends.
const ENOUGH: usize = 60;

#[derive(Debug, Clone)]
pub(crate) struct Orders {
    pub(crate) seed: u64,
    pub(crate) time: Duration,
    /// Only rounds with this fault.
    pub(crate) only: Option<String>,
    /// No rounds with these.
    pub(crate) without: Vec<String>,
    /// Only this round, again and again.
    pub(crate) round: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Campaign<'a> {
    stage: &'a Stage,
    pub(crate) targets: Targets,
    pub(crate) left_out: Vec<String>,
    pub(crate) rounds: u32,
    server: Option<i32>,
    has_fault_4980: bool,
}

impl<'a> Campaign<'a> {
    pub(crate) fn prepare(stage: &'a Stage) -> Self {
        let mut left_out = Vec::new();
        let disk = Disk::mount(&stage.world.state());
        if disk.is_none() {
            left_out.push("full and read-only disk: only root can mount one".to_owned());
        }
        let broker = Broker::start(&stage.world);
        if let Err(error) = &broker {
            left_out.push(format!("the broker: Mosquitto cannot be run ({error})"));
        }
        let mut daemons = vec![
            Daemon::new("steady", &["watch", "--json"]),
            Daemon::new("watch", &["watch", "--json"]),
            Daemon::new("monitor", &["monitor", "--json", "--interval", "2s"]),
        ];
        if broker.is_ok() {
            // First, so that it becomes the publisher.
            daemons.insert(0, Daemon::new("relay", &["relay"]));
        }
        let targets = Targets {
            disk,
            broker: broker.ok(),
            daemons,
            stories: Stories::default(),
            events_may_miss: false,
            log_deleted: false,
        };
        let _ = stage.world.tmux(&["new-session", "-d", "-s", MINE, "sleep 100000"]);
        let server = stage.world.server_pid();
        let version = stage.world.tmux(&["-V"]).unwrap_or_default();
        let has_fault_4980 = !version.starts_with("tmux 3.7") && !version.starts_with("tmux 4");
        Self { stage, targets, left_out, rounds: 0, server, has_fault_4980 }
    }

    pub(crate) fn run(&mut self, orders: &Orders) {
        let begun = Instant::now();
        let mut number = 0;
        while begun.elapsed() < orders.time && !self.stage.is_interrupted() {
            if self.stage.tally().violations.len() > ENOUGH {
                self.stage.log("enough violations");
                break;
            }
            number += 1;
            let mut round = Round::draw(orders.seed, orders.round.unwrap_or(number));
            let label = round.fault.label();
            if orders.only.as_deref() == Some("none") || orders.without.contains(&label) {
                round.fault = Fault::None;
            } else if orders.only.as_ref().is_some_and(|only| *only != label) {
                continue;
            }
            if round.fault.needs_disk() && self.targets.disk.is_none() {
                round.fault = Fault::None;
            }
            self.rounds += 1;
            self.play(number, &round);
            if self.rounds.is_multiple_of(STRETCH) {
                self.checkpoint();
            }
        }
        self.stage.enter(number, Fault::None);
        self.checkpoint();
        self.stop();
    }

    fn play(&mut self, number: u32, round: &Round) {
        let stage = self.stage;
        stage.enter(number, round.fault);
        stage.log(format_args!("ROUND {:?} with {} acts", round.fault, round.acts.len()));
        self.keep_up(true);
        let targets = &mut self.targets;
        std::thread::scope(|scope| {
            for (at, &act) in round.acts.iter().enumerate() {
                scope.spawn(move || deeds::carry_out(stage, at, act));
            }
            scope.spawn(move || faults::inject(stage, round, targets));
        });
        self.keep_up(true);
        self.look_at_server(round);
        checks::recovers(stage);
        checks::sessions(stage);
        if round.fault == Fault::DeletedLog {
            // Processes that were slow to notice.
            self.keep_up(true);
        }
        self.look_at_server(round);
        let spawned = stage.ledger().spawned;
        for daemon in &mut self.targets.daemons {
            daemon.weigh(spawned);
        }
    }

    /// Restarts long-running processes that have ended.
    fn keep_up(&mut self, begin_story: bool) {
        let stage = self.stage;
        for daemon in &mut self.targets.daemons {
            let may_let_go = stage.fault() == Fault::DeletedLog;
            if let Some(text) = daemon.keep_up(&stage.world, may_let_go) {
                stage.violation(text);
            }
        }
        if self.targets.broker.is_some() {
            self.relay_begins();
        }
        for text in self.targets.stories.keep_up(&stage.world, &stage.commands, begin_story) {
            stage.violation(text);
        }
    }

    /// Waits until the first relay has begun: what happens before is not kept for a broker.
    fn relay_begins(&self) {
        let begun = Instant::now();
        let path = self.stage.world.state().join("dogwatch.db");
        let has_begun = || -> Option<bool> {
            let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
            let database = rusqlite::Connection::open_with_flags(&path, flags).ok()?;
            let count = database.query_row("SELECT count(*) FROM relay", [], |row| row.get(0));
            count.ok().map(|count: i64| count > 0)
        };
        while has_begun() != Some(true)
            && begun.elapsed() < Duration::from_secs(20)
            && !self.stage.is_interrupted()
        {
            // sleep: poll interval.
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The server and the user's own session on it are alive unless we ended them.
    fn look_at_server(&mut self, round: &Round) {
        let now = self.stage.world.server_pid();
        let ours = matches!(round.fault, Fault::KillServer | Fault::EndServer);
        if self.server.is_some() && now != self.server && !ours {
            self.server_was_lost(round, now);
        }
        self.server = now;
    }

    /// Up to 3.6 a server crashes if a session is created or ended while a control client connects (tmux/tmux#4980). dogwatch's
    /// commands exclude each other with a lock; one that is killed releases it before its tmux is done.
    fn server_was_lost(&self, round: &Round, now: Option<i32>) {
        let stage = self.stage;
        stage.log(format_args!("the tmux server went from {:?} to {now:?}", self.server));
        stage.ledger().change_all(|entry| {
            entry.truth.terminal_gone = true;
            entry.truth.spawn_disturbed |= entry.truth.refused;
        });
        if round.may_crash_tmux() && self.has_fault_4980 {
            stage.checked("tmux servers lost to tmux/tmux#4980", 1);
        } else {
            stage.violation(format_args!("the tmux server went from {:?} to {now:?}", self.server));
        }
    }

    fn checkpoint(&mut self) {
        let stage = self.stage;
        stage.log("CHECKPOINT");
        self.finish_story();
        let names = stage.ledger().names();
        stage.ledger().change_all(|entry| entry.truth.kill_asked = true);
        for name in &names {
            let truth = stage.ledger().get(name).map(|entry| entry.truth).unwrap_or_default();
            let known = truth.promised && !truth.forgotten;
            let ended = stage.dogwatch(&["kill", "--now", name]);
            if known && !ended.is_ok() && !ended.stderr.contains("no session") {
                stage.violation(format_args!("kill {name} at a checkpoint: {}", ended.words()));
            }
        }
        if std::mem::take(&mut self.targets.log_deleted) {
            checks::end_forgotten(stage);
        }
        checks::sessions(stage);
        self.events();
        let collected = stage.dogwatch(&["gc", "--older-than", "0s", "--json"]);
        if !collected.is_ok() {
            stage.violation(format_args!("gc: {}", collected.words()));
        }
        let listed = stage.dogwatch(&["ls", "--all", "--json"]).json();
        let left = listed["sessions"].as_array().map_or(0, Vec::len);
        if left > 0 {
            stage.violation(format_args!("growth: {left} sessions after gc: {listed}"));
        }
        let mut known: Vec<i32> = self.targets.daemons.iter().filter_map(Daemon::pid).collect();
        known.extend(self.targets.broker.as_ref().map(Broker::pids).unwrap_or_default());
        // It stays for as long as somebody watches.
        known.extend(supervisors::serving(stage));
        let projects = self.targets.stories.completed;
        checks::leftovers(stage, &known, usize::try_from(projects).unwrap_or(0));
        self.restore_mine();
    }

    /// Creates the user's own session again after a server was ended, at a quiet moment.
    fn restore_mine(&mut self) {
        let world = &self.stage.world;
        if world.tmux(&["has-session", "-t", &format!("={MINE}")]).is_none() {
            // sleep: a quiet moment: the previous server is exiting.
            std::thread::sleep(Duration::from_secs(1));
            let _ = world.tmux(&["new-session", "-d", "-s", MINE, "sleep 100000"]);
        }
        self.server = world.server_pid();
    }

    fn finish_story(&mut self) {
        // It gives up by itself after its own time limit.
        while !self.targets.stories.is_idle() && !self.stage.is_interrupted() {
            self.keep_up(false);
            // sleep: the pace of the campaign.
            std::thread::sleep(Duration::from_millis(100));
        }
        self.targets.stories.kill();
    }

    /// Every event of the journal was published once the broker is back, each with one content.
    fn events(&mut self) {
        let Some(broker) = &self.targets.broker else { return };
        let stage = self.stage;
        let waiting = || -> i64 {
            let path = stage.world.state().join("dogwatch.db");
            let count = rusqlite::Connection::open(path).and_then(|database| {
                database.busy_timeout(Duration::from_secs(5))?;
                database.query_row("SELECT count(*) FROM outbox", [], |row| row.get(0))
            });
            count.unwrap_or(-1)
        };
        let begun = Instant::now();
        while waiting() != 0 {
            if begun.elapsed() > Duration::from_secs(45) || stage.is_interrupted() {
                stage.violation(format_args!(
                    "lost: {} events wait for a broker that is there",
                    waiting()
                ));
                return;
            }
            // sleep: poll interval.
            std::thread::sleep(Duration::from_millis(100));
        }
        let journal = stage.dogwatch(&["events", "--json"]);
        let ids: BTreeSet<String> = journal
            .stdout
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|event| event["id"].as_str().map(ToOwned::to_owned))
            .collect();
        // sleep: the last messages are still on their way to the subscriber.
        std::thread::sleep(Duration::from_millis(500));
        let Ok(mut heard) = broker.heard.lock() else { return };
        for text in heard.differing.drain(..) {
            stage.violation(format_args!("twice: an event with two contents: {text}"));
        }
        let missing = heard.missing(&ids);
        for line in journal.stdout.lines().filter(|line| missing.iter().any(|id| line.contains(id)))
        {
            stage.log(format_args!("not published: {line}"));
        }
        if !self.targets.events_may_miss && !missing.is_empty() {
            let some: Vec<_> = missing.iter().take(5).collect();
            stage.violation(format_args!(
                "lost: {} of {} events were not published, such as {some:?}",
                missing.len(),
                ids.len()
            ));
        }
        stage.checked("events in the journal", ids.len());
        self.targets.events_may_miss = false;
    }

    fn stop(&mut self) {
        for daemon in &mut self.targets.daemons {
            if let Some(text) = daemon.end() {
                self.stage.violation(text);
            }
            if let Some(text) = daemon.growth().complaint(daemon.name) {
                self.stage.violation(text);
            }
        }
        let _ = self.stage.world.tmux(&["kill-server"]);
    }
}
