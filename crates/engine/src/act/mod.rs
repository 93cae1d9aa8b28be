//! What changes the world, one verb a file. Each step is verified before the next.

pub mod agent;
pub mod answer;
pub mod attach;
pub(crate) mod close_panes;
pub(crate) mod collect;
mod ending;
pub mod escalation;
pub mod gc;
pub mod hook;
pub mod job;
pub mod kill;
pub mod pane;
pub mod record;
pub(crate) mod retire;
pub mod roll;
pub mod send;
pub mod spawn;
pub(crate) mod stale_sockets;
pub mod statusline;
pub mod task;
