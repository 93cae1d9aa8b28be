//! The pause between attempts to reach a broker.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(10);
/// A broker that refuses us will not accept us soon, and may lock out clients that insist.
const REFUSED: Duration = Duration::from_secs(30);

/// Pauses between attempts, longer each time.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    failures: u32,
}

impl Pace {
    /// The pause before the next attempt. `chance` between 0 and 1 spreads the hosts, so that they do not all return together.
    pub fn after_failure(&mut self, refused: bool, chance: f64) -> Duration {
        let wait = if refused {
            REFUSED
        } else {
            FIRST.saturating_mul(1 << self.failures.min(10)).min(LONGEST)
        };
        self.failures = self.failures.saturating_add(1);
        wait.mul_f64(1.0 - 0.3 * chance.clamp(0.0, 1.0))
    }

    pub fn after_success(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let mut pace = Pace::default();
        let waits: Vec<u128> = (0..8).map(|_| pace.after_failure(false, 0.0).as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
        assert_eq!(pace.after_failure(true, 0.0), REFUSED);
        pace.after_success();
        assert_eq!(pace.after_failure(false, 1.0).as_millis(), 175);
    }
}
