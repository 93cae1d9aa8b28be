use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::curve::{Curve, Limit};
use super::seed;
use crate::cases::relay::{free_port, start_broker};
use crate::cases::watching::memory as resident;
use crate::child::{self, Guard};
use crate::error::Error;
use crate::timing::{Summary, milliseconds};
use crate::world::World;

/// Live sessions while ended ones accumulate.
const BESIDE: usize = 10;

/// The median of some runs.
fn timed(world: &World, rounds: usize, command: impl Fn() -> Command) -> Result<f64, Error> {
    let mut times = Vec::new();
    // The first one warms up.
    for round in 0..=rounds {
        world.go_on()?;
        // Their notes about hidden sessions do not matter.
        let took = child::run(command().stderr(Stdio::null()))?.success()?.took;
        if round > 0 {
            times.push(took);
        }
    }
    Ok(Summary::of(times).map_or(f64::NAN, |summary| milliseconds(summary.median)))
}

/// Commands while ended sessions accumulate.
pub(super) fn ended(world: &World, numbers: &[usize], rounds: usize) -> Result<Vec<Curve>, Error> {
    const OF: &str = "ended sessions (10 alive)";
    world.fill_up_to(BESIDE)?;
    let asked: [(&str, &[&str]); 2] = [("ls", &["ls"]), ("status", &["status"])];
    let mut curves: Vec<Curve> = asked
        .iter()
        .map(|(what, _)| Curve::new(OF, *what, "ms").limited(Limit::Times(2.0)))
        .collect();
    let mut spawn = Curve::new(OF, "spawn", "ms").limited(Limit::Times(2.0));
    let mut idle = Curve::new(OF, "gc, nothing to remove", "ms").limited(Limit::At(5_000, 2_000.0));
    let mut size = Curve::new(OF, "database", "MB");
    let mut done = 0;
    for &count in numbers {
        seed::ended(world, done..count)?;
        done = count;
        for (curve, (_, words)) in curves.iter_mut().zip(asked) {
            let value = timed(world, rounds, || world.dogwatch(words))?;
            curve.points.push((count, value));
        }
        let mut times = Vec::new();
        for round in 0..=rounds {
            let name = format!("new-{count}-{round}");
            let made =
                child::run(&mut world.dogwatch(["spawn", "--name", &name, "--", "sleep", "999"]))?;
            let made = made.success()?;
            if round > 0 {
                times.push(made.took);
            }
            child::run(&mut world.dogwatch(["kill", "--now", &name]))?.success()?;
        }
        let median = Summary::of(times).map_or(f64::NAN, |summary| milliseconds(summary.median));
        spawn.points.push((count, median));
        idle.points.push((count, timed(world, 1, || world.dogwatch(["gc"]))?));
        size.points.push((count, database(world)));
    }
    let last = numbers.last().copied().unwrap_or(0);
    let mut forgotten =
        Curve::new(OF, "gc, all of them removed", "ms").limited(Limit::At(5_000, 2_000.0));
    let took = child::run(&mut world.dogwatch(["gc", "--older-than", "0s"]))?.success()?.took;
    forgotten.points.push((last, milliseconds(took)));
    let mut left = Curve::new(OF, "database after that gc", "MB");
    left.points.push((last, database(world)));
    curves.extend([spawn, idle, forgotten, size, left]);
    Ok(curves)
}

/// Megabytes of the database with its log.
fn database(world: &World) -> f64 {
    let size = |name: &str| fs::metadata(world.state().join(name)).map_or(0, |meta| meta.len());
    #[expect(clippy::cast_precision_loss, reason = "megabytes with one digit")]
    let bytes = (size("dogwatch.db") + size("dogwatch.db-wal")) as f64;
    bytes / 1024.0 / 1024.0
}

/// Commands while more and more sessions are alive, and the time to end them.
pub(super) fn alive(world: &World, numbers: &[usize], rounds: usize) -> Result<Vec<Curve>, Error> {
    const OF: &str = "living sessions";
    let mut bare = Curve::new(OF, "tmux list-panes -a", "ms");
    let mut listed = Curve::new(OF, "ls", "ms");
    let mut status = Curve::new(OF, "status", "ms");
    let mut killed = Curve::new(OF, "kill-all", "s").limited(Limit::At(500, 20.0));
    for &count in numbers {
        world.fill_up_to(count)?;
        bare.points.push((count, timed(world, rounds, || world.tmux(["list-panes", "-a"]))?));
        listed.points.push((count, timed(world, rounds, || world.dogwatch(["ls"]))?));
        status.points.push((count, timed(world, rounds, || world.dogwatch(["status"]))?));
        // The exit code says whether all have ended.
        let ended = child::run(&mut world.dogwatch(["kill-all", "--yes"]))?.success()?;
        killed.points.push((count, ended.took.as_secs_f64()));
    }
    Ok(vec![bare, listed, status, killed])
}

