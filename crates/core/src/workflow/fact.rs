//! What happened in a run, one line each. The journal of a run is these, in order, and nothing else decides what is next.

use jiff::Timestamp;

pub use dogwatch_protocol::run::{Fact, How, Job, Subject};

/// A fact and when it was written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Dated {
    pub at: Timestamp,
    pub fact: Fact,
}
