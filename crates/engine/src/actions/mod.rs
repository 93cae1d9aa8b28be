//! What changes something, one verb a file. Each step is verified before the next.

pub mod answer;
pub mod attach;
pub mod bug_report;
pub(crate) mod close_panes;
pub mod collect;
pub mod courier;
pub mod escalation;
pub mod gc;
pub mod hook;
pub mod job;
pub mod kill;
pub(crate) mod retire;
pub mod send;
mod shutdown;
pub mod spawn;
pub(crate) mod stale_sockets;
pub mod statusline;
