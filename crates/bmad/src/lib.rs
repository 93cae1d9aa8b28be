//! BMAD's files: their formats, where they are, and how they are changed.
//!
//! - [`format`](mod@format) reads and writes texts: epics, stories, sprint status, front matter, state documents. Pure.
//! - [`policy`] is the policy of a run: how each step is prompted, verified and repeated.
//! - [`project`] finds the files of a project and changes them without following links.
//! - [`verify`](fn@verify) checks the result of a step; [`reconcile`](fn@reconcile) and [`test_counts`](fn@test_counts)
//!   compare a story's file with the work tree and its tests.
//! - [`commit`](fn@commit) commits a story's changes, without secrets.
//! - [`builds`] distinguishes BMAD's generations; [`run_document`] renders a run as a state document.

pub mod builds;
mod commit;
pub mod format;
pub mod policy;
pub mod project;
mod reconcile;
pub mod run_document;
mod test_counts;
mod verify;

pub use commit::{Committed, LeftOut, NotCommitted, commit, why_not};
pub use project::Project;
pub use project::artifacts::{EpicFiles, Stories, Story, StoryError, files};
pub use project::files::remove as remove_below;
pub use project::layout::{marker_path, skill_roots};
pub use project::provider::provider;
pub use project::texts::{one_at_a_time, read_text, read_text_to_change, rewrite_text, write_text};
pub use reconcile::{NotReconciled, Reconciled, reconcile};
pub use test_counts::{NotCounted, Ran, TestCounts, test_counts};
pub use verify::{Asked, Finding, NotVerified, Verdict, count, verify, verify_review};
