//! What the supervisor gives and costs: questions that it answers against looks of one's own, its processor time and memory with
//! programs that listen, how soon all of these hear of a hook, and whether one that misbehaves delays the others.

mod answers;
mod costs;
mod isolation;
mod program;

pub(crate) use answers::answers;
pub(crate) use costs::{costs, crowd};
pub(crate) use isolation::isolation;

use std::fs;
use std::time::{Duration, Instant};

use dogwatch_store::{Session, StateDir, Store, Which};

use super::told::say;
use crate::error::Error;
use crate::world::World;
use program::Program;

/// Programs that listen.
const PROGRAMS: usize = 10;

fn all(world: &World) -> Result<Vec<Session>, Error> {
    let store = Store::open(&StateDir::open(&world.state())?)?;
    Ok(store.sessions(&world.socket(), Which::All)?)
}

fn configure(world: &World, text: &str) -> Result<(), Error> {
    let folder = world.home().join(".config/dogwatch");
    let written =
        fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join("config.toml"), text));
    written.map_err(Error::io("write a configuration"))
}

/// A turn of this agent begins and ends: how long it takes from its end until all programs have heard.
fn turn(world: &World, programs: &mut [Program], agent: &Session) -> Result<Duration, Error> {
    world.go_on()?;
    say(world, agent, "busy", "UserPromptSubmit")?;
    programs.iter_mut().try_for_each(|one| one.hears(agent, "working"))?;
    let begun = Instant::now();
    say(world, agent, "idle", "Stop")?;
    programs.iter_mut().try_for_each(|one| one.hears(agent, "idle"))?;
    Ok(begun.elapsed())
}
