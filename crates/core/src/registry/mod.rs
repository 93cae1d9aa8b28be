//! The registry of agent sessions that a person keeps in a YAML file, and how it is held to what is really there.
//!
//! - [`Registry`] is what the file says, [`Observed`] what was seen in tmux and on disk, [`Told`] what was said before.
//! - [`reconcile`] compares them: the [`Edit`]s that the file needs, and the [`Drift`]s that are news.
//!
//! Two rules stand above the rest: what a person did in the last seconds is never undone, and what could not be seen is
//! not said.

mod drift;
mod edit;
mod identity;
mod lives;
mod model;
mod names;
mod observed;
mod reconcile;

#[cfg(test)]
mod tests;

pub use drift::{Drift, Kind};
pub use edit::{Edit, apply, entry_path};
pub use model::{Entry, PaneRecord, Problem, Registry, Status, TerminatedBy, VERSION};
pub use names::NamePattern;
pub use observed::{Artifact, Conversation, InPane, Observed, SeenPane, SeenSession, TmuxServer};
pub use reconcile::{FRESH, Outcome, Told, reconcile};
