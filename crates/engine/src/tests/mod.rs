//! The engine against a tmux in memory: decisions that depend on what tmux answers, without a server and without processes.

mod jobs;
mod registry;
mod send;
mod snapshot;
mod spawn;
mod status;
mod watch;
pub(crate) mod world;
