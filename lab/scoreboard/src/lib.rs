//! Reads recorded screens whose true state is known, and counts how often the reader is right.

pub mod corpus;
pub mod peers;
pub mod score;
mod version;
