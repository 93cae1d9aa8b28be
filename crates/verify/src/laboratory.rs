//! All plays, side by side. This runs in a process of its own that has nothing of the user's environment.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_engine::Error;
use dogwatch_engine::watch::stream::Stream;
use dogwatch_protocol::stream::Follow;
use dogwatch_protocol::verification::{Grade, Situation};
use dogwatch_store::{read_regular, replace};
use model_double::homes::Agent;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::agent;
use crate::outcome::{Findings, Outcome};
use crate::player::{Notes, Player};
use crate::plays::{PLAYS, Play};
use crate::world::World;

const MOST_TASK: u64 = 1024 * 1024;
const TASK: &str = "task.json";
const OUTCOME: &str = "outcome.json";
/// How long `watch` waits before it looks whether it is to stop.
const WATCH: Duration = Duration::from_millis(300);

/// What is to be verified, and where.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    pub agent: String,
    pub program: PathBuf,
    /// The search path; nothing else is taken over from the user's environment.
    pub path: OsString,
    /// Everything happens below this folder.
    pub folder: PathBuf,
    /// The longer plays too.
    pub all: bool,
    /// Only these plays; none for all.
    pub only: Vec<String>,
    /// How many sessions side by side.
    pub lanes: usize,
    /// Names of the user and the machine, masked in recordings.
    pub names: Vec<String>,
}

impl Task {
    /// The program's folder first: `spawn` finds the agent by its name.
    pub(crate) fn search_path(&self) -> OsString {
        let own = self.folder.join("bin");
        let folders = std::iter::once(own).chain(std::env::split_paths(&self.path));
        std::env::join_paths(folders).unwrap_or_else(|_| self.path.clone())
    }

    pub(crate) fn reports(&self) -> PathBuf {
        self.folder.join("reports")
    }

    pub(crate) fn save(&self) -> Result<(), Error> {
        let text = serde_json::to_vec(self)
            .map_err(|error| Error::io("write the task")(io::Error::other(error)))?;
        Ok(replace(&self.folder.join(TASK), &text)?)
    }

    fn load(folder: &Path) -> Result<Self, Error> {
        let text =
            read_regular(&folder.join(TASK), MOST_TASK).map_err(Error::io("read the task"))?;
        serde_json::from_slice(&text)
            .map_err(|error| Error::io("read the task")(io::Error::other(error)))
    }

    fn plays(&self) -> impl Iterator<Item = Play> {
        PLAYS.into_iter().filter(|play| {
            let is_named = self.only.iter().any(|name| name == play.name);
            is_named || (self.only.is_empty() && (self.all || !play.is_extra))
        })
    }
}

pub(crate) fn outcome(folder: &Path) -> Result<Outcome, Error> {
    let text = read_regular(&folder.join(OUTCOME), 16 * MOST_TASK)
        .map_err(Error::io("read the result"))?;
    serde_json::from_slice(&text)
        .map_err(|error| Error::io("read the result")(io::Error::other(error)))
}

/// Carries out the task in a folder, and writes what came of it there. `tell` is given each situation as it is graded.
pub fn run(folder: &Path, tell: &(dyn Fn(&Situation) + Sync)) -> Result<(), Error> {
    let task = Task::load(folder)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(Error::io("listen for Ctrl-C"))?;
    }
    let agent = agent::named(&task.agent)
        .ok_or_else(|| Error::io("verify")(io::Error::other("no such agent")))?;
    let plays: Mutex<VecDeque<Play>> = Mutex::new(task.plays().collect());
    let findings = Mutex::new(Findings::default());
    let next = || plays.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    std::thread::scope(|scope| {
        for _ in 0..task.lanes.max(1) {
            scope.spawn(|| {
                while let Some(play) = next() {
                    let found = perform(&task, agent, play, &stop, tell);
                    findings.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
                }
            });
        }
    });
    let findings = findings.into_inner().unwrap_or_else(PoisonError::into_inner);
    let text = serde_json::to_vec(&findings.outcome())
        .map_err(|error| Error::io("write the result")(io::Error::other(error)))?;
    Ok(replace(&folder.join(OUTCOME), &text)?)
}

fn perform(
    task: &Task,
    agent: Agent,
    play: Play,
    stop: &AtomicBool,
    tell: &(dyn Fn(&Situation) + Sync),
) -> Findings {
    let unplayed = |why: &str| {
        let mut findings = Findings::default();
        for name in play.situations {
            let situation = not_played(play, name, why);
            tell(&situation);
            findings.situations.push((situation, None));
        }
        findings
    };
    if stop.load(Ordering::Relaxed) {
        return unplayed("the verification was stopped");
    }
    let world = match World::make(task, agent, play.name) {
        Ok(world) => world,
        Err(error) => return unplayed(&error.to_string()),
    };
    let seen = Mutex::new(Vec::new());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| watch(&world, &is_over, &seen));
        let notes = Notes { task, play: play.name, stop, tell };
        let findings = match Player::new(&world, play.start, notes, &seen) {
            Err(error) => unplayed(&error.to_string()),
            Ok(mut player) => {
                if let Err(stopped) = (play.perform)(&mut player) {
                    let is_open = |name: &&&str| {
                        player.found.iter().all(|(situation, _)| situation.name != **name)
                    };
                    let open: Vec<&str> = play.situations.iter().filter(is_open).copied().collect();
                    for (index, name) in open.iter().enumerate() {
                        // One recording tells of all that could not be played after it.
                        if index == 0 {
                            player.not_played(name, &stopped.0);
                        } else {
                            player.not_reached(name, open[0]);
                        }
                    }
                }
                Findings {
                    latencies: player.latencies(),
                    situations: std::mem::take(&mut player.found),
                }
            }
        };
        is_over.store(true, Ordering::Relaxed);
        findings
    })
}

pub(crate) fn not_played(play: Play, name: &str, why: &str) -> Situation {
    Situation {
        name: name.to_owned(),
        start: play.start,
        grade: Grade::NotPlayed,
        truth: String::new(),
        said: None,
        basis: None,
        source: None,
        settled_ms: None,
        note: Some(why.to_owned()),
    }
}

/// Notes when `watch` would report which state.
fn watch(world: &World, is_over: &AtomicBool, seen: &Mutex<Vec<(Instant, &'static str)>>) {
    let stream = Stream::open(&world.context, &[], Follow::default());
    let Some(mut stream) = stream.logged("watch") else { return };
    while !is_over.load(Ordering::Relaxed) {
        let Some(changes) = stream.next(WATCH, is_over).logged("watch") else { return };
        let at = Instant::now();
        let states = changes.iter().map(|change| (at, change.session.verdict.status.as_str()));
        seen.lock().unwrap_or_else(PoisonError::into_inner).extend(states);
    }
}
