//! What all parts of a campaign share: the environment, the ledger, the counters, the log.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::ledger::Ledger;
use crate::plan::Fault;
use crate::run::{Ended, UnderWay};
use crate::world::World;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count {
    pub(crate) times: u64,
    pub(crate) failed: u64,
    pub(crate) cut: u64,
    pub(crate) violations: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) deeds: BTreeMap<&'static str, Count>,
    pub(crate) faults: BTreeMap<String, Count>,
    pub(crate) violations: Vec<String>,
    pub(crate) checks: BTreeMap<&'static str, u64>,
    /// What took how long.
    pub(crate) times: BTreeMap<&'static str, Vec<Duration>>,
}

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) commands: UnderWay,
    pub(crate) begun: Instant,
    /// Ctrl-C, or a TERM.
    pub(crate) interrupted: Arc<AtomicBool>,
    round: AtomicU32,
    fault: Mutex<Fault>,
    ledger: Mutex<Ledger>,
    tally: Mutex<Tally>,
    log: Mutex<File>,
    verbose: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panicked thread leaves counters behind, not invariants.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    pub(crate) fn new(
        world: World,
        interrupted: Arc<AtomicBool>,
        verbose: bool,
    ) -> std::io::Result<Self> {
        let log = File::create(world.path("logs").join("campaign.log"))?;
        Ok(Self {
            world,
            commands: UnderWay::default(),
            begun: Instant::now(),
            interrupted,
            round: AtomicU32::new(0),
            fault: Mutex::new(Fault::None),
            ledger: Mutex::default(),
            tally: Mutex::default(),
            log: Mutex::new(log),
            verbose,
        })
    }

    pub(crate) fn enter(&self, round: u32, fault: Fault) {
        self.round.store(round, Ordering::Relaxed);
        *locked(&self.fault) = fault;
    }

    pub(crate) fn round(&self) -> u32 {
        self.round.load(Ordering::Relaxed)
    }

    pub(crate) fn fault(&self) -> Fault {
        *locked(&self.fault)
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        locked(&self.ledger)
    }

    pub(crate) fn tally(&self) -> MutexGuard<'_, Tally> {
        locked(&self.tally)
    }

    pub(crate) fn log(&self, line: impl Display) {
        let at = self.begun.elapsed().as_secs_f64();
        let _ = writeln!(locked(&self.log), "{at:9.3} r{} {line}", self.round());
    }

    pub(crate) fn violation(&self, text: impl Display) {
        let (round, fault) = (self.round(), self.fault().label());
        let line = format!("round {round} ({fault}): {text}");
        self.log(format_args!("VIOLATION {text}"));
        if self.verbose {
            let _ = writeln!(std::io::stderr(), "violation: {line}");
        }
        let mut tally = self.tally();
        tally.faults.entry(fault).or_default().violations += 1;
        tally.violations.push(line);
    }

    pub(crate) fn injected(&self, label: String) {
        self.log(format_args!("FAULT {label}"));
        self.tally().faults.entry(label).or_default().times += 1;
    }

    pub(crate) fn checked(&self, what: &'static str, times: usize) {
        *self.tally().checks.entry(what).or_default() += u64::try_from(times).unwrap_or(0);
    }

    /// Notes how long something took, for the report: no time is a violation.
    pub(crate) fn measured(&self, what: &'static str, took: Duration) {
        self.tally().times.entry(what).or_default().push(took);
    }

    /// Runs a command and logs it. Misbehaviour that no fault excuses is a violation.
    pub(crate) fn run(&self, what: &str, command: Command, cut: Option<Duration>) -> Ended {
        let ended = self.commands.run(command, &self.world.path("logs"), cut);
        let how = match (ended.cut, ended.code) {
            (true, _) => "killed".to_owned(),
            (false, Some(code)) => code.to_string(),
            (false, None) => "signal".to_owned(),
        };
        let words = if ended.is_ok() || ended.cut { String::new() } else { ended.words() };
        self.log(format_args!("{what} -> {how} in {:.3} s {words}", ended.took.as_secs_f64()));
        if let Some(text) = ended.misbehaved() {
            self.violation(format_args!("{what}: {text}"));
        }
        ended
    }

    /// A dogwatch command that is not killed.
    pub(crate) fn dogwatch(&self, args: &[&str]) -> Ended {
        self.run(&args.join(" "), self.world.command(args), None)
    }
}
