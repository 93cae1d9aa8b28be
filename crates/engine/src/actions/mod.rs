//! What changes something, one verb a file. Each step is verified before the next.

pub mod answer;
pub mod attach;
pub mod budget;
pub mod bug_report;
pub mod callback;
pub(crate) mod close_panes;
pub mod collect;
pub mod courier;
pub mod diff;
pub mod escalation;
pub mod finish;
pub mod follow;
pub mod gc;
pub mod hook;
pub mod job;
pub mod kill;
pub mod label;
pub mod pull_request;
pub(crate) mod retire;
pub mod rules;
pub mod search;
pub mod send;
mod shutdown;
pub mod skill;
pub mod spawn;
pub(crate) mod stale_sockets;
pub mod statusline;
