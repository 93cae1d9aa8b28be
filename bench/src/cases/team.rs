use std::time::Duration;

use crate::child;
use crate::error::Error;
use crate::race::{Contestant, race};
use crate::real_claude::RealClaude;
use crate::report::{Goal, Group, Target};
use crate::world::World;

const SPAWN: &str = "dogwatch pane spawn, with its task";

/// A whole `pane spawn` of the real Claude Code (started, at its prompt, coloured, named, marked, arranged, and given its task with proof) compared
/// with the same program in a bare split until its prompt is visible. Nothing if it is not installed.
pub(crate) fn measure(world: &World, rounds: usize) -> Result<Option<Group>, Error> {
    let Some(claude) = RealClaude::find(world)? else { return Ok(None) };
    let words = "new-session -d -s team -x 200 -y 50 -P -F #{pane_id} cat".split(' ');
    let master = child::run(&mut world.tmux(words))?.success()?.text();
    let contestants = vec![
        Contestant::new("claude in a bare split, to its prompt", || bare(&claude, &master)),
        Contestant::new(SPAWN, || ours(&claude, &master)),
    ];
    Ok(Some(Group {
        title: "pane spawn".into(),
        runners: race(world, contestants, rounds)?,
        targets: vec![Target { runner: SPAWN, goal: Goal::Longer(1000.0) }],
    }))
}

fn bare(claude: &RealClaude<'_>, master: &str) -> Result<Duration, Error> {
    let (pane, took) = claude.start_bare(&["split-window", "-h", "-d", "-t", master])?;
    child::run(&mut claude.world.tmux(["kill-pane", "-t", &pane]))?.success()?;
    Ok(took)
}

fn ours(claude: &RealClaude<'_>, master: &str) -> Result<Duration, Error> {
    let words = ["pane", "spawn", "--role", "dev", "--unattended", "--task", "It."];
    let words = [&words[..], &["--master", master, "claude"]].concat();
    let made = child::run(&mut claude.dogwatch(&words))?.success()?;
    let pane = made.text();
    child::run(&mut claude.dogwatch(&["pane", "close", "--force", &pane]))?.success()?;
    Ok(made.took)
}
