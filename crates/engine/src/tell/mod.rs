//! Telling others: people, by whatever they have set up, and those who keep a monitor.

pub mod desk;
pub mod kanban;
mod process;
pub mod sinks;
