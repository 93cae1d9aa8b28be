//! What every other crate may use, and what knows nothing of agents.
//!
//! - [`program`] runs a program to its end, or ends it.
//! - [`git`] asks git about a work tree, and commits.
//! - [`glob`] has patterns of file names.
//! - [`log`] is for whoever looks for a fault.
//! - [`private`] names the variables that no other program is given.

pub mod git;
pub mod glob;
pub mod log;
pub mod private;
pub mod program;
