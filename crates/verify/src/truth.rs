//! What is true in a situation, and how good a verdict on it is.

use std::fmt;

use dogwatch_core::status::{Basis, Status, Verdict, WaitFor};
use dogwatch_protocol::verification::Grade;

/// What is true. Details that are not given may be anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Truth {
    Working,
    Waiting(WaitFor),
    Limited,
    Error,
    Idle(Rest),
    Exited,
    /// Killed by this signal.
    Crashed(i32),
}

/// What is true of an agent at its prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rest {
    pub after_turn: Option<bool>,
    pub interrupted: Option<bool>,
    pub has_background: Option<bool>,
    pub draft: Option<&'static str>,
}

impl Truth {
    /// Nothing was asked of it yet.
    pub const FRESH: Self = Self::Idle(Rest {
        after_turn: Some(false),
        interrupted: Some(false),
        has_background: Some(false),
        draft: None,
    });
    /// Its turn has ended as it should.
    pub const FINISHED: Self = Self::Idle(Rest {
        after_turn: Some(true),
        interrupted: Some(false),
        has_background: Some(false),
        draft: None,
    });
    /// Its turn is over, however it ended.
    pub const AFTER_TURN: Self = Self::Idle(Rest {
        after_turn: Some(true),
        interrupted: None,
        has_background: None,
        draft: None,
    });
    pub const INTERRUPTED: Self = Self::Idle(Rest {
        after_turn: Some(true),
        interrupted: Some(true),
        has_background: None,
        draft: None,
    });
    pub const BACKGROUND: Self = Self::Idle(Rest {
        after_turn: Some(true),
        interrupted: Some(false),
        has_background: Some(true),
        draft: None,
    });
    /// At its prompt, with whatever history.
    pub const AT_PROMPT: Self =
        Self::Idle(Rest { after_turn: None, interrupted: None, has_background: None, draft: None });

    pub const fn with_draft(draft: &'static str) -> Self {
        Self::Idle(Rest {
            after_turn: Some(false),
            interrupted: Some(false),
            has_background: Some(false),
            draft: Some(draft),
        })
    }

    /// The state is this one.
    fn is_state(&self, status: &Status) -> bool {
        match self {
            Self::Working => matches!(status, Status::Working { .. }),
            Self::Waiting(_) => matches!(status, Status::Waiting { .. }),
            Self::Limited => matches!(status, Status::Limited { .. }),
            Self::Error => matches!(status, Status::Error { .. }),
            Self::Idle(_) => matches!(status, Status::Idle { .. }),
            Self::Exited => matches!(status, Status::Exited),
            Self::Crashed(_) => matches!(status, Status::Crashed { .. }),
        }
    }

    /// So is all that belongs to it.
    fn is_detail(&self, status: &Status) -> bool {
        match (self, status) {
            (Self::Waiting(need), Status::Waiting { r#for, .. }) => need == r#for,
            (Self::Idle(rest), Status::Idle { after_turn, interrupted, background, draft }) => {
                let is = |wanted: Option<bool>, found: bool| wanted.is_none_or(|w| w == found);
                is(rest.after_turn, *after_turn)
                    && is(rest.interrupted, *interrupted)
                    && is(rest.has_background, *background > 0)
                    && rest.draft.is_none_or(|wanted| draft.as_deref() == Some(wanted))
            }
            (Self::Crashed(signal), Status::Crashed { exit }) => {
                *exit == Some(dogwatch_protocol::record::Exit::Signal(*signal))
            }
            _ => true,
        }
    }

    /// The grade of one verdict.
    pub fn grade(&self, verdict: &Verdict) -> Grade {
        match (&verdict.status, verdict.basis) {
            (status, _) if self.is_state(status) && self.is_detail(status) => Grade::Right,
            (status, _) if self.is_state(status) => Grade::Detail,
            (Status::Unknown { .. }, _) => Grade::NotKnown,
            (_, Basis::Asserted) => Grade::Lie,
            (_, Basis::Inferred | Basis::Stale) => Grade::Wrong,
        }
    }

    /// The worst of several verdicts and its grade: an answer that changes while nothing happens is as wrong as its worst moment.
    pub fn worst<'v>(&self, verdicts: &'v [Verdict]) -> Option<(Grade, &'v Verdict)> {
        verdicts
            .iter()
            .map(|verdict| (self.grade(verdict), verdict))
            .max_by_key(|(grade, _)| *grade)
    }
}

impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Working => f.write_str("working"),
            Self::Waiting(need) => write!(f, "waiting: {}", need.as_str()),
            Self::Limited => f.write_str("limited"),
            Self::Error => f.write_str("error"),
            Self::Exited => f.write_str("exited"),
            Self::Crashed(signal) => write!(f, "crashed: signal {signal}"),
            Self::Idle(rest) => {
                f.write_str("idle")?;
                let words = [
                    (rest.after_turn == Some(false), "fresh"),
                    (rest.after_turn == Some(true), "after a turn"),
                    (rest.interrupted == Some(true), "interrupted"),
                    (rest.has_background == Some(true), "background"),
                    (rest.draft.is_some(), "draft"),
                ];
                let words: Vec<&str> =
                    words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
                if words.is_empty() { Ok(()) } else { write!(f, ": {}", words.join(", ")) }
            }
        }
    }
}

