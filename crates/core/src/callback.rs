//! Messages to an agent that gave work to another one (`--notify-me`): one for each event.

use std::fmt::Write as _;

use crate::delivery::Agent;
use crate::job::JobState;
use crate::mcp::Right;
use crate::status::{Basis, Status, Verdict};

/// Longest part of a result or a question in a message.
const MOST: usize = 600;
/// How long, in seconds, a status that is inferred must hold before the work counts as ended.
const HELD: i64 = 3;

/// As much of a job's id as makes it unique: eight letters are the same for all jobs of a minute.
const SHORT: usize = 13;

/// What is said of a worker whose session was removed.
const REMOVED: &str = "is gone: its session was removed.";

/// How keys of dialogs begin.
const WAITING: &str = "waiting ";

/// The work that an agent waits for.
#[derive(Debug, Clone, Copy)]
pub enum Work<'a> {
    /// A job, in this state.
    Job { id: &'a str, state: &'a JobState },
    /// The first turn of a session.
    Turn,
}

/// What to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Nothing happened.
    Nothing,
    /// It works: the next event is new, even if it is the same as before.
    Forget,
    Tell {
        /// Two with the same key are the same event.
        key: String,
        text: String,
        /// The work is over: no message about it follows.
        is_end: bool,
    },
}

/// The message about a worker whose session was removed before any other message.
pub fn removed(name: &str) -> String {
    format!("{name} {REMOVED}")
}

/// Whether a message can be typed now: at its prompt, also after a turn that failed or at a limit, and nothing in its box that was seen.
/// What is posted then is typed then, and what happens later is another message.
pub fn is_ready(verdict: &Verdict) -> bool {
    let has_draft = matches!(verdict.status, Status::Idle { draft: Some(_), .. });
    !has_draft && Agent::of(verdict, None, "") == Agent::Ready
}