/// A session with more and more hook signals.
pub(super) fn hooks(world: &World, numbers: &[usize], rounds: usize) -> Result<Vec<Curve>, Error> {
    const OF: &str = "hooks of one living session";
    let spawned = ["spawn", "--json", "--name", "busy", "--", "sleep", "99999"];
    let spawned = child::run(&mut world.dogwatch(spawned))?.success()?.text();
    let spawned: serde_json::Value = serde_json::from_str(&spawned).unwrap_or_default();
    let id = spawned["id"].as_str().unwrap_or_default().to_owned();
    let mut hook = Curve::new(OF, "hook", "ms").limited(Limit::Times(2.0));
    let mut status = Curve::new(OF, "status", "ms").limited(Limit::Times(2.0));
    let mut size = Curve::new(OF, "database", "MB");
    let mut done = 0;
    for &count in numbers {
        seed::hooks(world, &id, count - done)?;
        done = count;
        let call = || {
            let mut command = world.dogwatch(["hook", "claude", r#"{"hook_event_name":"Stop"}"#]);
            command.env("DOGWATCH_SESSION", &id);
            command
        };
        hook.points.push((count, timed(world, rounds, call)?));
        status.points.push((count, timed(world, rounds, || world.dogwatch(["status"]))?));
        size.points.push((count, database(world)));
    }
    Ok(vec![hook, status, size])
}

/// A longer and longer journal: time to its first line, and memory.
pub(super) fn events(world: &World, numbers: &[usize], rounds: usize) -> Result<Vec<Curve>, Error> {
    const OF: &str = "events in the journal";
    let mut first = Curve::new(OF, "events, first line", "ms").limited(Limit::Times(2.0));
    let mut all = Curve::new(OF, "events, all", "ms");
    let mut most = Curve::new(OF, "events, memory at the end", "MB").limited(Limit::Times(2.0));
    let mut done = 0;
    for &count in numbers {
        seed::events(world, count - done)?;
        done = count;
        let (mut firsts, mut alls, mut held) = (Vec::new(), Vec::new(), 0.0_f64);
        for _ in 0..rounds {
            world.go_on()?;
            let begun = Instant::now();
            let mut command = world.dogwatch(["events", "--json"]);
            let mut child = Guard(child::start(command.stdout(Stdio::piped()))?);
            let Some(mut stdout) = child.0.stdout.take() else { continue };
            let mut part = vec![0; 64 * 1024];
            let mut read = stdout.read(&mut part).map_err(Error::io("read events"))?;
            firsts.push(begun.elapsed());
            while read > 0 {
                held = held.max(resident(child.0.id()).unwrap_or(0.0));
                read = stdout.read(&mut part).map_err(Error::io("read events"))?;
            }
            child.0.wait().map_err(Error::io("wait for events"))?;
            alls.push(begun.elapsed());
        }
        let median = |times| Summary::of(times).map_or(f64::NAN, |s| milliseconds(s.median));
        first.points.push((count, median(firsts)));
        all.points.push((count, median(alls)));
        most.points.push((count, held));
    }
    Ok(vec![first, all, most])
}

/// Memory of `watch` and `relay` while sessions come and go.
pub(super) fn memory(world: &World, cycles: usize, is_written: bool) -> Result<Vec<Curve>, Error> {
    const OF: &str = "sessions come and gone";
    const STEPS: usize = 10;
    let port = free_port()?;
    let _broker = start_broker(world, port)?;
    let quiet = |words: &[&str]| {
        let mut command = world.dogwatch(words);
        child::start(command.stdout(Stdio::null()).stderr(Stdio::null())).map(Guard)
    };
    // One session that keeps the server alive.
    child::run(&mut world.dogwatch(["spawn", "--", "sleep", "99999"]))?.success()?;
    let relay = quiet(&["relay"])?;
    let watch = quiet(&["watch", "--json"])?;
    let mut curves = [Curve::new(OF, "watch", "MB"), Curve::new(OF, "relay", "MB")];
    let note = |curves: &mut [Curve; 2], count: usize| -> Result<(), Error> {
        // sleep: the last events are still being processed; memory is measured at rest.
        thread::sleep(Duration::from_secs(2));
        for (curve, process) in curves.iter_mut().zip([&watch, &relay]) {
            curve.points.push((count, resident(process.0.id())?));
        }
        Ok(())
    };
    // Memory that is allocated once does not count: the first step is the baseline.
    for step in 0..STEPS {
        let numbers = cycles * step / STEPS..cycles * (step + 1) / STEPS;
        let end = numbers.end;
        if is_written {
            seed::ended(world, numbers)?;
        } else {
            world.side_by_side(numbers, |_| {
                child::run(&mut world.dogwatch(["spawn", "--", "true"]))?.success().map(drop)
            })?;
        }
        note(&mut curves, end)?;
    }
    Ok(curves.map(|curve| curve.limited(Limit::Times(1.2))).into())
}
