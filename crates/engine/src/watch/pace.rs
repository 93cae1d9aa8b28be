//! How soon a session is judged again.

use std::time::{Duration, Instant};

use dogwatch_core::profile;
use dogwatch_core::status::Status;

use super::watched::Watched;
use crate::observe::interests::Voice;

/// A transcript grows line by line; read several lines together.
const TRANSCRIPT: Duration = Duration::from_millis(100);
/// For an agent with hooks or a state file, whose screen only adds detail.
const OUTPUT: Duration = Duration::from_secs(1);
/// For an agent with nothing but its screen: as fast as a person would notice.
const ONLY_OUTPUT: Duration = Duration::from_millis(100);
/// One more look after the subscriptions of a session changed.
pub(super) const AFTERWARDS: Duration = Duration::from_millis(200);
/// After this long without a change, time alone does not change an idle session.
const SETTLED: Duration = Duration::from_secs(15);

/// When to judge a session that has reported something.
pub(super) fn due(voice: Voice, tells: bool, looked: Instant, now: Instant) -> Instant {
    let gap = match voice {
        Voice::Word => return now,
        Voice::Transcript => TRANSCRIPT,
        Voice::Output if tells => OUTPUT,
        Voice::Output => ONLY_OUTPUT,
    };
    now.max(looked + gap)
}

/// Whether the status may change by time alone: a working session may turn out to be stuck, one that just ended may turn
/// out to be settled.
pub(super) fn is_restless(watched: &Watched, now: Instant) -> bool {
    let Watched { status: one, changed, told, .. } = watched;
    if one.verdict.status.is_over() {
        return false;
    }
    if one.seen.session.agent == profile::COMMAND {
        // What it has printed last may be a question, if it stays.
        let has_printed = now.duration_since(*told) < SETTLED;
        return has_printed || matches!(one.verdict.status, Status::Starting);
    }
    let at_rest = matches!(
        one.verdict.status,
        Status::Idle { .. } | Status::Error { .. } | Status::Limited { .. }
    );
    !at_rest || now.duration_since(*changed) < SETTLED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn self_reports_are_read_immediately_and_output_is_delayed() {
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
