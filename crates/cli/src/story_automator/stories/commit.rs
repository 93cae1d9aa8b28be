//! To be written.

use super::{Call, Reply, no};

pub(super) fn commit_story(_call: &Call) -> Reply {
    no("missing_args")
}

pub(super) fn commit_ready(_call: &Call) -> Reply {
    no("missing_args")
}
