//! The measurements, one file each.

pub(crate) mod first_byte;
pub(crate) mod hook;
pub(crate) mod look;
pub(crate) mod reconcile;
pub(crate) mod relay;
pub(crate) mod runners;
pub(crate) mod send;
pub(crate) mod spawn;
pub(crate) mod status;
pub(crate) mod story_automator;
pub(crate) mod supervisor;
pub(crate) mod sweep;
pub(crate) mod team;
pub(crate) mod told;
pub(crate) mod watching;
