//! How soon a session is looked at again.

use std::time::{Duration, Instant};

use dogwatch_core::profile;
use dogwatch_core::status::Status;

use crate::observe::interests::Voice;
use crate::observe::status::SessionStatus;

/// A transcript grows line by line; a few lines are read at once.
const TRANSCRIPT: Duration = Duration::from_millis(100);
/// An agent that tells by itself is looked at for what it does not tell.
const OUTPUT: Duration = Duration::from_secs(1);
/// One that has only its screen is looked at as often as a person would notice.
const ONLY_OUTPUT: Duration = Duration::from_millis(100);
/// A session that is listened to in a new way is looked at once more.
pub(super) const AFTERWARDS: Duration = Duration::from_millis(200);
/// After this long without news, time alone changes no idle session any more.
const SETTLED: Duration = Duration::from_secs(15);

/// The moment to look at a session of which there is news.
pub(super) fn due(voice: Voice, tells: bool, looked: Instant, now: Instant) -> Instant {
    let gap = match voice {
        Voice::Word => return now,
        Voice::Transcript => TRANSCRIPT,
        Voice::Output if tells => OUTPUT,
        Voice::Output => ONLY_OUTPUT,
    };
    now.max(looked + gap)
}

/// Whether a session may change by nothing but time: what should work may turn out to be stuck, what just ended may
/// turn out to be settled.
pub(super) fn is_restless(one: &SessionStatus, changed: Instant, now: Instant) -> bool {
    if one.seen.session.agent == profile::COMMAND || one.verdict.status.is_over() {
        return matches!(one.verdict.status, Status::Starting);
    }
    let at_rest = matches!(
        one.verdict.status,
        Status::Idle { .. } | Status::Error { .. } | Status::Limited { .. }
    );
    !at_rest || now.duration_since(changed) < SETTLED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_at_once_and_noise_in_time() {
        let looked = Instant::now();
        let now = looked + Duration::from_millis(10);
        let table = [
            (Voice::Word, true, 10),
            (Voice::Transcript, true, 100),
            (Voice::Output, true, 1000),
            (Voice::Output, false, 100),
        ];
        for (voice, tells, millis) in table {
            let expected = looked + Duration::from_millis(millis);
            assert_eq!(due(voice, tells, looked, now), expected, "{voice:?} {tells}");
        }
        let much_later = looked + Duration::from_mins(1);
        assert_eq!(due(Voice::Output, true, looked, much_later), much_later, "first in a while");
    }
}
