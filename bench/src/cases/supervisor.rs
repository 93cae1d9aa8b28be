//! What the supervisor gives and costs: questions that it answers against looks of one's own, its processor time and memory with
//! programs that listen, and how soon all of these hear of a hook.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_store::{Session, StateDir, Store, Which};
use serde_json::Value;

use super::told::say;
use super::watching::{memory, processor_time};
use crate::error::Error;
use crate::race::{Contestant, race};
use crate::report::{Cost, Goal, Group, Limit, Runner, Target};
use crate::timing::Summary;
use crate::world::World;
use crate::{child, claude};

const ONE: &str = "dogwatch status NAME";
const ALL: &str = "dogwatch status";
const LINE: &str = "dogwatch tmux-status";
const LIST: &str = "dogwatch ls";
const HEARD: &str = "a hook, until all programs have heard";
/// Programs that listen.
const PROGRAMS: usize = 10;
/// A session that is new or has just changed is looked at each second for a while.
const SETTLE: Duration = Duration::from_secs(20);
const WATCHED: Duration = Duration::from_secs(20);
const CONFIG: &str = "[[notify]]\nkind = 'command'\ncommand = ['true']\n\
    on = ['waiting', 'done', 'error', 'limited', 'crashed', 'stuck', 'looping', 'question', 'job', 'drift']\n";

/// Answers, with so many sessions on the server.
pub(crate) fn answers(world: &World, sessions: usize, rounds: usize) -> Result<Group, Error> {
    claude::fill_up_to(world, sessions)?;
    let name = world.names()?.first().cloned().unwrap_or_default();
    let socket = Place::of(world)?.path();
    let aside = socket.with_extension("aside");
    let looks = |words: &[&str]| {
        let (mut command, socket, aside) = (world.dogwatch(words), &socket, &aside);
        Contestant::new(format!("dogwatch {}, by itself", words[0]), move || {
            // Where the socket is not found, a command looks by itself.
            let moved = fs::rename(socket, aside);
            let took = timed(&mut command);
            moved.and_then(|()| fs::rename(aside, socket)).map_err(Error::io("move a socket"))?;
            took
        })
    };
    let asks = |title: &str, words: &[&str]| {
        let mut command = world.dogwatch(words);
        Contestant::new(title, move || timed(&mut command))
    };
    let mut bare = world.tmux(["display-message", "-p", "x"]);
    let contestants = vec![
        Contestant::new("tmux display-message", move || timed(&mut bare)),
        asks(ONE, &["status", &name]),
        asks(LIST, &["ls"]),
        asks(LINE, &["tmux-status"]),
        asks(ALL, &["status"]),
        looks(&["ls"]),
        looks(&["tmux-status"]),
        looks(&["status"]),
    ];
    let most = if sessions > 200 { 15.0 } else { 6.0 };
    let mut targets = vec![
        Target { runner: ONE, goal: Goal::Ratio(1.3) },
        Target { runner: LIST, goal: Goal::Ratio(1.3) },
        Target { runner: ALL, goal: Goal::Milliseconds(most) },
    ];
    if sessions <= 200 {
        targets.push(Target { runner: LINE, goal: Goal::Milliseconds(3.0) });
    }
    let runners = race(world, contestants, rounds)?;
    Ok(Group { title: format!("asking the supervisor, {sessions} sessions"), runners, targets })
}

/// What it costs with idle sessions, tables that want to know everything, and programs that listen; and how soon they hear.
pub(crate) fn costs(
    world: &World,
    sessions: usize,
    rounds: usize,
) -> Result<(Group, Vec<Cost>), Error> {
    let folder = world.home().join(".config/dogwatch");
    let written =
        fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join("config.toml"), CONFIG));
    written.map_err(Error::io("write a configuration"))?;
    claude::fill_with_idle(world, sessions)?;
    let place = Place::of(world)?;
    let mut programs =
        (0..PROGRAMS).map(|_| Program::connect(&place)).collect::<Result<Vec<_>, _>>()?;
    // sleep: what follows is measured at rest.
    thread::sleep(SETTLE);
    let runner = runners(world)?.first().copied().unwrap_or(place.pid);
    let switches = voluntary_switches(runner)?;
    let (begun, before) = (Instant::now(), processor_time(place.pid)?);
    while begun.elapsed() < WATCHED {
        world.go_on()?;
        // sleep: the time over which costs are measured.
        thread::sleep(Duration::from_millis(100));
    }
    let share = (processor_time(place.pid)? - before) / begun.elapsed().as_secs_f64() * 100.0;
    let wakeups = voluntary_switches(runner)? - switches;
    let title = |what: &str| format!("{what}, {sessions} idle sessions, {PROGRAMS} programs");
    let cost = |what: &str, value: f64, unit: &'static str, most: f64| Cost {
        what: title(what),
        value,
        unit,
        limit: Some(Limit(most)),
    };
    let costs = vec![
        cost("supervisor", share, "% of a core", 0.3),
        cost("supervisor", memory(place.pid)?, "MB", 35.0),
        cost("a runner", memory(runner)?, "MB", 3.0),
        cost("a runner", wakeups, "wake-ups in 20 s", 0.0),
    ];
    Ok((heard(world, &mut programs, rounds)?, costs))
}

