use std::process::Command;
use std::time::Duration;

use crate::child;
use crate::error::Error;
use crate::race::{Contestant, race};
use crate::report::{Goal, Group, Target};
use crate::world::World;

const LS: &str = "dogwatch ls";
const EXISTS: &str = "dogwatch exists";

/// `ls` and `exists` compared with the bare calls, in turn, on a server with that many sessions.
pub(crate) fn measure(world: &World, sessions: usize, rounds: usize) -> Result<[Group; 2], Error> {
    let names = world.names()?;
    let name = names.last().cloned().unwrap_or_default();
    check(world, &names)?;
    let target = format!("={name}:");
    let mut listing = race(
        world,
        vec![
            timed("tmux list-sessions", world.tmux(["list-sessions"])),
            timed(LS, world.dogwatch(["ls"])),
            timed("dogwatch ls --json", world.dogwatch(["ls", "--json"])),
            timed("tmux has-session", world.tmux(["has-session", "-t", &target])),
            timed(EXISTS, world.dogwatch(["exists", &name])),
        ],
        rounds,
    )?;
    let asking = listing.split_off(3);
    let group = |title: &str, runners, ours| Group {
        title: format!("{title}, {sessions} on the server"),
        runners,
        targets: vec![Target { runner: ours, goal: Goal::Ratio(2.0) }],
    };
    Ok([group("list sessions", listing, LS), group("ask for a session", asking, EXISTS)])
}

fn timed(name: &str, mut command: Command) -> Contestant<'static> {
    Contestant::new(name, move || -> Result<Duration, Error> {
        Ok(child::run(&mut command)?.success()?.took)
    })
}

/// Checks the answers: every session is listed, and no missing one is reported as existing.
fn check(world: &World, names: &[String]) -> Result<(), Error> {
    let listed = child::run(&mut world.dogwatch(["ls"]))?.success()?.text();
    if let Some(missing) = names.iter().find(|name| !listed.contains(name.as_str())) {
        return Err(Error::Wrong { what: "dogwatch ls does not list", found: missing.clone() });
    }
    let no_name = "there-is-no-such-session";
    match child::run(&mut world.dogwatch(["exists", no_name]))?.success() {
        Ok(_) => Err(Error::Wrong { what: "dogwatch exists finds", found: no_name.into() }),
        Err(_) => Ok(()),
    }
}
