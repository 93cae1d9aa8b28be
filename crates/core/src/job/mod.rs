//! A job: a prompt that was given to a session, and what became of it.
//!
//! | state | seen | next |
//! | --- | --- | --- |
//! | queued | the message arrived, or its turn is in the transcript | delivered |
//! | | the message was taken back | cancelled if somebody wanted that, else failed |
//! | | the message was refused or failed, or the session is over | failed |
//! | delivered | its turn began, or the agent works, asks, or has finished since | running |
//! | | the session is over | failed |
//! | running | the turn of this very message is done | done, with the agent's last words |
//! | | that turn ended without a sign of the agent after this message | running while another turn may follow, then failed |
//! | | the model was asked once for this message and another one | failed, with the answer to both |
//! | | that turn was interrupted, or stopped because a permission denied | cancelled if a person cancelled it, else failed |
//! | | that turn failed or ended without an answer, or the session is over before it was done | failed |
//! | | a dialog is open | running, and what it waits for is said |
//!
//! Where an agent keeps no transcript, its state since the delivery is all there is to go by, and there is no result.

mod calls;
mod turn;

pub use turn::{Turn, TurnEnd, turn_of};

use jiff::{SignedDuration, Timestamp};

pub use dogwatch_protocol::job::JobState;

use crate::status::{Basis, Status, Verdict};

/// How long an agent must be at its prompt before that alone ends a turn: one with a transcript calls its hooks first and
/// writes afterwards, and a screen may show a frame between two states.
const WRITING: SignedDuration = SignedDuration::from_secs(3);

const UNHEARD: &str = "the agent took the prompt at the end of a turn and did nothing about it; \
    it is in the conversation, and the next message will bring it up";
const MIXED: &str =
    "the agent took another message with the prompt; what it said is an answer to both";

/// What is to be seen of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    pub now: Timestamp,
    pub message: Sent,
    /// The turn of this very message, where the agent keeps a transcript.
    pub turn: Option<Turn>,
    pub has_transcript: bool,
    pub agent: Agent,
    /// The status was asserted, not inferred.
    pub is_asserted: bool,
    /// Who wants it cancelled.
    pub cancelled_by: Option<String>,
}

/// What became of the message that carries the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// It is still to be delivered.
    Pending,
    Delivered(Timestamp),
    Failed(String),
}

/// What the agent is doing, as far as it matters to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agent {
    Over(String),
    Working,
    /// A dialog is open.
    Asks(String),
    /// At its prompt since then, after a turn.
    Idle {
        since: Timestamp,
        interrupted: bool,
    },
    /// Its last turn failed then.
    Failed {
        since: Timestamp,
        because: String,
    },
    Unclear,
}

impl Agent {
    /// What a verdict means to a job. `life` is the reason why the session lives or has ended.
    pub fn of(verdict: &Verdict, life: &str) -> Self {
        if verdict.basis == Basis::Stale {
            return Self::Unclear;
        }
        let since = verdict.since.unwrap_or_default();
        match &verdict.status {
            Status::Exited
            | Status::Stopped { .. }
            | Status::Crashed { .. }
            | Status::Lost { .. } => Self::Over(life.to_owned()),
            Status::Working { .. } => Self::Working,
            Status::Waiting { r#for, question: Some(question), .. } => {
                Self::Asks(format!("{}: {question}", r#for.as_str()))
            }
            Status::Waiting { r#for, .. } => Self::Asks(r#for.as_str().to_owned()),
            Status::Idle { after_turn, interrupted, .. } if *after_turn || *interrupted => {
                Self::Idle { since, interrupted: *interrupted }
            }
            Status::Error { kind, text } => {
                Self::Failed { since, because: format!("{kind}: {text}") }
            }
            Status::Limited { text, .. } => {
                Self::Failed { since, because: format!("limited: {text}") }
            }
            Status::Idle { .. }
            | Status::Starting
            | Status::Stuck { .. }
            | Status::Unknown { .. } => Self::Unclear,
        }
    }
}

/// One change of state, and when it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub at: Timestamp,
    pub state: JobState,
}

/// All changes that the evidence shows, in order: whoever looks late still tells of each.
pub fn steps(state: &JobState, sight: &Sight) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    while let Some(step) = next(steps.last().map_or(state, |step| &step.state), sight) {
        steps.push(step);
    }
    steps
}

/// What a running job waits for, if it waits for a person.
pub fn waiting<'s>(state: &JobState, sight: &'s Sight) -> Option<&'s str> {
    match (&sight.agent, state) {
        (Agent::Asks(question), JobState::Queued | JobState::Delivered | JobState::Running) => {
            Some(question)
        }
        _ => None,
    }
}

