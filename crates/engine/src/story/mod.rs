//! Stories, as edges: a project's files, read and written for `core::story`.
//!
//! - [`project`] is what is known of the surroundings: the root, and what the caller's environment says.
//! - [`verify`](fn@verify) asks the files whether a step has done what it is for.

pub mod project;
mod verify;

pub use project::Project;
pub use verify::{Asked, NotVerified, Verdict, verify};
