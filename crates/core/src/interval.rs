//! Something that is due every so often, on a machine that sleeps and whose clock is set.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// A moment by both clocks: one that never jumps and stands still while the machine sleeps, and the one on the wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Since any fixed start.
    pub steady: Duration,
    pub wall: Timestamp,
}

/// Keeps the time since the last beat.
#[derive(Debug, Clone, Copy)]
pub struct Beat {
    every: Duration,
    last: Option<Moment>,
}

impl Beat {
    pub fn new(every: Duration) -> Self {
        Self { every, last: None }
    }

    /// Whether it is due: the first time, and when either clock says so. After a sleep only the one on the wall has moved; if
    /// that was set back, only the other one has.
    pub fn is_due(&self, now: Moment) -> bool {
        let Some(last) = self.last else { return true };
        let by_wall = now.wall.duration_since(last.wall);
        let every = SignedDuration::try_from(self.every).unwrap_or(SignedDuration::MAX);
        now.steady.saturating_sub(last.steady) >= self.every || by_wall >= every
    }

    pub fn done(&mut self, now: Moment) {
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_by_either_clock() {
        let at = |steady, wall: i64| Moment {
            steady: Duration::from_secs(steady),
            wall: Timestamp::from_second(1_794_700_000 + wall).unwrap(),
        };
        let mut beat = Beat::new(Duration::from_mins(5));
        assert!(beat.is_due(at(0, 0)), "the first");
        beat.done(at(0, 0));
        let table = [
            (at(299, 299), false),
            (at(300, 300), true),
            (at(10, 3600), true),
            (at(10, -3600), false),
            (at(300, -3600), true),
            (at(299, 299), false),
        ];
        for (now, due) in table {
            assert_eq!(beat.is_due(now), due, "{now:?}");
        }
    }
}
