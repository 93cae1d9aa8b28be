//! Spans of states, from what is recorded. Where nothing is recorded, a span is not observed: none is invented.

use jiff::{SignedDuration, Timestamp};

/// Two records this close have nothing between them.
const CLOSE: SignedDuration = SignedDuration::from_mins(1);
/// A working agent writes something at least this often; `stuck` uses the same time.
const SILENCE: SignedDuration = SignedDuration::from_mins(5);
/// Lines around a change of state belong to it.
const AROUND: SignedDuration = SignedDuration::from_secs(5);

/// What a session was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    Working,
    Waiting,
    Limited,
    Idle,
    /// Stuck, or failed.
    Trouble,
    NotObserved,
}

impl Doing {
    /// Of the word of a status; `None` if the session is over with it.
    pub fn of_state(word: &str) -> Option<Self> {
        match word {
            "starting" | "working" => Some(Self::Working),
            "waiting" => Some(Self::Waiting),
            "limited" => Some(Self::Limited),
            "idle" => Some(Self::Idle),
            "error" | "stuck" => Some(Self::Trouble),
            "exited" | "stopped" | "crashed" | "lost" => None,
            _ => Some(Self::NotObserved),
        }
    }
}

/// A record of what a session was doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point<S> {
    /// Since when, at the earliest.
    pub since: Timestamp,
    /// When it was seen.
    pub seen: Timestamp,
    /// `None`: it had ended.
    pub doing: Option<Doing>,
    pub source: S,
}

/// Something that a session did for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span<S> {
    pub doing: Doing,
    pub from: Timestamp,
    pub to: Timestamp,
    /// The record that begins it; none if it was not observed.
    pub source: Option<S>,
}

/// The spans between two times.
///
/// `points` are in order of `since`. `signs` are the times, in order, at which the agent wrote something or a hook was called;
/// `None` if it leaves no such records.
pub fn spans<S: Clone>(
    points: &[Point<S>],
    signs: Option<&[Timestamp]>,
    from: Timestamp,
    to: Timestamp,
) -> Vec<Span<S>> {
    let mut line = Line { spans: Vec::new(), from, to };
    let first = points.first().map_or(to, |point| point.since);
    line.add(Doing::NotObserved, from, first, None);
    for (index, point) in points.iter().enumerate() {
        let next = points.get(index + 1).map_or(to, |next| next.since).max(point.since);
        let Some(doing) = point.doing else {
            // It has ended; another point follows only if it was resumed.
            continue;
        };
        let seen = point.seen.clamp(point.since, next);
        let known = known_until(doing, seen, next, signs);
        line.add(doing, point.since, known, Some(&point.source));
        line.add(Doing::NotObserved, known, next, None);
    }
    line.spans
}

/// How long a state is known to have lasted that was seen at one time, before another one began.
fn known_until(
    doing: Doing,
    seen: Timestamp,
    next: Timestamp,
    signs: Option<&[Timestamp]>,
) -> Timestamp {
    if next.duration_since(seen) <= CLOSE {
        return next;
    }
    let Some(signs) = signs else { return seen };
    let after = &signs[signs.partition_point(|sign| *sign <= seen)..];
    let mut inside = after.iter().copied().take_while(|sign| *sign < next);
    match doing {
        Doing::NotObserved => seen,
        Doing::Working => {
            let mut last = seen;
            for sign in inside {
                if sign.duration_since(last) > SILENCE {
                    return last;
                }
                last = sign;
            }
            if next.duration_since(last) > SILENCE { last } else { next }
        }
        // An agent that rests writes nothing.
        Doing::Waiting | Doing::Limited | Doing::Idle | Doing::Trouble => inside
            .find(|sign| sign.duration_since(seen) > AROUND && next.duration_since(*sign) > AROUND)
            .unwrap_or(next),
    }
}

struct Line<S> {
    spans: Vec<Span<S>>,
    from: Timestamp,
    to: Timestamp,
}

