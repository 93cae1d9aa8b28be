//! The use cases of dogwatch.
//!
//! Modules depend in one direction; `scripts/check-house` proves it.
//!
//! - [`observe`] looks: one snapshot of sessions, panes, processes and agents, and the status of each. It changes nothing.
//! - [`notify`] tells people: bell, desktop, command, webhook, Kanban. It knows none of the modules below.
//! - [`worktree`] makes, compares, combines and removes git worktrees. Actions and workflows use it.
//! - [`actions`] changes something, one verb a file, each step verified before the next.
//! - [`runner`] is the pane's command: it starts the agent, waits, and records how it ended.
//! - [`supervisor`] is the one process of a tmux server that delivers, follows, continues and notifies; [`summon`] starts it.
//! - [`socket`] is how programs ask it, and hear from it.
//! - [`registry`], [`team`] and [`workflow`] are built from actions; none of them knows the others.
//! - [`doctor`] checks the installation.
//!
//! Decisions are made in `dogwatch-core`; this crate performs them.

pub mod actions;
pub mod config;
pub mod context;
pub mod doctor;
pub mod environment;
pub mod error;
pub mod notify;
pub mod observe;
pub mod registry;
pub mod runner;
pub mod socket;
pub mod summon;
pub mod supervisor;
pub mod team;
#[cfg(test)]
mod tests;
pub mod watch;
pub mod workflow;
pub mod worktree;

pub use context::Context;
pub use error::Error;
