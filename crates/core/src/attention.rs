//! Which session needs a person first, and when a wait for several sessions is over.

use jiff::Timestamp;

use crate::status::Status;

/// What a session needs of a person; the first comes first in lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attention {
    /// It cannot go on without an answer.
    Answer,
    /// It failed, ended badly or shows no sign of life.
    Trouble,
    /// A limit that passes by itself, or not enough evidence.
    Patience,
    /// Its turn is over: it takes the next task.
    Task,
    /// It works.
    Nothing,
    /// It ended as it should.
    Over,
}

impl Attention {
    pub fn of(status: &Status) -> Self {
        match status {
            Status::Waiting { .. } => Self::Answer,
            Status::Error { .. }
            | Status::Crashed { .. }
            | Status::Stuck { .. }
            | Status::Lost { .. } => Self::Trouble,
            Status::Limited { .. } | Status::Unknown { .. } => Self::Patience,
            Status::Idle { .. } => Self::Task,
            Status::Starting | Status::Working { .. } => Self::Nothing,
            Status::Exited | Status::Stopped { .. } => Self::Over,
        }
    }
}

/// The order of lists: by need, and within it who has needed it longest. A status without a time comes after those with
/// one. Sessions that work or are over come with the newest change first: what just happened is of interest there.
pub fn order(status: &Status, since: Option<Timestamp>) -> (Attention, bool, i64) {
    let needed = Attention::of(status);
    let millis = since.map_or(0, Timestamp::as_millisecond);
    let at = match needed {
        Attention::Nothing | Attention::Over => millis.saturating_neg(),
        _ => millis,
    };
    (needed, since.is_none(), at)
}

/// The place of a session in the queue of the dashboard; the first comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// It waits for an answer.
    Answer,
    /// It failed, ended badly or shows no sign of life.
    Trouble,
    /// A limit that passes by itself.
    Limit,
    /// Its turn finished, and no person has looked at it since.
    Unseen,
    Working,
    /// Idle, and a person knows.
    Idle,
    /// Unknown, or ended as it should.
    Rest,
}

impl Place {
    /// `is_seen`: whether a person has looked at the session since its status began.
    pub fn of(status: &Status, is_seen: bool) -> Self {
        match status {
            Status::Waiting { .. } => Self::Answer,
            Status::Error { .. }
            | Status::Crashed { .. }
            | Status::Stuck { .. }
            | Status::Lost { .. } => Self::Trouble,
            Status::Limited { .. } => Self::Limit,
            Status::Idle { after_turn: true, interrupted: false, .. } if !is_seen => Self::Unseen,
            Status::Starting | Status::Working { .. } => Self::Working,
            Status::Idle { .. } => Self::Idle,
            Status::Unknown { .. } | Status::Exited | Status::Stopped { .. } => Self::Rest,
        }
    }

    /// Whether a person has to do something.
    pub fn needs_you(self) -> bool {
        self <= Self::Trouble
    }
}

/// Whether a person has seen a session since its status began: a client shows it, or they looked at it since.
pub fn is_seen(is_shown: bool, looked_at: Option<Timestamp>, since: Option<Timestamp>) -> bool {
    is_shown || looked_at.is_some_and(|at| since.is_none_or(|since| at >= since))
}

/// The order of the queue. What needs a person comes with the longest need first. The others stay in the order in which they
/// were created: a row that moves without a reason is hard to follow.
pub fn queue_order(
    place: Place,
    since: Option<Timestamp>,
    created: Timestamp,
) -> (Place, bool, i64, i64) {
    let created = created.as_millisecond();
    match place {
        Place::Answer | Place::Trouble | Place::Limit | Place::Unseen => {
            let at = since.map_or(0, Timestamp::as_millisecond);
            (place, since.is_none(), at, created)
        }
        Place::Working | Place::Idle | Place::Rest => (place, false, created, created),
    }
}

