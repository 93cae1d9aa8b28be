//! What to do about a limit, from facts.
//!
//! | seen | decision |
//! | --- | --- |
//! | limited, and not known yet | arm: with the time at which to look again |
//! | limited, armed, and it is not time yet | wait |
//! | limited, armed, its time has come, no person touched it | act: continue, switch, fall back |
//! | a turn began since, a draft, a queued message, a dialog that was answered | leave: a person has it in hand |
//! | a dialog is open, the status is unknown, automatic continuation is paused | wait |
//! | limited too often in a row, or what was asked for cannot be done with certainty | ask a person |
//!
//! One limit is acted on once. Which one it is follows from when the turn failed; the database decides which process acts.

use jiff::{SignedDuration, Timestamp};

use super::WhenLimited;
use crate::status::Status;

/// Hooks and transcripts date one failure some milliseconds apart, and the screen dates it when it is first read.
const SAME: SignedDuration = SignedDuration::from_secs(10);
/// How long after its end a limit is taken to be over.
const MARGIN: SignedDuration = SignedDuration::from_secs(5);
/// No limit lasts longer; windows are a week at most.
const LONGEST: SignedDuration = SignedDuration::from_hours(8 * 24);
/// The longest wait where the agent gave no time.
const MOST_GUESSED: SignedDuration = SignedDuration::from_hours(1);
/// How often in a row one session is continued without getting anywhere; the same as the retries of a story's step.
pub const MOST_IN_A_ROW: u32 = 12;
/// How soon to look again at what no event announces.
const AGAIN: SignedDuration = SignedDuration::from_secs(60);

/// What is known when the decision is made.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    pub now: Timestamp,
    pub policy: &'a WhenLimited,
    pub seen: Seen,
    /// The newest limit of the session that was recorded.
    pub known: Option<Known>,
    /// Automatic continuation is paused.
    pub paused: bool,
    /// The latest end of a limit of the same account that lies ahead.
    pub account_until: Option<Timestamp>,
    /// How long to wait where the agent gave no time, at first.
    pub retry_after: SignedDuration,
    /// How often it was continued since a turn last went well.
    pub in_a_row: u32,
}

/// What the session shows now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    Limited {
        since: Timestamp,
        /// When it ends, by what the agent said.
        until: Option<Timestamp>,
        /// The agent said so, not only its screen.
        told: bool,
        draft: bool,
        /// Messages of people wait to be delivered.
        queued: bool,
    },
    /// It waits for a person, starts, or cannot be seen.
    Unclear,
    /// It works, or its last turn ended otherwise.
    Other,
    Over,
}

/// A limit that was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub began: Timestamp,
    pub due: Timestamp,
    /// When it was decided: acted on, left alone, or given to a person.
    pub settled: Option<Timestamp>,
    /// When the agent was given the message that continues it.
    pub resumed: Option<Timestamp>,
    /// The agent said so, not only its screen.
    pub told: bool,
    /// The end as it was read.
    pub until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing is to be done until something changes.
    Nothing,
    /// A new limit: look again then. `guessed` if the agent gave no time that makes sense.
    Arm {
        due: Timestamp,
        guessed: bool,
    },
    /// Look again then, or earlier if something changes.
    Wait {
        until: Timestamp,
    },
    /// Now, and once.
    Continue,
    Switch(String),
    Fallback(String),
    /// A person has it in hand.
    Leave {
        because: &'static str,
    },
    /// A person must decide.
    Ask {
        because: String,
    },
}

/// Whether a limit that is seen is the one that is known.
pub fn is_same(known: &Known, since: Timestamp, until: Option<Timestamp>, told: bool) -> bool {
    let near = since.duration_since(known.began).abs() <= SAME;
    match known.settled {
        // What only a screen shows may stand there long after it was acted on. It is another one if its end is.
        Some(at) if !told => since <= at || until.is_none() || until == known.until,
        Some(_) => known.resumed.map_or(near, |at| since <= at),
        None => near || !told || since <= known.began,
    }
}

/// Whether another status, since then, came after a limit. Around the moment of the limit itself several are seen for a moment.
pub fn is_news(began: Timestamp, since: Timestamp, now: Timestamp) -> bool {
    let later = since.duration_since(began);
    later > SignedDuration::from_secs(2)
        || later.is_positive() && now.duration_since(since) > SignedDuration::from_secs(5)
}

