//! Stories, as edges: a project's files, read and written for `core::story`.
//!
//! - [`project`] is what is known of the surroundings: the root, and what the caller's environment says.
//! - [`Stories`] are the files that agents write: stories, sprint status, epics.
//! - [`session`] starts sessions, tells of them, and ends them.
//! - [`verify`](fn@verify) asks the files whether a step has done what it is for.

mod artifacts;
pub mod project;
mod provider;
pub mod session;
mod verify;

pub use artifacts::{Stories, Story, StoryError, files};
pub use project::Project;
pub use provider::provider;
pub use verify::{Asked, NotVerified, Verdict, verify};
