use std::thread;
use std::time::{Duration, Instant};

use dogwatch_tmux::control::Control;
use dogwatch_tmux::{CaptureOptions, PaneId, Reply, Server};

use crate::child;
use crate::error::Error;
use crate::race::{Contestant, race};
use crate::report::{Goal, Group, Target};
use crate::world::{IDLER_IS_READY, World};

const CONTROL: &str = "control mode";
const CHAINED: &str = "chained processes";
const SCREEN: CaptureOptions = CaptureOptions { lines: None, ansi: false, joined: false };

/// Reads all screens: with a process for each, with few processes and many commands, with one connection.
pub(crate) fn measure(world: &World, panes: usize, rounds: usize) -> Result<Group, Error> {
    let server = world.server();
    let (control, notes) = Control::open(&server)?;
    drop(notes);
    let ids = ready_panes(&server, panes)?;
    check(world, &server, &control, &ids)?;
    let contestants = vec![
        Contestant::new("a process for each pane", || timed(|| each(world, &ids))),
        Contestant::new(CHAINED, || timed(|| chained(&server, &ids))),
        Contestant::new(CONTROL, || timed(|| through(&control, &ids))),
    ];
    Ok(Group {
        title: format!("sweep, {panes} panes"),
        runners: race(world, contestants, rounds)?,
        targets: vec![Target { runner: CONTROL, goal: Goal::Speedup(30.0) }],
    })
}

fn timed(read: impl FnOnce() -> Result<Vec<Vec<u8>>, Error>) -> Result<Duration, Error> {
    let begun = Instant::now();
    read()?;
    Ok(begun.elapsed())
}

fn each(world: &World, ids: &[PaneId]) -> Result<Vec<Vec<u8>>, Error> {
    let read = |id: &PaneId| {
        let mut command = world.tmux(["capture-pane", "-p", "-t", &id.to_string()]);
        Ok(child::run(&mut command)?.success()?.stdout)
    };
    ids.iter().map(read).collect()
}

fn chained(server: &Server, ids: &[PaneId]) -> Result<Vec<Vec<u8>>, Error> {
    texts(server.capture_many(ids, SCREEN)?)
}

fn through(control: &Control, ids: &[PaneId]) -> Result<Vec<Vec<u8>>, Error> {
    texts(control.capture_many(ids, SCREEN)?)
}

fn texts(replies: Vec<Result<Reply, dogwatch_tmux::Error>>) -> Result<Vec<Vec<u8>>, Error> {
    replies.into_iter().map(|reply| Ok(reply?.bytes().to_vec())).collect()
}

/// The panes, once all have filled their screens.
fn ready_panes(server: &Server, count: usize) -> Result<Vec<PaneId>, Error> {
    let begun = Instant::now();
    loop {
        let ids: Vec<_> = server.panes()?.iter().map(|row| row.pane_id).collect();
        let is_ready = |text: &Vec<u8>| String::from_utf8_lossy(text).contains(IDLER_IS_READY);
        if ids.len() == count && chained(server, &ids)?.iter().all(is_ready) {
            return Ok(ids);
        }
        if begun.elapsed() > child::PATIENCE {
            return Err(Error::Wrong { what: "panes to read", found: format!("{}", ids.len()) });
        }
        // sleep: poll interval.
        thread::sleep(Duration::from_millis(50));
    }
}

/// All ways must read the same.
fn check(world: &World, server: &Server, control: &Control, ids: &[PaneId]) -> Result<(), Error> {
    let expected = each(world, ids)?;
    for (what, found) in [
        ("chained processes read", chained(server, ids)?),
        ("control mode reads", through(control, ids)?),
    ] {
        if let Some((id, _)) =
            ids.iter().zip(expected.iter().zip(&found)).find(|(_, (a, b))| a != b)
        {
            return Err(Error::Wrong { what, found: format!("another text of {id}") });
        }
    }
    Ok(())
}
