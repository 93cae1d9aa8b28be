//! The use cases of dogwatch: sense, act, and the runner that stands in each pane.
//!
//! - [`sense`] gathers facts and decides nothing: panes, records, processes, agents, transcripts.
//! - [`act`] changes the world, one verb a file, each step verified before the next.
//! - [`runner`] is the pane's command: it starts the agent, waits, and writes down how it ended.
//! - [`status`] does the same for what each agent is doing, with the reasons.
//! - [`snapshot`] joins what is remembered with what is seen: the one view that every command shows.
//!
//! [`team`](mod@team) shows the agents of one window, [`team_file`] is what they write to.
//!
//! [`story`] reads and writes the files of a project with stories.
//!
//! [`roll`] holds the registry to what is there.
//!
//! [`wait`](mod@wait) blocks until a session is in a state; [`watch`] tells of every change.
//!
//! [`tell`] tells people and other hosts, by what [`config`] says; [`events`] reads the journal.
//!
//! Decisions are made in `dogwatch-core`; this crate performs them.

pub mod act;
pub mod config;
pub mod context;
pub mod error;
pub mod events;
mod program;
pub mod roll;
pub mod runner;
pub mod sense;
pub mod snapshot;
pub mod status;
pub mod story;
pub mod team;
pub mod team_file;
pub mod tell;
pub mod wait;
pub mod watch;
pub mod work;

pub use context::Context;
pub use error::Error;
