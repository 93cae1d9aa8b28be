//! The helper's commands, by what they are about.

pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod stories;
pub(crate) mod verdict;
