//! Carrying out work that is done step by step: whole stories, unattended.
//!
//! What is next is decided in `core::workflow` from the run's journal; here it is done. [`driver`] is the loop, `perform` one
//! decision. Every decision may have been carried out already by somebody who was killed before it was written down, so each
//! begins with a look at the world: is the session of this attempt there, is the commit made, is the branch merged?

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