/// A status in the words of a truth.
pub fn told(status: &Status) -> String {
    match status {
        Status::Waiting { r#for, .. } => format!("waiting: {}", r#for.as_str()),
        Status::Error { kind, .. } => format!("error: {kind}"),
        Status::Idle { after_turn, interrupted, background, draft } => {
            let mut words = vec![if *after_turn { "after a turn" } else { "fresh" }];
            words.extend(interrupted.then_some("interrupted"));
            words.extend((*background > 0).then_some("background"));
            words.extend(draft.as_ref().map(|_| "draft"));
            format!("idle: {}", words.join(", "))
        }
        other => other.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(status: Status, basis: Basis) -> Verdict {
        Verdict { status, basis, since: None, reasons: Vec::new() }
    }

    fn idle(after_turn: bool, interrupted: bool, background: u32, draft: Option<&str>) -> Status {
        Status::Idle { after_turn, interrupted, background, draft: draft.map(ToOwned::to_owned) }
    }

    fn waiting(need: WaitFor) -> Status {
        Status::Waiting { r#for: need, question: None, options: Vec::new(), dialog: None }
    }

    #[test]
    fn verdicts_are_graded() {
        use Basis::{Asserted, Inferred, Stale};
        use dogwatch_protocol::record::Exit;
        let working = || Status::working(None);
        let unknown = || Status::Unknown { missing: "all".to_owned() };
        let crashed = |exit| Status::Crashed { exit };
        let table = [
            (Truth::Working, working(), Asserted, Grade::Right),
            (Truth::Working, working(), Inferred, Grade::Right),
            (Truth::Working, idle(true, false, 0, None), Asserted, Grade::Lie),
            (Truth::Working, idle(true, false, 0, None), Inferred, Grade::Wrong),
            (Truth::Working, idle(true, false, 0, None), Stale, Grade::Wrong),
            (Truth::Working, unknown(), Asserted, Grade::NotKnown),
            (Truth::Working, Status::Starting, Inferred, Grade::Wrong),
            (Truth::FRESH, idle(false, false, 0, None), Asserted, Grade::Right),
            (Truth::FRESH, idle(true, false, 0, None), Asserted, Grade::Detail),
            (Truth::FINISHED, idle(true, false, 0, None), Inferred, Grade::Right),
            (Truth::FINISHED, idle(false, false, 0, None), Asserted, Grade::Detail),
            (Truth::FINISHED, idle(true, true, 0, None), Asserted, Grade::Detail),
            (Truth::FINISHED, idle(true, false, 1, None), Asserted, Grade::Detail),
            (Truth::FINISHED, idle(true, false, 0, Some("x")), Asserted, Grade::Right),
            (Truth::AFTER_TURN, idle(true, true, 2, None), Asserted, Grade::Right),
            (Truth::BACKGROUND, idle(true, false, 2, None), Asserted, Grade::Right),
            (Truth::BACKGROUND, working(), Asserted, Grade::Lie),
            (Truth::AT_PROMPT, idle(false, false, 0, None), Asserted, Grade::Right),
            (Truth::with_draft("a b"), idle(false, false, 0, Some("a b")), Inferred, Grade::Right),
            (Truth::with_draft("a b"), idle(false, false, 0, Some("a")), Inferred, Grade::Detail),
            (Truth::with_draft("a b"), idle(false, false, 0, None), Inferred, Grade::Detail),
            (Truth::Waiting(WaitFor::Trust), waiting(WaitFor::Trust), Inferred, Grade::Right),
            (Truth::Waiting(WaitFor::Trust), waiting(WaitFor::Other), Inferred, Grade::Detail),
            (Truth::Crashed(9), crashed(Some(Exit::Signal(9))), Asserted, Grade::Right),
            (Truth::Crashed(9), crashed(None), Asserted, Grade::Detail),
            (Truth::Exited, crashed(None), Asserted, Grade::Lie),
        ];
        for (truth, status, basis, grade) in table {
            let verdict = verdict(status, basis);
            assert_eq!(truth.grade(&verdict), grade, "{truth}: {verdict:?}");
        }
    }

    #[test]
    fn the_worst_moment_counts() {
        let at_work = verdict(Status::working(None), Basis::Asserted);
        let lie = verdict(Status::Exited, Basis::Asserted);
        let guess = verdict(Status::Starting, Basis::Inferred);
        let seen = [at_work.clone(), guess, lie, at_work.clone()];
        assert_eq!(Truth::Working.worst(&seen).map(|(grade, _)| grade), Some(Grade::Lie));
        assert_eq!(Truth::Working.worst(&seen[..2]).map(|(grade, _)| grade), Some(Grade::Wrong));
        assert_eq!(Truth::Working.worst(&[at_work]).map(|(grade, _)| grade), Some(Grade::Right));
        assert_eq!(Truth::Working.worst(&[]), None);
    }

    #[test]
    fn truths_have_words() {
        let table = [
            (Truth::FRESH, "idle: fresh"),
            (Truth::FINISHED, "idle: after a turn"),
            (Truth::INTERRUPTED, "idle: after a turn, interrupted"),
            (Truth::AT_PROMPT, "idle"),
            (Truth::with_draft("x"), "idle: fresh, draft"),
            (Truth::Waiting(WaitFor::Plan), "waiting: plan"),
            (Truth::Crashed(9), "crashed: signal 9"),
        ];
        for (truth, words) in table {
            assert_eq!(truth.to_string(), words);
        }
    }
}
