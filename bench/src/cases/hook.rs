use std::fs::{self, File};
use std::process::Command;
use std::time::Duration;

use dogwatch_store::{StateDir, Store};

use crate::child;
use crate::error::Error;
use crate::race::{Contestant, race};
use crate::report::{Goal, Group, Target};
use crate::world::World;

const PAYLOAD: &str = include_str!("../../payloads/PostToolUse.json");
const HOOK: &str = "dogwatch hook";
const SESSION: &str = "0198f3c2-0000-7000-8000-000000000001";

/// The cost of a hook, compared with a program that does nothing. Both get the payload on stdin.
pub(crate) fn measure(world: &World, rounds: usize) -> Result<Group, Error> {
    let payload = world.path().join("payload.json");
    fs::write(&payload, PAYLOAD).map_err(Error::io("write the payload"))?;
    let timed = |name: &str, mut command: Command| {
        let payload = payload.clone();
        Contestant::new(name, move || -> Result<Duration, Error> {
            let stdin = File::open(&payload).map_err(Error::io("read the payload"))?;
            Ok(child::run(command.stdin(stdin))?.success()?.took)
        })
    };
    let mut hook = world.dogwatch(["hook", "claude"]);
    hook.env("DOGWATCH_SESSION", SESSION);
    let contestants = vec![timed("/bin/true", world.command("/bin/true")), timed(HOOK, hook)];
    let runners = race(world, contestants, rounds)?;
    check(world, rounds)?;
    Ok(Group {
        title: "hook".into(),
        runners,
        targets: vec![Target { runner: HOOK, goal: Goal::Milliseconds(4.0) }],
    })
}

/// A hook that fails is silent and fast: check that each has stored its signal.
fn check(world: &World, least: usize) -> Result<(), Error> {
    let state = StateDir::open(&world.state())?;
    let kept = Store::open(&state)?.signals(SESSION)?;
    if kept.len() >= least && kept.iter().all(|signal| signal.event == "PostToolUse") {
        return Ok(());
    }
    Err(Error::Wrong { what: "signals kept by the hook", found: kept.len().to_string() })
}