/// How many sessions there are of each kind, for a status line: `!2 *5 x1`. Kinds without any are left out.
pub fn badge(places: impl Iterator<Item = Place>) -> String {
    let signs = [
        ('!', Place::Answer),
        ('*', Place::Working),
        ('x', Place::Trouble),
        ('%', Place::Limit),
        ('+', Place::Unseen),
    ];
    let mut counts = [0_usize; 5];
    for place in places {
        if let Some(at) = signs.iter().position(|(_, known)| *known == place) {
            counts[at] += 1;
        }
    }
    let parts = signs.iter().zip(counts).filter(|(_, count)| *count > 0);
    parts.map(|((sign, _), count)| format!("{sign}{count}")).collect::<Vec<_>>().join(" ")
}

/// Which session to show next: the one that has needed a person longest. From one that is on display itself it goes on to the
/// next in order, and from the last back to the first. `sessions` are status, time and whether it can be shown, in any order.
pub fn next(
    sessions: &[(&Status, Option<Timestamp>, bool)],
    on_display: Option<usize>,
) -> Option<usize> {
    let mut queue: Vec<usize> = (0..sessions.len())
        .filter(|at| {
            let (status, _, can_be_shown) = sessions[*at];
            can_be_shown && Attention::of(status) <= Attention::Trouble
        })
        .collect();
    queue.sort_by_key(|at| order(sessions[*at].0, sessions[*at].1));
    let place = on_display.and_then(|shown| queue.iter().position(|at| *at == shown));
    let next = place.map_or(0, |place| (place + 1) % queue.len().max(1));
    queue.get(next).copied()
}

/// How many of several sessions must reach a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quorum {
    All,
    /// At least so many; one is "any".
    AtLeast(usize),
}

/// How far one session has come towards the states to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Reached,
    /// Not there, and may still come there.
    OnItsWay,
    /// It ended in another state.
    Impossible,
}

/// How far a wait has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Reached,
    NotYet,
    /// Too many have ended in other states.
    Impossible,
}