fn heard(world: &World, programs: &mut [Program], rounds: usize) -> Result<Group, Error> {
    let sessions = all(world)?;
    let mut times = Vec::new();
    let mut bare = Vec::new();
    for round in 0..rounds {
        world.go_on()?;
        let agent = &sessions[round % sessions.len()];
        say(world, agent, "busy", "UserPromptSubmit")?;
        programs.iter_mut().try_for_each(|one| one.hears(agent, "working"))?;
        let begun = Instant::now();
        say(world, agent, "idle", "Stop")?;
        programs.iter_mut().try_for_each(|one| one.hears(agent, "idle"))?;
        times.push(begun.elapsed());
        bare.push(timed(&mut Command::new("true"))?);
    }
    let runner = |name: &str, times| {
        Summary::of(times).map(|summary| Runner { name: name.to_owned(), summary })
    };
    let runners = [runner("/bin/true", bare), runner(HEARD, times)].into_iter().flatten();
    let targets = vec![Target { runner: HEARD, goal: Goal::P99(20.0) }];
    Ok(Group { title: "hearing of changes".to_owned(), runners: runners.collect(), targets })
}

fn timed(command: &mut Command) -> Result<Duration, Error> {
    Ok(child::run(command)?.success()?.took)
}

fn all(world: &World) -> Result<Vec<Session>, Error> {
    let store = Store::open(&StateDir::open(&world.state())?)?;
    Ok(store.sessions(&world.socket(), Which::All)?)
}

fn runners(world: &World) -> Result<Vec<u32>, Error> {
    let pid = |session: &Session| u32::try_from(session.started()?.runner.pid).ok();
    Ok(all(world)?.iter().filter_map(pid).collect())
}

/// How often a process has been woken, as far as the kernel counts it.
fn voluntary_switches(pid: u32) -> Result<f64, Error> {
    let mut sum = 0.0;
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).map_err(Error::io("read /proc"))?;
    for task in tasks.flatten() {
        let status =
            fs::read_to_string(task.path().join("status")).map_err(Error::io("read /proc"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        sum += line.and_then(|count| count.trim().parse::<f64>().ok()).unwrap_or(0.0);
    }
    Ok(sum)
}

/// Where the supervisor is.
struct Place {
    folder: PathBuf,
    name: String,
    pid: u32,
}

impl Place {
    fn of(world: &World) -> Result<Self, Error> {
        let shown = child::run(&mut world.dogwatch(["supervisor", "--json"]))?.success()?.text();
        let shown: Value = serde_json::from_str(&shown).unwrap_or_default();
        let path = Path::new(shown["listens"].as_str().unwrap_or_default());
        let pid = shown["serving"]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        Ok(Self {
            folder: path.parent().unwrap_or(path).to_owned(),
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            pid: pid.unwrap_or_default(),
        })
    }

    fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }
}

/// A program that listens to all changes.
struct Program(BufReader<UnixStream>);

impl Program {
    fn connect(place: &Place) -> Result<Self, Error> {
        let failed = Error::io("connect to the supervisor");
        let connect = || {
            let mut stream = UnixStream::connect(place.path())?;
            stream.set_read_timeout(Some(child::PATIENCE))?;
            stream.write_all(b"{\"hello\":{\"protocol\":1}}\n{\"id\":1,\"ask\":\"follow\"}\n")?;
            let mut reader = BufReader::new(stream);
            // The greeting and the snapshot.
            reader.read_line(&mut String::new())?;
            reader.read_line(&mut String::new())?;
            Ok(Self(reader))
        };
        connect().map_err(failed)
    }

    fn hears(&mut self, session: &Session, state: &str) -> Result<(), Error> {
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).map_err(Error::io("listen to the supervisor"))?;
            let told: Value = serde_json::from_str(&line).unwrap_or_default();
            let change = &told["change"];
            if change["id"] == session.id.as_str() && change["state"] == state {
                return Ok(());
            }
        }
    }
}
