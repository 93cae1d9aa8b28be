//! The registry: agent sessions that a person lists in a YAML file, and how it is reconciled with what is running.
//!
//! - [`Registry`] is the content of the file, [`Observed`] what was seen in tmux and on disk, [`Reported`] what was reported before.
//! - [`reconcile`] compares them and returns the [`Edit`]s that the file needs, and the new [`Drift`]s.
//!
//! Two rules come first: a person's changes of the last seconds are never undone, and nothing is reported that could not
//! be observed.

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
pub use reconcile::{FRESH, Outcome, Reported, reconcile};
