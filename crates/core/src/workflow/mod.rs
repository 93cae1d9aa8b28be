//! Work that is done step by step by agents, without anybody looking on.
//!
//! - [`definition`] is what a workflow is, [`reading`] how its file is read; `bmad` is the one that is built in;
//! - [`plan`] is what one run is to do with it;
//! - [`fact`] is what happened, [`state`] where that leaves the run, [`decide`] what is next.
//!
//! A run is its journal. Whoever is killed reads it again, looks at the world, and goes on: a decision names what it is
//! about, so what was done and not written down is found and not done twice.

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
pub mod until;

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

/// The text of the built-in workflow.
pub const BMAD: &str = include_str!("../../workflows/bmad.toml");

/// The text of the workflow for BMAD's own unattended build.
pub const BMAD_BUILD: &str = include_str!("../../workflows/bmad-build.toml");

/// The built-in workflow: a BMAD story.
pub fn bmad() -> Option<Workflow> {
    static READ: OnceLock<Option<Workflow>> = OnceLock::new();
    READ.get_or_init(|| read("bmad.toml", BMAD).ok()).clone()
}