fn next(state: &JobState, sight: &Sight) -> Option<Step> {
    let step = |at: Timestamp, state: JobState| Some(Step { at, state });
    let fail = |at: Timestamp, because: String| {
        let result = sight.turn.as_ref().and_then(|turn| turn.answer.clone());
        step(at, JobState::Failed { because, result })
    };
    match state {
        JobState::Queued => match (&sight.message, &sight.turn, &sight.agent) {
            (_, Some(turn), _) => step(turn.began, JobState::Delivered),
            (Sent::Delivered(at), None, _) => step(*at, JobState::Delivered),
            (Sent::Failed(because), None, _) => match &sight.cancelled_by {
                Some(by) => step(sight.now, JobState::Cancelled { by: by.clone() }),
                None => fail(sight.now, because.clone()),
            },
            (Sent::Pending, None, Agent::Over(reason)) => fail(sight.now, ended(reason)),
            (Sent::Pending, None, _) => None,
        },
        JobState::Delivered => match (&sight.turn, &sight.agent) {
            (Some(turn), _) => step(turn.began, JobState::Running),
            (None, Agent::Over(reason)) => fail(sight.now, ended(reason)),
            (None, Agent::Working | Agent::Asks(_)) => step(sight.now, JobState::Running),
            (None, Agent::Idle { since, .. } | Agent::Failed { since, .. })
                if *since >= delivered(sight) =>
            {
                step(*since, JobState::Running)
            }
            _ => None,
        },
        JobState::Running => {
            let stopped = |at: Timestamp, because: &str, what: &Option<String>| {
                let because = match what {
                    Some(what) => format!("{because}: {what}"),
                    None => because.to_owned(),
                };
                match &sight.cancelled_by {
                    Some(by) => step(at, JobState::Cancelled { by: by.clone() }),
                    None => fail(at, because),
                }
            };
            let interrupted = |at, what| stopped(at, "the turn was interrupted", what);
            let answer = || sight.turn.as_ref().and_then(|turn| turn.answer.clone());
            let has_acted = sight.turn.as_ref().is_none_or(|turn| turn.has_acted);
            match sight.turn.as_ref().and_then(|turn| turn.end.as_ref()) {
                Some((at, TurnEnd::Done)) => return step(*at, JobState::Done { result: answer() }),
                Some((at, TurnEnd::Interrupted(what))) => return interrupted(*at, what),
                Some((at, TurnEnd::Refused(what))) => {
                    return stopped(*at, "permission denied", what);
                }
                Some((at, TurnEnd::Failed(because))) => return fail(*at, because.clone()),
                Some((at, TurnEnd::Unanswered)) => {
                    return match &sight.agent {
                        // Its hook says that all went well.
                        Agent::Idle { since, interrupted: false } if since >= at && has_acted => {
                            step(*at, JobState::Done { result: answer() })
                        }
                        // The screen knows more.
                        Agent::Failed { since, because } if since >= at => {
                            fail(*at, because.clone())
                        }
                        _ => fail(*at, "the turn ended without an answer".to_owned()),
                    };
                }
                // A turn about it may begin at once.
                Some((at, TurnEnd::Silent)) if sight.now.duration_since(*at) < WRITING => {
                    return None;
                }
                Some((at, TurnEnd::Silent)) => return fail(*at, UNHEARD.to_owned()),
                Some((at, TurnEnd::Mixed)) => return fail(*at, MIXED.to_owned()),
                None => {}
            }
            let began = sight.turn.as_ref().map_or_else(|| delivered(sight), |turn| turn.began);
            let is_certain = sight.is_asserted && !sight.has_transcript;
            let patience = if is_certain { SignedDuration::ZERO } else { WRITING };
            let has_settled =
                |since: Timestamp| since >= began && sight.now.duration_since(since) >= patience;
            match &sight.agent {
                Agent::Over(reason) => fail(sight.now, ended(reason)),
                Agent::Idle { since, interrupted: true } if has_settled(*since) => {
                    interrupted(*since, &None)
                }
                Agent::Idle { since, .. } if has_settled(*since) && !has_acted => {
                    fail(*since, UNHEARD.to_owned())
                }
                Agent::Idle { since, .. } if has_settled(*since) => {
                    step(*since, JobState::Done { result: answer() })
                }
                Agent::Failed { since, because } if has_settled(*since) => {
                    fail(*since, because.clone())
                }
                _ => None,
            }
        }
        JobState::Done { .. } | JobState::Failed { .. } | JobState::Cancelled { .. } => None,
    }
}

