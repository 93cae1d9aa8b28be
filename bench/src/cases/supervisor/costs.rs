use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::super::watching::{memory, processor_time};
use super::program::{Place, Program};
use super::{PROGRAMS, all, configure, turn};
use crate::child;
use crate::claude;
use crate::error::Error;
use crate::report::{Cost, Goal, Group, Limit, Runner, Target};
use crate::timing::Summary;
use crate::world::World;

const HEARD: &str = "a hook, until all programs have heard";
/// A session that is new or has just changed is looked at each second for a while.
const SETTLE: Duration = Duration::from_secs(20);
const WATCHED: Duration = Duration::from_mins(1);
const CONFIG: &str = "[[notify]]\nkind = 'command'\ncommand = ['true']\n\
    on = ['waiting', 'done', 'error', 'limited', 'crashed', 'stuck', 'looping', 'question', 'job', 'drift']\n";

/// What it costs with idle sessions, tables that want to know everything, and programs that listen; and how soon they hear.
pub(crate) fn costs(
    world: &World,
    sessions: usize,
    rounds: usize,
) -> Result<(Group, Vec<Cost>), Error> {
    configure(world, CONFIG)?;
    claude::fill_with_idle(world, sessions)?;
    let place = Place::of(world)?;
    // Half of them are dashboards.
    let mut programs = (0..PROGRAMS)
        .map(|number| Program::follow(&place, number % 2 == 1))
        .collect::<Result<Vec<_>, _>>()?;
    let runners = runners(world)?;
    let rest = at_rest(world, &place, &runners)?;
    let title = |what: &str| format!("{what}, {sessions} idle sessions, {PROGRAMS} programs");
    let cost = |what: &str, value: f64, unit: &'static str, most: Option<f64>| Cost {
        what: title(what),
        value,
        unit,
        limit: most.map(Limit),
    };
    let held = runners.iter().map(|runner| memory(*runner)).collect::<Result<Vec<_>, _>>()?;
    let costs = vec![
        cost("supervisor", rest.share, "% of a core", Some(0.3)),
        cost("supervisor", memory(place.pid)?, "MB", Some(35.0)),
        cost("supervisor", rest.forks, "forks in a minute (1: any)", Some(0.0)),
        cost("the largest runner", held.iter().copied().fold(0.0, f64::max), "MB", Some(3.0)),
        cost("the largest runner, of its own", most_private(&runners)?, "MB", None),
        cost("all runners", rest.wakeups, "wake-ups in a minute", Some(0.0)),
    ];
    Ok((heard(world, &mut programs, rounds)?, costs))
}

/// What it costs with that many sessions, a third of each kind.
pub(crate) fn crowd(world: &World, sessions: usize) -> Result<Vec<Cost>, Error> {
    let place = Place::of(world)?;
    let rest = at_rest(world, &place, &[])?;
    let title = format!("supervisor, {sessions} sessions, a third at work");
    Ok(vec![
        Cost {
            what: title.clone(),
            value: rest.share,
            unit: "% of a core",
            limit: Some(Limit(1.0)),
        },
        Cost { what: title, value: memory(place.pid)?, unit: "MB", limit: None },
    ])
}

/// What a while in which nothing happens has cost.
struct Rest {
    share: f64,
    forks: f64,
    wakeups: f64,
}

fn at_rest(world: &World, place: &Place, runners: &[u32]) -> Result<Rest, Error> {
    pause(world, SETTLE)?;
    let switches = || runners.iter().map(|pid| voluntary_switches(*pid)).sum::<Result<f64, _>>();
    let looks =
        || Ok::<_, Error>((processor_time(place.pid)?, Children::of(place.pid)?, switches()?));
    let (begun, before) = (Instant::now(), looks()?);
    pause(world, WATCHED)?;
    let after = looks()?;
    Ok(Rest {
        share: (after.0 - before.0) / begun.elapsed().as_secs_f64() * 100.0,
        forks: f64::from(u8::from(after.1 != before.1)),
        wakeups: after.2 - before.2,
    })
}

fn pause(world: &World, length: Duration) -> Result<(), Error> {
    let begun = Instant::now();
    while begun.elapsed() < length {
        world.go_on()?;
        // sleep: the time over which costs are measured.
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Any child that came and went in between has left its page faults with its parent, once that has collected it.
#[derive(PartialEq)]
struct Children {
    living: BTreeSet<String>,
    faults: String,
}

impl Children {
    fn of(pid: u32) -> Result<Self, Error> {
        let mut living = BTreeSet::new();
        for task in tasks(pid)? {
            let all = fs::read_to_string(task.join("children")).map_err(Error::io("read /proc"))?;
            living.extend(all.split_whitespace().map(ToOwned::to_owned));
        }
        let stat =
            fs::read_to_string(format!("/proc/{pid}/stat")).map_err(Error::io("read /proc"))?;
        let after_name = stat.rfind(')').map_or("", |at| &stat[at + 2..]);
        let faults = after_name.split(' ').nth(8).unwrap_or_default().to_owned();
        Ok(Self { living, faults })
    }
}

fn heard(world: &World, programs: &mut [Program], rounds: usize) -> Result<Group, Error> {
    let sessions = all(world)?;
    let (mut times, mut bare) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        times.push(turn(world, programs, &sessions[round % sessions.len()])?);
        bare.push(child::run(&mut world.command("true"))?.success()?.took);
    }
    let runner = |name: &str, times| {
        Summary::of(times).map(|summary| Runner { name: name.to_owned(), summary })
    };
    let runners = [runner("/bin/true", bare), runner(HEARD, times)].into_iter().flatten();
    let targets = vec![Target { runner: HEARD, goal: Goal::P99(20.0) }];
    let title = format!("hearing of changes, {} sessions, {PROGRAMS} programs", sessions.len());
    Ok(Group { title, runners: runners.collect(), targets })
}

fn runners(world: &World) -> Result<Vec<u32>, Error> {
    let pid = |session: &dogwatch_store::Session| u32::try_from(session.started()?.runner.pid).ok();
    Ok(all(world)?.iter().filter_map(pid).collect())
}

/// Megabytes that no other process has: all runners share their program's code.
fn most_private(pids: &[u32]) -> Result<f64, Error> {
    let mut most = 0.0_f64;
    for pid in pids {
        let path = format!("/proc/{pid}/smaps_rollup");
        let text = fs::read_to_string(path).map_err(Error::io("read /proc"))?;
        let own = text.lines().filter(|line| line.starts_with("Private_"));
        let own = own.filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
        most = most.max(own.sum::<f64>() / 1024.0);
    }
    Ok(most)
}

/// How often a process has been woken, as far as the kernel counts it.
fn voluntary_switches(pid: u32) -> Result<f64, Error> {
    let mut sum = 0.0;
    for task in tasks(pid)? {
        let status = fs::read_to_string(task.join("status")).map_err(Error::io("read /proc"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        sum += line.and_then(|count| count.trim().parse::<f64>().ok()).unwrap_or(0.0);
    }
    Ok(sum)
}

fn tasks(pid: u32) -> Result<Vec<std::path::PathBuf>, Error> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).map_err(Error::io("read /proc"))?;
    Ok(tasks.flatten().map(|task| task.path()).collect())
}
