//! Waits for conditions that no event reports.

use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine; only a failing test waits this long.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Short compared to what tests wait for, long compared to the cost of one check.
const INTERVAL: Duration = Duration::from_millis(15);

/// Waits for a condition.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    wait_until(what, || condition().then_some(()));
}

/// The same for a condition that returns what it sees instead.
#[track_caller]
pub fn eventually_or(what: &str, mut condition: impl FnMut() -> Result<(), String>) {
    let instead = RefCell::new(String::new());
    let say = || format!("{what}; but: {}", instead.borrow());
    wait_within(PATIENCE, say, || condition().map_err(|seen| *instead.borrow_mut() = seen).ok());
}

/// Waits for a value.
#[track_caller]
pub fn wait_until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_within(PATIENCE, || what.to_owned(), look)
}

/// Waits for a value with a limit of its own, and with details for the failure message.
#[track_caller]
pub fn wait_within<T>(
    at_most: Duration,
    what: impl Fn() -> String,
    mut look: impl FnMut() -> Option<T>,
) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < at_most, "never: {}", what());
        // sleep: poll interval.
        std::thread::sleep(INTERVAL);
    }
}
