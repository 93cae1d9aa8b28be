//! The facts of a run. Its journal is a list of facts, and only the journal decides what is next.

use jiff::Timestamp;

pub use dogwatch_protocol::run::{Fact, How, Job, Subject};

/// A fact and the time of its record.
#[derive(Debug, Clone, PartialEq)]
pub struct Dated {
    pub at: Timestamp,
    pub fact: Fact,
}
