//! A scripted terminal program: it plays a scenario file as if it were an agent.
//!
//! Tests and demonstrations need agents which do the same thing each time: show a recorded screen,
//! take input late or not at all, stall, fire hooks, leave children behind, crash. A scenario lists
//! such steps; this crate reads it and plays it on a terminal.
//!
//! The crate has two halves. [`Scenario`], the flow from step to step, the decoding of keys and the
//! judgement of answers are plain values without clock or terminal. [`play`] owns the terminal, the
//! time, the files and the processes, and asks the other half what comes next.
//!
//! `README.md` beside this crate documents the file format.

mod cli;
pub mod demo;
mod entry;
mod flow;
mod keys;
mod play;
pub mod scenario;
mod stage;
mod words;

pub use cli::main;
pub use play::{Ending, PlayError, Trouble, play};
pub use scenario::{Scenario, ScenarioError};
pub use stage::Stage;