impl Quorum {
    /// `more_may_come`: sessions that are not in the list yet count as well.
    pub fn progress(self, standings: &[Standing], more_may_come: bool) -> Progress {
        let count = |wanted| standings.iter().filter(|standing| **standing == wanted).count();
        let needed = match self {
            Self::All => standings.len(),
            Self::AtLeast(needed) => needed,
        };
        let reached = count(Standing::Reached);
        if reached >= needed && !standings.is_empty() {
            Progress::Reached
        } else if more_may_come || reached + count(Standing::OnItsWay) >= needed {
            Progress::NotYet
        } else {
            Progress::Impossible
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_its_quorum() {
        use Standing::{Impossible as I, OnItsWay as O, Reached as R};
        let table: [(Quorum, &[Standing], bool, Progress); 13] = [
            (Quorum::All, &[R, R], false, Progress::Reached),
            (Quorum::All, &[R, O], false, Progress::NotYet),
            (Quorum::All, &[R, I], false, Progress::Impossible),
            (Quorum::AtLeast(1), &[O, R], false, Progress::Reached),
            (Quorum::AtLeast(1), &[O, I], false, Progress::NotYet),
            (Quorum::AtLeast(1), &[I, R], false, Progress::Reached),
            (Quorum::AtLeast(1), &[I, I], false, Progress::Impossible),
            (Quorum::AtLeast(2), &[R, O, I], false, Progress::NotYet),
            (Quorum::AtLeast(2), &[R, R, I], false, Progress::Reached),
            (Quorum::AtLeast(2), &[R, I, I], false, Progress::Impossible),
            (Quorum::AtLeast(3), &[R, R], false, Progress::Impossible),
            (Quorum::AtLeast(1), &[], true, Progress::NotYet),
            (Quorum::AtLeast(1), &[I], true, Progress::NotYet),
        ];
        for (quorum, standings, more, want) in table {
            assert_eq!(quorum.progress(standings, more), want, "{quorum:?} {standings:?} {more}");
        }
    }

    #[test]
    fn next_goes_round_among_those_that_need_a_person() {
        let at = |second| Timestamp::from_second(second).ok();
        let (idle, stuck) = (idle(), Status::Stuck { silent_since: Timestamp::UNIX_EPOCH });
        let lost = Status::Lost { last_seen: None, server_died: None };
        let sessions = [
            (&idle, at(1), true),
            (&stuck, at(9), true),
            (&lost, at(3), false),
            (&stuck, at(5), true),
        ];
        assert_eq!(next(&sessions, None), Some(3));
        assert_eq!(next(&sessions, Some(0)), Some(3), "from one that needs no person");
        assert_eq!(next(&sessions, Some(3)), Some(1));
        assert_eq!(next(&sessions, Some(1)), Some(3));
        assert_eq!(next(&sessions[..1], None), None);
        assert_eq!(next(&[], Some(0)), None);
    }

    fn idle() -> Status {
        Status::Idle { after_turn: true, interrupted: false, background: 0, draft: None }
    }

    #[test]
    fn the_queue_of_the_dashboard() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let waiting = Status::Waiting {
            r#for: crate::status::WaitFor::Permission,
            question: None,
            options: Vec::new(),
            dialog: None,
        };
        let working = Status::Working { task: None, looping: None };
        let interrupted =
            Status::Idle { after_turn: true, interrupted: true, background: 0, draft: None };
        let limited = Status::Limited { until: None, text: String::new() };
        let (stuck, lost) = (
            Status::Stuck { silent_since: at(0) },
            Status::Lost { last_seen: None, server_died: None },
        );
        // Name, status, since, created, seen by a person.
        let mut list = [
            ("exited", Status::Exited, 1, 1, true),
            ("idle, seen", idle(), 2, 2, true),
            ("interrupted", interrupted, 2, 3, false),
            ("older work", working.clone(), 90, 4, false),
            ("newer work", working, 10, 5, false),
            ("idle, not seen", idle(), 80, 6, false),
            ("limited", limited, 70, 7, false),
            ("lost", lost, 9, 8, false),
            ("stuck", stuck, 5, 9, false),
            ("waits", waiting.clone(), 50, 10, false),
            ("waits longer", waiting, 20, 11, false),
            ("unknown", Status::Unknown { missing: String::new() }, 3, 12, false),
        ];
        list.sort_by_key(|(_, status, since, created, is_seen)| {
            queue_order(Place::of(status, *is_seen), Some(at(*since)), at(*created))
        });
        assert_eq!(
            list.map(|(name, ..)| name),
            [
                "waits longer",
                "waits",
                "stuck",
                "lost",
                "limited",
                "idle, not seen",
                "older work",
                "newer work",
                "idle, seen",
                "interrupted",
                "exited",
                "unknown"
            ]
        );
    }

    #[test]
    fn a_look_counts_from_the_beginning_of_the_status() {
        let at = |second| Timestamp::from_second(second).ok();
        for (is_shown, looked_at, since, want) in [
            (true, None, at(5), true),
            (false, None, at(5), false),
            (false, at(4), at(5), false),
            (false, at(5), at(5), true),
            (false, at(1), None, true),
            (false, None, None, false),
        ] {
            assert_eq!(is_seen(is_shown, looked_at, since), want, "{looked_at:?} {since:?}");
        }
    }

    #[test]
    fn a_badge_is_short() {
        use Place::{Answer, Idle, Rest, Trouble, Unseen, Working};
        let of = |places: &[Place]| badge(places.iter().copied());
        assert_eq!(of(&[Working, Answer, Trouble, Answer, Working, Idle, Rest]), "!2 *2 x1");
        assert_eq!(of(&[Unseen]), "+1");
        assert_eq!(of(&[]), "");
    }

    #[test]
    fn who_has_waited_longest_comes_first() {
        let at = |second| Timestamp::from_second(second).ok();
        let waiting = Status::Waiting {
            r#for: crate::status::WaitFor::Permission,
            question: None,
            options: Vec::new(),
            dialog: None,
        };
        let working = Status::Working { task: None, looping: None };
        let error = Status::Error { kind: "x".into(), text: String::new() };
        let mut list = [
            ("new work", &working, at(90)),
            ("old work", &working, at(10)),
            ("error", &error, at(5)),
            ("waits", &waiting, at(50)),
            ("waits, since when is not known", &waiting, None),
            ("waits longer", &waiting, at(20)),
        ];
        list.sort_by_key(|(_, status, since)| order(status, *since));
        assert_eq!(
            list.map(|(name, ..)| name),
            [
                "waits longer",
                "waits",
                "waits, since when is not known",
                "error",
                "new work",
                "old work"
            ]
        );
    }
}
