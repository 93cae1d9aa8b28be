//! The morning report: what a session did, and whether what its agent said of tests and builds is borne out by the calls it made.
//!
//! Theory of operation. [`lines`] reads a transcript line by line: what was said, called, answered. [`commands`] finds the test
//! and build runs in a shell command, and whether its exit code tells how they ended: a pipe hides it. [`claims`] finds what
//! the agent said of tests and builds. [`account`] puts them side by side, in the order of the transcript. A claim counts only
//! if a run is recorded before it, with its call and its result. [`timeline`] makes spans of states from records; where there
//! is no record, a span is not observed.

pub mod account;
pub mod claims;
pub mod commands;
pub mod lines;
mod programs;
#[cfg(test)]
mod set_tests;
mod shell;
pub mod timeline;
