//! Playing a scenario on a stage.
//!
//! One thread does everything. A step that takes time waits in [`player::Player::wait_once`], which
//! reads input, notes new window sizes and lets the clock tick meanwhile; so typed text is taken
//! whenever time passes, except in a `hang`.

mod child;
mod clock;
mod ears;
mod ending;
mod files;
mod hook;
mod listen;
mod log;
mod perform;
mod player;
mod signals;
mod terminal;

pub(crate) use child::{SLEEPER, sleeper};
pub use ending::{Ending, PlayError, Trouble};

use crate::flow::{Flow, Next, Turn};
use crate::scenario::Scenario;
use crate::stage::Stage;
use ending::Cut;
use player::Player;

/// Plays a scenario to its end, and restores the terminal unless the end is a crash.
pub fn play(scenario: &Scenario, stage: Stage) -> Ending {
    let mut player = match Player::enter(scenario, stage) {
        Ok(player) => player,
        Err(trouble) => return Ending::failed(1, trouble),
    };
    let mut flow = Flow::new(scenario);
    let mut turn = Turn::On;
    loop {
        let (line, step) = match flow.advance(turn) {
            Next::Play { line, step } => (line, step),
            Next::End => return Ending::Exit(0),
            Next::Runaway { line } => return Ending::failed(line, Trouble::Runaway),
        };
        turn = match player.perform(line, step) {
            Ok(turn) => turn,
            Err(Cut::Exit(code)) => return Ending::Exit(code),
            Err(Cut::Trouble(trouble)) => return Ending::failed(line, trouble),
        };
    }
}
