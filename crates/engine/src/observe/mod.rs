//! One look at what is there: sessions, panes, processes, agents and what each of them does. Reading only.
//!
//! [`snapshot`] joins the database, tmux and the records; [`status`] adds screens and the agents' own files. [`wait`](mod@wait) and
//! [`watch`] repeat that when something changes.

pub mod about;
pub mod agents;
pub mod arrival;
pub mod asker;
pub mod background;
pub mod binaries;
pub mod capture;
pub mod changes;
pub mod collisions;
pub mod conversations;
pub mod details;
pub mod events;
pub mod evidence;
pub mod exists;
pub mod files;
pub mod git_head;
pub mod interests;
pub mod jobs;
pub mod limits;
pub mod listeners;
pub mod listing;
pub mod loopback;
pub mod messages;
pub mod opencode;
pub mod proc_files;
pub mod process_table;
pub mod processes;
pub mod project;
pub mod report;
pub mod screens;
pub mod self_report;
pub mod server_ends;
pub mod snapshot;
pub mod status;
pub mod tmux_snapshot;
pub mod transcripts;
pub mod unmanaged;
pub(crate) mod unread_input;
pub mod usage;
pub mod verifications;
pub mod wait;