pub fn decide(facts: &Facts<'_>) -> Decision {
    if *facts.policy == WhenLimited::Notify {
        return Decision::Nothing;
    }
    let open = facts.known.as_ref().filter(|known| known.settled.is_none());
    let Seen::Limited { since, until, told, draft, queued } = facts.seen else {
        return match (&facts.seen, open) {
            (Seen::Other, Some(_)) => Decision::Leave { because: "a turn began since" },
            (Seen::Over, Some(_)) => Decision::Leave { because: "the session has ended" },
            (Seen::Unclear, Some(_)) => Decision::Wait { until: later(facts.now, AGAIN) },
            _ => Decision::Nothing,
        };
    };
    let same = facts.known.as_ref().filter(|known| is_same(known, since, until, told));
    match same {
        Some(Known { settled: Some(_), .. }) => Decision::Nothing,
        Some(known) => act(facts, known, draft, queued),
        None if facts.in_a_row >= MOST_IN_A_ROW => Decision::Ask {
            because: format!("limited again after {MOST_IN_A_ROW} continuations in a row"),
        },
        None => arm(facts, since, until),
    }
}

/// When to look again.
fn arm(facts: &Facts<'_>, since: Timestamp, until: Option<Timestamp>) -> Decision {
    let wait = matches!(facts.policy, WhenLimited::Wait);
    if !wait {
        // Another model or agent need not wait.
        return Decision::Arm { due: facts.now, guessed: false };
    }
    let given = until.filter(|until| makes_sense(*until, since));
    let ends = given.max(facts.account_until.filter(|until| makes_sense(*until, since)));
    let due = if let Some(ends) = ends {
        later(ends, MARGIN)
    } else {
        let doubled = 2_i32.saturating_pow(facts.in_a_row.min(10));
        let wait = facts.retry_after.saturating_mul(doubled);
        later(since, wait.min(MOST_GUESSED.max(facts.retry_after)))
    };
    Decision::Arm { due, guessed: ends.is_none() }
}

/// An end before the beginning, or weeks ahead, is wrong.
pub fn makes_sense(until: Timestamp, since: Timestamp) -> bool {
    let length = until.duration_since(since);
    length > -SAME && length <= LONGEST
}

fn act(facts: &Facts<'_>, known: &Known, draft: bool, queued: bool) -> Decision {
    if draft {
        return Decision::Leave { because: "a draft is in the input box" };
    }
    let others = facts.account_until.map(|until| later(until, MARGIN));
    let is_wait = *facts.policy == WhenLimited::Wait;
    let due = if is_wait { others.map_or(known.due, |at| at.max(known.due)) } else { known.due };
    if facts.now < due {
        return Decision::Wait { until: due };
    }
    if facts.paused {
        return Decision::Wait { until: later(facts.now, AGAIN) };
    }
    if queued {
        return Decision::Leave { because: "a message is queued, which continues it" };
    }
    match facts.policy {
        WhenLimited::Notify => Decision::Nothing,
        WhenLimited::Wait => Decision::Continue,
        WhenLimited::Switch(model) => Decision::Switch(model.clone()),
        WhenLimited::Fallback(agent) => Decision::Fallback(agent.clone()),
    }
}

/// Whether messages to a session are held back, and its first prompt: its account is limited, and something is to be done about limits.
/// A pause releases nothing: what is held would only meet the limit.
pub fn held_until(
    policy: &WhenLimited,
    account_until: Option<Timestamp>,
    now: Timestamp,
) -> Option<Timestamp> {
    let until = later(account_until?, MARGIN);
    (*policy != WhenLimited::Notify && now < until).then_some(until)
}

/// Why a message that continues a session must not be delivered any more. `has_switched` is whether the model was, if the message comes
/// after that; the session is limited since `since`, and was to be continued because it was by `limited_by`.
pub fn refusal(
    status: &Status,
    since: Option<Timestamp>,
    limited_by: Timestamp,
    has_switched: Option<bool>,
    paused: bool,
) -> Option<&'static str> {
    if paused {
        return Some("automatic continuation is paused");
    }
    if has_switched == Some(false) {
        return Some("the model was not switched");
    }
    match status {
        Status::Limited { .. } if since.is_none_or(|since| since <= limited_by) => None,
        // A command of the agent's own may end what its status said.
        Status::Idle { .. } if has_switched.is_some() => None,
        Status::Limited { .. }
        | Status::Working { .. }
        | Status::Idle { .. }
        | Status::Error { .. } => Some("a turn began since the limit"),
        _ => None,
    }
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(at)
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
