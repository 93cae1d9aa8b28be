use std::time::Duration;

use crate::child;
use crate::error::Error;
use crate::race::{Contestant, race};
use crate::report::{Goal, Group, Target};
use crate::world::World;

const SPAWN: &str = "dogwatch spawn";

/// `spawn` against a bare `new-session`. What was made is ended again off the clock.
pub(crate) fn measure(world: &World, rounds: usize) -> Result<Group, Error> {
    let contestants = vec![
        Contestant::new("tmux new-session", || bare(world)),
        Contestant::new(SPAWN, || ours(world)),
    ];
    Ok(Group {
        title: "spawn".into(),
        runners: race(world, contestants, rounds)?,
        targets: vec![Target { runner: SPAWN, goal: Goal::Ratio(4.0) }],
    })
}

fn bare(world: &World) -> Result<Duration, Error> {
    let words = ["new-session", "-d", "-s", "bare", "-x", "200", "-y", "50", "sleep", "100000"];
    let made = child::run(&mut world.tmux(words))?.success()?;
    child::run(&mut world.tmux(["kill-session", "-t", "=bare:"]))?.success()?;
    Ok(made.took)
}

fn ours(world: &World) -> Result<Duration, Error> {
    let made = child::run(&mut world.dogwatch(["spawn", "--", "sleep", "100000"]))?.success()?;
    child::run(&mut world.dogwatch(["kill", "--now", &made.text()]))?.success()?;
    Ok(made.took)
}
