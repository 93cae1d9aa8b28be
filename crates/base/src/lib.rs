//! Helpers for all other crates. Nothing here knows about agents.
//!
//! - [`program`] runs a program with a time limit.
//! - [`git`] reads the state of a work tree, and commits.
//! - [`glob`] has file name patterns.
//! - [`log`] is the diagnostic log.
//! - [`private`] lists the variables that are withheld from other programs.

pub mod git;
pub mod glob;
pub mod log;
pub mod private;
pub mod program;
