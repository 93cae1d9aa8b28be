//! Stories, as edges: a project's files, read and written for `core::story`.
//!
//! - [`project`] is what is known of the surroundings: the root, and what the caller's environment says.
//! - [`Stories`] are the files that agents write: stories, sprint status, epics.
//! - [`session`] starts sessions, tells of them, and ends them.
//! - [`policy`] is what holds for a run, with every file that it names.
//! - [`state`] finds, makes and changes state documents; [`run_marker`] is the marker of the active run.
//! - [`reading`] asks what a transcript says; [`stop_hook`] is put into an agent's settings.
//! - [`verify`](fn@verify) asks the files whether a step has done what it is for.

mod artifacts;
mod commit;
mod git;
mod layout;
pub mod policy;
mod policy_assets;
mod program;
pub mod project;
mod project_files;
mod provider;
pub mod reading;
mod reconcile;
pub mod run_marker;
pub mod session;
pub mod state;
pub mod stop_hook;
mod test_counts;
mod texts;
mod verify;

pub use artifacts::{EpicFiles, Stories, Story, StoryError, files};
pub(crate) use commit::why_not;
pub use commit::{Committed, LeftOut, NotCommitted, commit};
pub use git::{GitFailed, WorkTree};
pub(crate) use git::{PATHS_FROM_INPUT, command as git_command, literal};
pub use layout::marker_path;
pub(crate) use layout::skill_roots;
pub use project::Project;
pub(crate) use project_files::remove as remove_below;
pub use provider::provider;
pub use reconcile::{NotReconciled, Reconciled, reconcile};
pub use test_counts::{NotCounted, Ran, TestCounts, test_counts};
pub use texts::{one_at_a_time, read_text, read_text_to_change, rewrite_text, write_text};
pub use verify::{Asked, NotVerified, Verdict, verify, verify_review};
