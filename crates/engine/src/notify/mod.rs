//! Telling others: people, by whatever they have set up, those who keep a monitor, and other hosts, by a broker.

pub mod broker;
pub mod channels;
pub mod kanban;
pub mod mqtt;
mod outward;
mod process;
pub mod report_target;
mod tls;
