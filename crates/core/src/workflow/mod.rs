//! Workflows: steps that agents do unattended.
//!
//! - [`definition`] is a workflow, [`reading`] parses its file; `bmad` is the built-in one;
//! - [`plan`] is what one run does with it;
//! - [`fact`] is an entry of the journal, [`state`] the resulting state, [`decide`] the next actions.
//!
//! A run is its journal. After a crash, dogwatch reads it again, checks the world, and continues: a decision identifies its
//! subject, so what was done and not recorded is found and not done twice.

pub mod decide;
pub mod definition;
pub mod fact;
mod fold;
pub mod page;
pub mod plan;
pub mod reading;
pub mod report;
pub mod rows;
pub mod session_end;
pub mod spending;
pub mod state;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

pub use decide::Decision;
pub use definition::{Failure, Per, Prompt, Step, Verifier, Work, Workflow};
pub use fact::{Dated, Fact, How, Job, Subject};
pub use fold::aside_words;
pub use plan::{AgentChoice, Budget, Item, Plan, Spent};
pub use reading::{BadWorkflow, fill, read};
pub use report::{Report, report};
pub use session_end::{failed, session_end};
pub use spending::Prices;
pub use state::{Outcome, Phase, Run, Standing};

pub const BMAD: &str = include_str!("../../workflows/bmad.toml");

/// The workflow for BMAD's own unattended build.
pub const BMAD_BUILD: &str = include_str!("../../workflows/bmad-build.toml");

/// The built-in workflow: a BMAD story.
pub fn bmad() -> Option<Workflow> {
    static READ: OnceLock<Option<Workflow>> = OnceLock::new();
    READ.get_or_init(|| read("bmad.toml", BMAD).ok()).clone()
}
