//! The helper's commands, by subject.

pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod stories;
pub(crate) mod verdict;
