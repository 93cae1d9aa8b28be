//! Long-running dogwatch processes: watch, relay, monitor. They are restarted when a fault ended them, and measured.

use std::path::PathBuf;
use std::process::Child;

use dogwatch_testkit::process;
use rustix::process::Signal;

use crate::run;
use crate::world::World;

/// Memory and open files of one process, at its first measurement after warming up and at its last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Growth {
    pub(crate) spawns: u64,
    pub(crate) first_kib: u64,
    pub(crate) last_kib: u64,
    pub(crate) first_files: usize,
    pub(crate) last_files: usize,
}

#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) name: &'static str,
    args: Vec<&'static str>,
    child: Option<Child>,
    /// We ended it, so its end is expected.
    pub(crate) was_killed: bool,
    pub(crate) restarts: u64,
    samples: Vec<(u64, u64, usize)>,
    longest: Growth,
}

/// The first measurements are left out: caches fill.
const WARM_UP: usize = 8;

impl Daemon {
    pub(crate) fn new(name: &'static str, args: &[&'static str]) -> Self {
        Self {
            name,
            args: args.to_vec(),
            child: None,
            was_killed: false,
            restarts: 0,
            samples: Vec::new(),
            longest: Growth::default(),
        }
    }

    fn log(&self, world: &World, kind: &str) -> PathBuf {
        world.path("logs").join(format!("{}.{kind}", self.name))
    }

    /// Starts it if it does not run. Returns how it ended, if we did not end it.
    pub(crate) fn keep_up(&mut self, world: &World, may_let_go: bool) -> Option<String> {
        let mut complaint = None;
        if let Some(child) = &mut self.child {
            match child.try_wait() {
                Ok(None) => return None,
                // It reports that its files were removed, and exits.
                Ok(Some(status)) if may_let_go && status.code() == Some(6) => {}
                Ok(Some(status)) if !self.was_killed => {
                    let said = std::fs::read_to_string(self.log(world, "err")).unwrap_or_default();
                    let last: Vec<&str> = said.lines().rev().take(3).collect();
                    complaint =
                        Some(format!("{} ended by itself: {status}; it said {last:?}", self.name));
                }
                _ => {}
            }
            self.restarts += 1;
        }
        self.note_growth();
        self.samples.clear();
        self.was_killed = false;
        let (out, err) = (self.log(world, "out"), self.log(world, "err"));
        // Its output is not read.
        let _ = std::fs::remove_file(&out);
        let mut command = world.command(&self.args);
        if self.args[0] == "watch" {
            // Without a broker: it would publish too, and replace the relay.
            command.env("XDG_CONFIG_HOME", world.path("quiet"));
        }
        match run::start(command, &out, &err) {
            Ok(child) => self.child = Some(child),
            Err(error) => complaint = Some(format!("{} cannot be started: {error}", self.name)),
        }
        complaint
    }

    pub(crate) fn pid(&self) -> Option<i32> {
        self.child.as_ref().and_then(|child| i32::try_from(child.id()).ok())
    }

    pub(crate) fn kill(&mut self) -> bool {
        let Some(child) = &mut self.child else { return false };
        self.was_killed = child.kill().is_ok();
        let _ = child.wait();
        self.was_killed
    }

    /// Ends it as a person would. Returns a complaint if it does not end.
    pub(crate) fn end(&mut self) -> Option<String> {
        self.note_growth();
        let pid = self.pid()?;
        let mut child = self.child.take()?;
        process::try_signal(pid, Signal::TERM);
        let begun = std::time::Instant::now();
        while matches!(child.try_wait(), Ok(None)) {
            if begun.elapsed() > run::DEADLINE {
                let place = process::where_it_is(pid);
                let _ = (child.kill(), child.wait());
                return Some(format!("{} does not end on TERM: {place}", self.name));
            }
            // sleep: poll interval.
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        None
    }

    pub(crate) fn weigh(&mut self, spawns: u64) {
        if let Some((memory, files)) = self.pid().and_then(process::weight) {
            self.samples.push((spawns, memory, files));
        }
    }

    fn note_growth(&mut self) {
        let (Some(first), Some(last)) = (self.samples.get(WARM_UP), self.samples.last()) else {
            return;
        };
        let growth = Growth {
            spawns: last.0 - first.0,
            first_kib: first.1,
            last_kib: last.1,
            first_files: first.2,
            last_files: last.2,
        };
        if growth.spawns >= self.longest.spawns {
            self.longest = growth;
        }
    }

    /// Of the longest-lived process, by the number of sessions it saw.
    pub(crate) fn growth(&self) -> Growth {
        self.longest
    }
}

impl Growth {
    /// It must not grow with the number of sessions; an allocator's slack is allowed.
    pub(crate) fn complaint(&self, name: &str) -> Option<String> {
        let allowed = self.first_kib + self.first_kib / 4 + 8 * 1024;
        if self.last_kib > allowed {
            return Some(format!(
                "growth: {name} went from {} to {} KiB over {} spawns",
                self.first_kib, self.last_kib, self.spawns
            ));
        }
        (self.last_files > self.first_files + 12).then(|| {
            format!(
                "growth: {name} went from {} to {} open files",
                self.first_files, self.last_files
            )
        })
    }
}
