//! How long a status must hold before it is sent: one that was inferred, and one that comes and goes, the longer the more often it came.

use std::time::Duration;

use jiff::SignedDuration;

use super::session::StatusEvent;
use crate::notice::Occasion;

/// Older notifications do not count.
pub const WINDOW: SignedDuration = SignedDuration::from_mins(30);

/// How long a status must hold that was inferred, or sent once before; twice as long each time after that.
const FIRST: Duration = Duration::from_secs(3);
/// Longest for a dialog that the agent itself reported: it may ask the same again and again, and then it waits.
const LONGEST_ASKED: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_mins(5);

/// How long an event must hold before it is sent, if the same came so many times lately.
pub fn hold(event: &StatusEvent, times: u32) -> Duration {
    let longest = match event.occasion {
        // A session ends once, and a turn that an agent says is over is over.
        Occasion::Crashed => return Duration::ZERO,
        Occasion::Done if !event.is_inferred => return Duration::ZERO,
        Occasion::Waiting if !event.is_inferred => LONGEST_ASKED,
        _ => LONGEST,
    };
    let Some(doublings) = times.checked_sub(1) else {
        return if event.is_inferred { FIRST } else { Duration::ZERO };
    };
    FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oftener_the_longer() {
        let event = |occasion, is_inferred| StatusEvent {
            occasion,
            dialog: None,
            detail: String::new(),
            is_inferred,
        };
        let table = [
            (Occasion::Waiting, false, [0, 3, 6, 12, 24, 30, 30]),
            (Occasion::Waiting, true, [3, 3, 6, 12, 24, 48, 96]),
            (Occasion::Limited, false, [0, 3, 6, 12, 24, 48, 96]),
            (Occasion::Done, true, [3, 3, 6, 12, 24, 48, 96]),
            (Occasion::Done, false, [0; 7]),
            (Occasion::Crashed, false, [0; 7]),
        ];
        for (occasion, is_inferred, want) in table {
            let event = event(occasion, is_inferred);
            let held: Vec<u64> = (0..7).map(|times| hold(&event, times).as_secs()).collect();
            assert_eq!(held, want, "{occasion:?} {is_inferred}");
        }
        assert_eq!(hold(&event(Occasion::Stuck, false), 5_000), LONGEST);
    }
}
