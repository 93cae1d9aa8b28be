//! What the status of an attempt's session means for the attempt.

use jiff::{SignedDuration, Zoned};

use super::{Failure, How};
use crate::limits::until::moment;
use crate::status::{Basis, Status, Verdict, WaitFor};

/// How long an agent may wait for a person before that is a failure: a person may be at its terminal.
const PERSON: SignedDuration = SignedDuration::from_mins(2);
/// How long a dialog must be open to count.
const SETTLED: SignedDuration = SignedDuration::from_secs(5);
/// How long background work may delay the end of an attempt.
const BACKGROUND: SignedDuration = SignedDuration::from_mins(1);

pub fn failed(failure: Failure, why: &str) -> How {
    How::Failed { failure, why: why.to_owned(), until: None }
}

/// How the session of an attempt ended, if it ended or has nothing more to do. `life` is the reason of its liveness.
pub fn session_end(verdict: &Verdict, life: &str, now: &Zoned) -> Option<How> {
    if verdict.basis == Basis::Stale {
        return None;
    }
    let lasts =
        verdict.since.map_or(SignedDuration::ZERO, |since| now.timestamp().duration_since(since));
    match &verdict.status {
        Status::Exited => Some(How::Finished),
        Status::Idle { after_turn: true, interrupted: false, background, .. } => {
            (*background == 0 || lasts > BACKGROUND).then_some(How::Finished)
        }
        Status::Crashed { exit } => {
            let how = exit.map_or_else(
                || "it died".to_owned(),
                |exit| format!("exit status {}", exit.status()),
            );
            Some(failed(Failure::Crash, &how))
        }
        Status::Stopped { .. } => Some(failed(Failure::Crash, &format!("stopped: {life}"))),
        Status::Lost { .. } => Some(failed(Failure::Lost, life)),
        Status::Limited { until, text } => {
            let until = until.as_deref().and_then(|until| moment(until, now));
            Some(How::Failed { failure: Failure::Limit, why: text.clone(), until })
        }
        Status::Error { kind, text } => Some(failed(Failure::Error, &format!("{kind}: {text}"))),
        Status::Stuck { .. } => Some(failed(Failure::Stuck, "no activity")),
        // The work never began, and the answer affects more than this run.
        Status::Waiting { r#for: WaitFor::Trust, .. } if lasts > SETTLED => Some(failed(
            Failure::Waiting,
            "the agent asks whether you trust the folder; start it there once and confirm",
        )),
        Status::Waiting { question, .. } if lasts > PERSON => {
            let question = question.as_deref().unwrap_or("no question given");
            Some(failed(Failure::Waiting, &format!("waiting for you: {question}")))
        }
        Status::Waiting { .. }
        | Status::Idle { .. }
        | Status::Starting
        | Status::Working { .. }
        | Status::Unknown { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Exit;

    fn idle(after_turn: bool, interrupted: bool, background: u32) -> Status {
        Status::Idle { after_turn, interrupted, background, draft: None }
    }

    fn waiting(what: WaitFor) -> Status {
        let question = Some("make?".to_owned());
        Status::Waiting { r#for: what, question, options: vec![], dialog: None }
    }

    #[test]
    fn each_status_ends_an_attempt_or_not() {
        let now: Zoned = "2026-11-16T10:00:00+00:00[UTC]".parse().unwrap();
        let limited = Status::Limited { until: Some("3pm".into()), text: "until 3pm".into() };
        let error = Status::Error { kind: "api".into(), text: "529".into() };
        let crashed = Status::Crashed { exit: Some(Exit::Code(3)) };
        let table: Vec<(Status, i64, &str)> = vec![
            (Status::Exited, 0, "finished"),
            (idle(true, false, 0), 0, "finished"),
            (idle(true, false, 1), 10, "goes on"),
            (idle(true, false, 1), 90, "finished"),
            (idle(true, true, 0), 90, "goes on"),
            (idle(false, false, 0), 90, "goes on"),
            (crashed, 0, "Crash: exit status 3"),
            (Status::Crashed { exit: None }, 0, "Crash: it died"),
            (limited, 0, "Limit: until 3pm, until 2026-11-16T15:00:00Z"),
            (error, 0, "Error: api: 529"),
            (waiting(WaitFor::Permission), 60, "goes on"),
            (waiting(WaitFor::Permission), 130, "Waiting: waiting for you: make?"),
            (waiting(WaitFor::Trust), 3, "goes on"),
            (Status::Starting, 600, "goes on"),
            (Status::Unknown { missing: "a screen".into() }, 600, "goes on"),
        ];
        for (status, seconds, expected) in table {
            let shown = format!("{status:?} for {seconds} s");
            let since = Some(now.timestamp() - SignedDuration::from_secs(seconds));
            let mut verdict = Verdict { status, basis: Basis::Asserted, since, reasons: vec![] };
            let said = match session_end(&verdict, "signal 9", &now) {
                None => "goes on".to_owned(),
                Some(How::Finished) => "finished".to_owned(),
                Some(How::Failed { failure, why, until: None }) => format!("{failure:?}: {why}"),
                Some(How::Failed { failure, why, until: Some(until) }) => {
                    format!("{failure:?}: {why}, until {until}")
                }
            };
            assert_eq!(said, expected, "{shown}");
            verdict.basis = Basis::Stale;
            assert!(session_end(&verdict, "", &now).is_none(), "what was true once is no end");
        }
    }
}
