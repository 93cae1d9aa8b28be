//! How often rules may answer.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

/// How often rules may answer one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    /// Most answers within a minute.
    pub per_minute: u32,
    /// Most answers to the same request, or refusals in a row, since a person last wrote something or the agent changed a file.
    pub without_progress: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { per_minute: 30, without_progress: 10 }
    }
}

/// An answer that a rule gave before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    pub at: Timestamp,
    pub is_refusal: bool,
    /// The same for the same request.
    pub request: String,
}

/// Why a rule does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Held {
    #[error("{0} answers within a minute")]
    TooMany(u32),
    #[error(
        "the same request was answered {0} times since a person last wrote or a file was changed"
    )]
    Same(u32),
    #[error("{0} refusals in a row")]
    Refused(u32),
}

/// Whether a rule may answer the request. `before` are the last answers, oldest first; `progress` is when the session last got on.
pub fn may_answer(
    pace: Pace,
    before: &[Past],
    progress: Option<Timestamp>,
    request: &str,
    now: Timestamp,
) -> Result<(), Held> {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let minute = SignedDuration::from_mins(1);
    // An answer from the future, by a clock that was set back, counts.
    let recent = count(before.iter().filter(|past| now.duration_since(past.at) < minute).count());
    if recent >= pace.per_minute {
        return Err(Held::TooMany(recent));
    }
    let since = |past: &&Past| progress.is_none_or(|progress| past.at >= progress);
    let before: Vec<&Past> = before.iter().filter(since).collect();
    let same = count(before.iter().filter(|past| past.request == request).count());
    if same >= pace.without_progress {
        return Err(Held::Same(same));
    }
    let refused = count(before.iter().rev().take_while(|past| past.is_refusal).count());
    if refused >= pace.without_progress {
        return Err(Held::Refused(refused));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_end_where_nothing_goes_on() {
        let pace = Pace { per_minute: 4, without_progress: 3 };
        let at = |s: i64| Timestamp::from_second(1_794_700_000 + s).unwrap();
        let past = |s, is_refusal, request: &str| Past {
            at: at(s),
            is_refusal,
            request: request.to_owned(),
        };
        let allowed =
            |all: &[(i64, &str)]| all.iter().map(|(s, r)| past(*s, false, r)).collect::<Vec<_>>();
        let table = [
            (allowed(&[]), Ok(())),
            (allowed(&[(0, "a"), (1, "b"), (2, "c")]), Ok(())),
            (allowed(&[(0, "a"), (1, "b"), (2, "c"), (3, "d")]), Err(Held::TooMany(4))),
            (allowed(&[(-90, "a"), (1, "b"), (2, "c"), (3, "d")]), Ok(())),
            (allowed(&[(900, "a"), (901, "b"), (902, "c"), (903, "d")]), Err(Held::TooMany(4))),
            (allowed(&[(-300, "x"), (-200, "x"), (-100, "x")]), Err(Held::Same(3))),
            (
                vec![past(-300, true, "a"), past(-200, true, "b"), past(-100, true, "c")],
                Err(Held::Refused(3)),
            ),
            (vec![past(-300, true, "a"), past(-200, false, "b"), past(-100, true, "c")], Ok(())),
        ];
        for (before, want) in table {
            assert_eq!(may_answer(pace, &before, None, "x", at(10)), want, "{before:?}");
        }
        let four = allowed(&[(1, "x"), (2, "x"), (3, "x"), (4, "x")]);
        let progress = Some(at(5));
        assert_eq!(may_answer(pace, &four[..3], progress, "x", at(10)), Ok(()));
        assert_eq!(
            may_answer(pace, &four, progress, "x", at(10)),
            Err(Held::TooMany(4)),
            "progress does not make room within a minute"
        );
    }
}