/// Decides what to tell of a worker. `held` is for how many seconds its status has been seen; without a verdict its session was removed.
/// `told` is the key of the last message, `unreported` the task of a team that it has not reported as completed.
pub fn next(
    name: &str,
    work: Work<'_>,
    verdict: Option<&Verdict>,
    held: i64,
    told: Option<&str>,
    unreported: Option<&str>,
) -> Next {
    let end = |key: &str, text: String| {
        let missing = unreported.map(|task| format!(" It has not reported {task}."));
        let text = format!("{name} {text}{}", missing.unwrap_or_default());
        Next::Tell { key: format!("end {key}"), text, is_end: true }
    };
    if let Work::Job { id, state } = work {
        let short = id.get(..SHORT).unwrap_or(id);
        match state {
            JobState::Done { result } => {
                let result = result.as_deref().map(|text| format!(": {}", cut(text)));
                return end("done", format!("finished job {short}{}", result.unwrap_or_default()));
            }
            JobState::Failed { because, .. } => {
                let limit = match verdict.map(|verdict| &verdict.status) {
                    Some(Status::Limited { until: Some(until), .. }) => {
                        format!(" (a limit until {until})")
                    }
                    Some(Status::Limited { until: None, .. }) => " (a limit)".to_owned(),
                    _ => String::new(),
                };
                return end("failed", format!("failed at job {short}{limit}: {}", cut(because)));
            }
            JobState::Cancelled { by } => {
                return end("cancelled", format!("stopped job {short}: cancelled by {by}"));
            }
            JobState::Queued | JobState::Delivered | JobState::Running => {}
        }
    }
    let Some(Verdict { status, basis, .. }) = verdict else {
        return end("removed", REMOVED.to_owned());
    };
    let note = |key: String, text: String| Next::Tell {
        key,
        text: format!("{name} {text}"),
        is_end: false,
    };
    let is_sure = match basis {
        Basis::Asserted => true,
        Basis::Inferred => held >= HELD,
        Basis::Stale => false,
    };
    if !is_sure {
        return Next::Nothing;
    }
    match status {
        // Agents say that they wait before the dialog is drawn, and for a moment after it was answered.
        Status::Waiting { dialog: None, .. }
            if held < HELD || told.is_some_and(|key| key.starts_with(WAITING)) =>
        {
            Next::Nothing
        }
        Status::Waiting { r#for, question, options, dialog } => {
            let need = r#for.as_str();
            let asked = question.as_deref().map(|text| format!(": {}", cut(text)));
            let mut text = format!("waits for an answer ({need}){}", asked.unwrap_or_default());
            for (number, option) in (1..).zip(options) {
                let _ = write!(text, " [{number}] {}", cut(option));
            }
            // What approves something is for a person: the skill says so, and the policy of `dogwatch mcp`.
            match dialog {
                _ if Right::to_answer(*r#for).is_some() => text.push_str(" — a person decides"),
                Some(mark) => {
                    let _ = write!(text, " — dogwatch answer {name} NUMBER --dialog {mark}");
                }
                None => {}
            }
            let key = dialog.as_deref().or(question.as_deref()).unwrap_or(need);
            note(format!("{WAITING}{key}"), text)
        }
        Status::Limited { until, text } => {
            let until = until.as_deref().map(|until| format!(" until {until}"));
            let said = format!("hit a limit{}: {}", until.unwrap_or_default(), cut(text));
            note("limited".to_owned(), said)
        }
        Status::Stuck { .. } => {
            note("stuck".to_owned(), "is stuck: no sign of life for minutes.".to_owned())
        }
        Status::Working { looping: Some(looping), .. } => {
            note("looping".to_owned(), format!("repeats itself ({looping})."))
        }
        Status::Working { looping: None, .. } => Next::Forget,
        Status::Starting | Status::Unknown { .. } => Next::Nothing,
        // The end of a job is decided by its own turn, and recorded with it; that of a session ends both.
        Status::Idle { .. } | Status::Error { .. } if matches!(work, Work::Job { .. }) => {
            Next::Nothing
        }
        Status::Idle { after_turn, interrupted, .. } => match (interrupted, after_turn) {
            (true, _) => end("interrupted", "was interrupted, and is idle.".to_owned()),
            (false, true) => end("idle", "finished its turn.".to_owned()),
            (false, false) => Next::Nothing,
        },
        Status::Error { kind, text } => end("error", format!("failed: {kind}: {}", cut(text))),
        // A job of a session that is over ends a moment later, with its reason.
        _ if matches!(work, Work::Job { .. }) => Next::Nothing,
        over => end(over.as_str(), format!("is over: {}.", over.as_str())),
    }
}

/// The message with all that happened, in one line: that is safe to type for every agent.
pub fn message(news: &[String]) -> String {
    match news {
        [one] => format!("[dogwatch] {one}"),
        several => format!("[dogwatch] {} events: {}", several.len(), several.join(" | ")),
    }
}

/// The beginning of a text, in one line.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dogwatch_protocol::status::Need;

    fn verdict(status: Status, basis: Basis) -> Verdict {
        Verdict { status, basis, since: None, reasons: Vec::new() }
    }

    fn idle(after_turn: bool) -> Status {
        Status::Idle { after_turn, interrupted: false, background: 0, draft: None }
    }

    fn told(next: Next) -> (String, bool) {
        match next {
            Next::Tell { text, is_end, .. } => (text, is_end),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_turn_ends_by_evidence_and_only_once_it_is_sure() {
        let of = |status, basis, held| {
            next("api", Work::Turn, Some(&verdict(status, basis)), held, None, None)
        };
        assert_eq!(
            told(of(idle(true), Basis::Asserted, 0)),
            ("api finished its turn.".into(), true)
        );
        assert_eq!(of(idle(true), Basis::Inferred, 1), Next::Nothing);
        assert!(told(of(idle(true), Basis::Inferred, 3)).1);
        assert_eq!(of(idle(true), Basis::Stale, 99), Next::Nothing);
        assert_eq!(of(idle(false), Basis::Asserted, 99), Next::Nothing, "it has not begun");
        assert_eq!(of(Status::working(None), Basis::Asserted, 0), Next::Forget);
        assert!(told(of(Status::Crashed { exit: None }, Basis::Asserted, 0)).1);
        assert!(told(next("api", Work::Turn, None, 0, None, None)).1, "removed");
        let forgot = next(
            "api",
            Work::Turn,
            Some(&verdict(idle(true), Basis::Asserted)),
            0,
            None,
            Some("TASK-001"),
        );
        assert_eq!(told(forgot).0, "api finished its turn. It has not reported TASK-001.");
    }

    #[test]
    fn a_job_ends_by_its_own_state() {
        let of = |state: &JobState, status| {
            let work = Work::Job { id: "01a1dfb5-0d41-7f02", state };
            next("api", work, Some(&verdict(status, Basis::Asserted)), 0, None, None)
        };
        let done = JobState::Done { result: Some("All\n  well".into()) };
        assert_eq!(
            told(of(&done, idle(true))),
            ("api finished job 01a1dfb5-0d41: All well".into(), true)
        );
        assert_eq!(of(&JobState::Running, idle(true)), Next::Nothing);
        assert_eq!(of(&JobState::Running, Status::Crashed { exit: None }), Next::Nothing);
        let failed = JobState::Failed { because: "429".into(), result: None };
        let limited = Status::Limited { until: Some("15:00".into()), text: String::new() };
        assert_eq!(
            told(of(&failed, limited)).0,
            "api failed at job 01a1dfb5-0d41 (a limit until 15:00): 429"
        );
        assert_eq!(told(of(&failed, idle(true))).0, "api failed at job 01a1dfb5-0d41: 429");
        let waiting = Status::Waiting {
            r#for: Need::Question,
            question: Some("Which port?".into()),
            options: vec!["80".into(), "8080".into()],
            dialog: Some("7f3a90c1".into()),
        };
        let (text, is_end) = told(of(&JobState::Running, waiting));
        assert_eq!(
            text,
            "api waits for an answer (question): Which port? [1] 80 [2] 8080 — dogwatch answer api NUMBER --dialog 7f3a90c1"
        );
        assert!(!is_end);
    }

    #[test]
    fn only_questions_are_offered_for_an_answer() {
        let asked = |r#for, dialog: Option<&str>| {
            let (question, options) = (Some("Run make?".into()), vec!["Yes".into()]);
            let status =
                Status::Waiting { r#for, question, options, dialog: dialog.map(Into::into) };
            told(next("api", Work::Turn, Some(&verdict(status, Basis::Asserted)), 9, None, None)).0
        };
        assert!(asked(Need::Question, Some("7f3a90c1")).ends_with(" --dialog 7f3a90c1"));
        for need in [Need::Permission, Need::Plan, Need::Trust, Need::Login, Need::Other] {
            for mark in [Some("7f3a90c1"), None] {
                let text = asked(need, mark);
                assert!(text.ends_with(": Run make? [1] Yes — a person decides"), "{text}");
            }
        }
    }

    #[test]
    fn a_message_is_posted_when_it_can_be_typed() {
        let draft = Status::Idle {
            after_turn: true,
            interrupted: false,
            background: 0,
            draft: Some("half a".into()),
        };
        let waiting = Status::Waiting {
            r#for: Need::Question,
            question: None,
            options: Vec::new(),
            dialog: None,
        };
        let table = [
            (idle(true), true),
            (idle(false), true),
            (draft, false),
            (Status::Error { kind: "api".into(), text: "529".into() }, true),
            (Status::Limited { until: None, text: String::new() }, true),
            (Status::working(None), false),
            (waiting, false),
            (Status::Starting, false),
            (Status::Unknown { missing: String::new() }, false),
        ];
        for (status, expected) in table {
            let shown = format!("{status:?}");
            assert_eq!(is_ready(&verdict(status.clone(), Basis::Asserted)), expected, "{shown}");
            assert!(!is_ready(&verdict(status, Basis::Stale)), "{shown}");
        }
    }

    #[test]
    fn a_dialog_that_is_not_drawn_or_just_answered_sends_no_message() {
        let bare = |held, told| {
            let waiting = Status::Waiting {
                r#for: Need::Question,
                question: None,
                options: Vec::new(),
                dialog: None,
            };
            next("api", Work::Turn, Some(&verdict(waiting, Basis::Asserted)), held, told, None)
        };
        assert_eq!(bare(1, None), Next::Nothing);
        assert_eq!(bare(99, Some("waiting 7f3a90c1")), Next::Nothing);
        assert!(!told(bare(3, None)).1);
    }

    #[test]
    fn several_events_are_one_message() {
        assert_eq!(message(&["a is b.".into()]), "[dogwatch] a is b.");
        assert_eq!(message(&["a".into(), "b".into()]), "[dogwatch] 2 events: a | b");
    }
}
