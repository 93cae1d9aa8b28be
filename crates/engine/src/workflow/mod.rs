//! Executes workflows step by step: whole stories, unattended.
//!
//! `core::workflow` decides the next action from the run's journal; this module performs it. [`driver`] is the loop, `perform`
//! executes one decision. A driver may have been killed between an action and its record, so every action first checks whether
//! it was done already: does the attempt's session exist, is the commit there, is the branch merged?

mod bmad;
mod builds;
mod checks;
mod dialogs;
mod driver;
mod generation;
pub mod git;
mod journal;
mod listing;
mod perform;
pub mod planner;
pub mod questions;
mod resuming;
mod run_context;
mod sessions;
mod state_document;
mod stories;
mod verify;

pub use driver::{RunOptions, RunOutcome, drive, is_attended};
pub use journal::replay;
pub use listing::{Listed, list};
pub use resuming::{to_resume, validate};
pub use run_context::Settings;
