//! To be written.

use super::{Call, Reply, no};

pub(super) fn answer(_call: &Call) -> Reply {
    no("missing_args")
}
