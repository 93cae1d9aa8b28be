//! Telling others: people, by whatever they have set up.

pub mod sinks;