impl<S: Clone> Line<S> {
    fn add(&mut self, doing: Doing, from: Timestamp, to: Timestamp, source: Option<&S>) {
        let begun = self.spans.last().map_or(self.from, |last| last.to);
        let (from, to) = (from.max(begun), to.min(self.to));
        if from >= to {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.doing == doing && last.to == from => last.to = to,
            _ => self.spans.push(Span { doing, from, to, source: source.cloned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Doing::{Idle, NotObserved, Waiting, Working};

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_794_700_000 + minute * 60).unwrap()
    }

    fn point(since: i64, seen: i64, doing: Doing) -> Point<i64> {
        Point { since: at(since), seen: at(seen), doing: Some(doing), source: since }
    }

    fn shown(points: &[Point<i64>], signs: Option<&[i64]>, to: i64) -> Vec<(Doing, i64, i64)> {
        let signs: Option<Vec<_>> = signs.map(|s| s.iter().map(|minute| at(*minute)).collect());
        let minute = |t: Timestamp| (t.as_second() - 1_794_700_000) / 60;
        spans(points, signs.as_deref(), at(0), at(to))
            .iter()
            .map(|span| (span.doing, minute(span.from), minute(span.to)))
            .collect()
    }

    #[test]
    fn a_session_that_was_watched() {
        let points = [point(0, 0, Working), point(4, 4, Waiting), point(20, 20, Working)];
        let signs = [1, 2, 3, 4, 20, 22];
        assert_eq!(
            shown(&points, Some(&signs), 25),
            [(Working, 0, 4), (Waiting, 4, 20), (Working, 20, 25)]
        );
    }

    #[test]
    fn nothing_is_invented() {
        // Seen once, and once again much later, by a person who looked: no records between.
        let points = [point(0, 0, Working), point(60, 60, Idle)];
        assert_eq!(
            shown(&points, None, 90),
            [(NotObserved, 0, 60), (NotObserved, 60, 90)].map(|_| (NotObserved, 0, 90))[..1]
        );
        assert_eq!(
            shown(&points, Some(&[1, 2, 3, 4]), 90),
            [(Working, 0, 4), (NotObserved, 4, 60), (Idle, 60, 90)]
        );
        let points = [point(0, 0, Idle), point(60, 60, Idle)];
        assert_eq!(
            shown(&points, Some(&[30, 31]), 61),
            [(Idle, 0, 30), (NotObserved, 30, 60), (Idle, 60, 61)]
        );
        assert_eq!(shown(&[], Some(&[]), 10), [(NotObserved, 0, 10)]);
    }

    #[test]
    fn a_state_that_began_before_it_was_seen() {
        let points = [point(3, 10, Idle), point(11, 11, Working)];
        assert_eq!(
            shown(&points, None, 12),
            [(NotObserved, 0, 3), (Idle, 3, 11), (Working, 11, 12)]
        );
    }

    #[test]
    fn the_end() {
        let over = Point { since: at(5), seen: at(5), doing: None, source: 5 };
        let points = [point(0, 0, Idle), over];
        assert_eq!(shown(&points, Some(&[]), 30), [(Idle, 0, 5)]);
    }

    proptest::proptest! {
        #[test]
        fn spans_are_in_order(times in proptest::collection::vec((0_i64..100, 0_i64..10, 0_u8..4), 0..12),
            signs in proptest::collection::vec(0_i64..100, 0..20)) {
            let mut points: Vec<_> = times.iter().map(|(since, later, doing)| {
                let doing = [Working, Waiting, Idle, NotObserved][usize::from(*doing)];
                point(*since, since + later, doing)
            }).collect();
            points.sort_by_key(|point| point.since);
            let mut signs: Vec<_> = signs.into_iter().map(at).collect();
            signs.sort();
            let found = spans(&points, Some(&signs), at(0), at(80));
            proptest::prop_assert!(found.windows(2).all(|pair| pair[0].to <= pair[1].from));
            proptest::prop_assert!(found.iter().all(|span| span.from < span.to));
            proptest::prop_assert!(found.iter().all(|s| s.source.is_some() || s.doing == NotObserved));
        }
    }
}
