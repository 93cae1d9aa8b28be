//! Waits for conditions that no event reports.

use std::time::{Duration, Instant};

/// Long enough for a loaded machine; no test waits for it unless it fails.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Short against what a test waits for, long against what a look costs.
const INTERVAL: Duration = Duration::from_millis(15);

/// Waits for a condition.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    eventually_or(what, || if condition() { Ok(()) } else { Err("not so".to_owned()) });
}

/// The same for a condition that can say what it sees instead.
#[track_caller]
pub fn eventually_or(what: &str, mut condition: impl FnMut() -> Result<(), String>) {
    let begun = Instant::now();
    while let Err(instead) = condition() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}; but: {instead}");
        // sleep: the interval of a poll.
        std::thread::sleep(INTERVAL);
    }
}

/// Waits for a value.
#[track_caller]
pub fn wait_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        // sleep: the interval of a poll.
        std::thread::sleep(INTERVAL);
    }
}