/// When the message arrived; without that, what is seen now cannot be of this job.
fn delivered(sight: &Sight) -> Timestamp {
    match sight.message {
        Sent::Delivered(at) => at,
        Sent::Pending | Sent::Failed(_) => sight.now,
    }
}

fn ended(reason: &str) -> String {
    format!("the session ended: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_794_700_000 + second).unwrap()
    }

    fn sight() -> Sight {
        Sight {
            now: at(100),
            message: Sent::Pending,
            turn: None,
            has_transcript: true,
            agent: Agent::Unclear,
            is_asserted: true,
            cancelled_by: None,
        }
    }

    fn sent() -> Sight {
        Sight { message: Sent::Delivered(at(10)), ..sight() }
    }

    fn turn(end: Option<TurnEnd>) -> Sight {
        let end = end.map(|end| (at(20), end));
        let answer = Some("A.".into());
        let turn = Turn { began: at(11), end, answer, has_acted: true, is_shared: false };
        Sight { turn: Some(turn), ..sent() }
    }

    fn words(state: &JobState, sight: &Sight) -> String {
        let steps = steps(state, sight);
        let word = |step: &Step| match &step.state {
            JobState::Failed { because, .. } => format!("failed ({because})"),
            JobState::Done { result } => format!("done ({})", result.clone().unwrap_or_default()),
            state => state.as_str().to_owned(),
        };
        steps.iter().map(word).collect::<Vec<_>>().join(" → ")
    }

    #[test]
    fn the_table() {
        use JobState::{Delivered, Queued, Running};
        let over = || Agent::Over("signal 9".into());
        let idle = |since, interrupted| Agent::Idle { since: at(since), interrupted };
        let failed = || Agent::Failed { since: at(15), because: "rate_limit: x".into() };
        let dialog = || Agent::Asks("permission: make".into());
        let ann = || Some("ann".to_owned());
        let refused = || Sight { message: Sent::Failed("a draft".into()), ..sight() };
        let table: Vec<(JobState, Sight, &str)> = vec![
            (Queued, sight(), ""),
            (Queued, Sight { agent: dialog(), ..sight() }, ""),
            (Queued, Sight { agent: over(), ..sight() }, "failed (the session ended: signal 9)"),
            (Queued, refused(), "failed (a draft)"),
            (Queued, Sight { cancelled_by: ann(), ..refused() }, "cancelled"),
            (Queued, sent(), "delivered"),
            (Queued, turn(Some(TurnEnd::Done)), "delivered → running → done (A.)"),
            (Delivered, sent(), ""),
            (Delivered, Sight { agent: idle(9, false), ..sent() }, ""),
            (Delivered, Sight { agent: Agent::Working, ..sent() }, "running"),
            (Delivered, Sight { agent: dialog(), ..sent() }, "running"),
            (Delivered, Sight { agent: over(), ..sent() }, "failed (the session ended: signal 9)"),
            (Delivered, turn(None), "running"),
            (Running, turn(None), ""),
            (Running, Sight { agent: dialog(), ..turn(None) }, ""),
            (Running, Sight { agent: idle(9, false), ..turn(None) }, ""),
            (Running, Sight { agent: idle(99, false), ..turn(None) }, ""),
            (Running, Sight { agent: idle(15, false), ..turn(None) }, "done (A.)"),
            (
                Running,
                Sight { agent: idle(15, true), ..turn(None) },
                "failed (the turn was interrupted)",
            ),
            (Running, Sight { agent: failed(), ..turn(None) }, "failed (rate_limit: x)"),
            (
                Running,
                Sight { agent: over(), ..turn(None) },
                "failed (the session ended: signal 9)",
            ),
            (Running, Sight { agent: over(), ..turn(Some(TurnEnd::Done)) }, "done (A.)"),
            (Running, turn(Some(TurnEnd::Interrupted(None))), "failed (the turn was interrupted)"),
            (
                Running,
                Sight { cancelled_by: ann(), ..turn(Some(TurnEnd::Interrupted(None))) },
                "cancelled",
            ),
            (Running, Sight { cancelled_by: ann(), ..turn(Some(TurnEnd::Done)) }, "done (A.)"),
            (
                Running,
                turn(Some(TurnEnd::Interrupted(Some("Bash make".into())))),
                "failed (the turn was interrupted: Bash make)",
            ),
            (
                Running,
                turn(Some(TurnEnd::Refused(Some("Bash make".into())))),
                "failed (permission denied: Bash make)",
            ),
            (Running, turn(Some(TurnEnd::Refused(None))), "failed (permission denied)"),
            (
                Running,
                Sight { cancelled_by: ann(), ..turn(Some(TurnEnd::Refused(None))) },
                "cancelled",
            ),
            (Running, turn(Some(TurnEnd::Failed("x".into()))), "failed (x)"),
            (JobState::Done { result: None }, Sight { agent: over(), ..sent() }, ""),
        ];
        for (state, sight, expected) in table {
            assert_eq!(words(&state, &sight), expected, "{state:?} {sight:?}");
        }
    }

    /// A job is not done without a sign of the agent after its prompt.
    #[test]
    fn a_turn_without_a_word_after_the_prompt() {
        let turn = |end: Option<TurnEnd>, answer: Option<&str>| {
            let end = end.map(|end| (at(20), end));
            let answer = answer.map(ToOwned::to_owned);
            let has_acted = answer.is_some();
            let turn = Turn { began: at(11), end, answer, has_acted, is_shared: true };
            Sight { turn: Some(turn), ..sent() }
        };
        let idle = Agent::Idle { since: at(20), interrupted: false };
        let running = JobState::Running;
        let silent = || turn(Some(TurnEnd::Silent), None);
        let unheard = format!("failed ({UNHEARD})");
        assert_eq!(words(&running, &Sight { now: at(21), ..silent() }), "", "one may follow");
        assert_eq!(words(&running, &silent()), unheard);
        assert_eq!(words(&running, &Sight { agent: Agent::Working, ..silent() }), unheard);
        assert_eq!(words(&running, &Sight { agent: idle.clone(), ..turn(None, None) }), unheard);
        let unanswered = || turn(Some(TurnEnd::Unanswered), None);
        let of_hook = words(&running, &Sight { agent: idle.clone(), ..unanswered() });
        assert_eq!(of_hook, "failed (the turn ended without an answer)");
        let mixed = turn(Some(TurnEnd::Mixed), Some("Both."));
        let steps = steps(&running, &mixed);
        let [Step { state: JobState::Failed { because, result }, .. }] = &steps[..] else {
            panic!("{steps:?}")
        };
        assert_eq!((because.as_str(), result.as_deref()), (MIXED, Some("Both.")));
    }

    #[test]
    fn without_a_transcript_the_state_since_the_delivery_counts() {
        let mute = |agent| Sight { agent, has_transcript: false, ..sent() };
        let idle = |since| Agent::Idle { since: at(since), interrupted: false };
        assert_eq!(words(&JobState::Queued, &mute(idle(9))), "delivered");
        assert_eq!(words(&JobState::Queued, &mute(idle(99))), "delivered → running → done ()");
        assert_eq!(words(&JobState::Running, &mute(Agent::Working)), "");
        // What the screen shows for a moment between two states ends nothing.
        let guessed = |agent| Sight { is_asserted: false, ..mute(agent) };
        let failed = |since| Agent::Failed { since: at(since), because: "other: x".into() };
        for (agent, ends) in
            [(idle(99), false), (idle(97), true), (failed(99), false), (failed(97), true)]
        {
            let is_over = !words(&JobState::Running, &guessed(agent.clone())).is_empty();
            assert_eq!(is_over, ends, "{agent:?}");
        }
    }

    #[test]
    fn what_it_waits_for() {
        let asked = Sight { agent: Agent::Asks("permission: make".into()), ..turn(None) };
        assert_eq!(waiting(&JobState::Running, &asked), Some("permission: make"));
        assert_eq!(waiting(&JobState::Done { result: None }, &asked), None);
        assert_eq!(waiting(&JobState::Running, &turn(None)), None);
    }

    #[test]
    fn words_are_those_that_are_written() {
        for (word, state) in JobState::WORDS.into_iter().zip([
            JobState::Queued,
            JobState::Delivered,
            JobState::Running,
            JobState::Done { result: None },
            JobState::Failed { because: "b".into(), result: None },
            JobState::Cancelled { by: "a".into() },
        ]) {
            assert_eq!(
                (word, word),
                (state.as_str(), serde_json::to_value(&state).unwrap()["state"].as_str().unwrap())
            );
        }
    }
}
