//! Git worktrees: made for a session or a story, compared with their base, combined with their target, removed.
//!
//! git has the truth. Every step checks it first, so each can be repeated after a kill at any moment. No hook of the repository
//! runs here, and no remote is touched: agents can write below `.git` too. What is not committed is only removed by force.

pub mod claim;
pub mod combine;
pub mod diff;
pub mod make;
pub mod owner;
pub mod provide;
pub mod remove;
pub mod repository;
pub mod take_back;
pub mod trust;
pub mod values;

#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicU32, Ordering};

pub use repository::{Listed, Repository};

/// Lets tests kill the process at each step: `DOGWATCH_TEST_DIE_AT_STEP=7` at the seventh. Between two steps lies exactly one
/// change that outlives the process.
pub(crate) fn step() {
    #[cfg(debug_assertions)]
    {
        static STEPS: AtomicU32 = AtomicU32::new(0);
        die_at("DOGWATCH_TEST_DIE_AT_STEP", &STEPS);
    }
}

/// The same while a session is started. They are counted apart: a session that is registered and has no pane yet counts as living for
/// a moment, so that the next call does not find things as if nothing had been.
pub(crate) fn spawn_step() {
    #[cfg(debug_assertions)]
    {
        static STEPS: AtomicU32 = AtomicU32::new(0);
        die_at("DOGWATCH_TEST_DIE_AT_SPAWN_STEP", &STEPS);
    }
}

#[cfg(debug_assertions)]
fn die_at(variable: &str, steps: &AtomicU32) {
    let now = steps.fetch_add(1, Ordering::Relaxed) + 1;
    if std::env::var(variable).is_ok_and(|at| at == now.to_string()) {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
