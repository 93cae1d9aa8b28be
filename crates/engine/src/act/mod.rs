//! What changes the world, one verb a file. Each step is verified before the next.

pub mod answer;
pub mod attach;
pub mod gc;
pub mod hook;
pub mod kill;
pub mod record;
pub mod send;
pub mod spawn;
pub mod statusline;
