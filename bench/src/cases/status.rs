use std::process::Command;
use std::time::{Duration, Instant};

use dogwatch_tmux::{CaptureOptions, PaneId};

use crate::error::Error;
use crate::race::{Contestant, race};
use crate::report::{Goal, Group, Target};
use crate::world::World;
use crate::{child, claude};

const ONE: &str = "dogwatch status NAME";
const ALL: &str = "dogwatch status";
const STYLED: CaptureOptions = CaptureOptions { lines: None, ansi: true, joined: false };

/// `status` compared with a tmux process that only prints a word. The sessions imitate Claude Code.
pub(crate) fn measure(world: &World, sessions: usize, rounds: usize) -> Result<Group, Error> {
    claude::fill_up_to(world, sessions)?;
    let name = world.names()?.first().cloned().unwrap_or_default();
    let server = world.server();
    let panes: Vec<PaneId> = server.panes()?.iter().map(|row| row.pane_id).collect();
    let contestants = vec![
        timed("tmux display-message", world.tmux(["display-message", "-p", "x"])),
        // What tmux itself needs for the screens.
        Contestant::new("tmux capture-pane, all chained", || {
            let begun = Instant::now();
            server.capture_many(&panes, STYLED)?;
            Ok(begun.elapsed())
        }),
        timed(ONE, world.dogwatch(["status", &name])),
        timed(ALL, world.dogwatch(["status"])),
    ];
    let target = if sessions == 1 {
        Target { runner: ONE, goal: Goal::Ratio(2.5) }
    } else {
        Target { runner: ALL, goal: Goal::Milliseconds(40.0) }
    };
    Ok(Group {
        title: format!("status, {sessions} on the server"),
        runners: race(world, contestants, rounds)?,
        targets: vec![target],
    })
}

fn timed(name: &str, mut command: Command) -> Contestant<'static> {
    Contestant::new(name, move || -> Result<Duration, Error> {
        Ok(child::run(&mut command)?.success()?.took)
    })
}
