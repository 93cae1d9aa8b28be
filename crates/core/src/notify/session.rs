//! Which event a session's status is, and the text of its notification.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};

use crate::liveness::exit_words;
use crate::notice::Occasion;
use crate::status::{Basis, Status, Verdict, WaitFor};

/// What ended longer ago than this when it was first seen is not news.
pub const NEWS: SignedDuration = SignedDuration::from_mins(2);

/// What a session's status says about a possible event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusEvent {
    pub occasion: Occasion,
    pub dialog: Option<WaitFor>,
    /// Two statuses with the same detail may be the same event.
    pub detail: String,
    /// Derived from the screen or a transcript, so it must hold for a moment before dogwatch notifies.
    pub is_inferred: bool,
}

/// The event of this status, if it is one. `by_itself` is whether a session that ended did so without a request.
pub fn event(verdict: &Verdict, by_itself: bool, now: Timestamp) -> Option<StatusEvent> {
    let status = &verdict.status;
    let occasion = match status {
        Status::Waiting { .. } => Occasion::Waiting,
        Status::Idle { after_turn: true, interrupted: false, .. } => Occasion::Done,
        Status::Exited if by_itself => Occasion::Done,
        Status::Error { .. } => Occasion::Error,
        Status::Limited { .. } => Occasion::Limited,
        Status::Crashed { .. } | Status::Lost { .. } => Occasion::Crashed,
        Status::Stuck { .. } => Occasion::Stuck,
        Status::Working { looping: Some(_), .. } => Occasion::Looping,
        _ => return None,
    };
    if verdict.basis == Basis::Stale {
        return None;
    }
    let is_old = verdict.since.is_some_and(|since| now.duration_since(since) > NEWS);
    if is_old && matches!(occasion, Occasion::Done | Occasion::Error | Occasion::Crashed) {
        return None;
    }
    let (dialog, detail) = match status {
        Status::Waiting { r#for, dialog, .. } => {
            let id = dialog.as_ref().map(|id| format!("{DIALOG}{id}")).unwrap_or_default();
            // Not the question: a hook words it in another way than the screen.
            (Some(*r#for), format!("{} {}{id}", status.as_str(), r#for.as_str()))
        }
        _ => (None, status.key()),
    };
    let is_inferred = verdict.basis == Basis::Inferred;
    Some(StatusEvent { occasion, dialog, detail, is_inferred })
}

/// Stands between a status and the id of its dialog.
const DIALOG: char = '\u{1f}';

/// Whether two details, of looks between which the session did not work, are of one event: a hook tells of a dialog before it can be seen.
pub fn is_same(detail: &str, other: &str) -> bool {
    let (status, dialog) = parts(detail);
    let (other_status, other_dialog) = parts(other);
    let is_same_dialog = dialog == other_dialog || dialog.is_empty() || other_dialog.is_empty();
    status == other_status && is_same_dialog
}

/// Whether a detail says which dialog it is.
pub fn names_dialog(detail: &str) -> bool {
    !parts(detail).1.is_empty()
}

/// Whether a session with this key of its status is still in the state that the detail is about.
pub fn still_holds(detail: &str, key: &str) -> bool {
    key.starts_with(parts(detail).0)
}

fn parts(detail: &str) -> (&str, &str) {
    detail.split_once(DIALOG).unwrap_or((detail, ""))
}

/// Whether an event is over once the session's status is another one: there is no use in telling later that an agent waited. A crash stays
/// one, also if the session is archived since.
pub fn is_passing(occasion: Occasion) -> bool {
    occasion != Occasion::Crashed
}

/// Title and text of a session's event.
pub fn words(name: &str, status: &Status, basis: Basis) -> (String, String) {
    let (title, mut text) = match status {
        Status::Waiting { r#for, question, options, .. } => {
            let need = match r#for {
                WaitFor::Permission => "asks for permission",
                WaitFor::Question => "has a question",
                WaitFor::Plan => "wants its plan approved",
                WaitFor::Trust => "asks whether to trust the directory",
                WaitFor::Login => "needs a login",
                WaitFor::Other => "needs you",
            };
            let mut text = question.clone().unwrap_or_default();
            for (number, option) in options.iter().enumerate() {
                let _ = write!(text, "\n{}. {option}", number + 1);
            }
            (need.to_owned(), text)
        }
        Status::Idle { background, .. } => {
            let running = match background {
                0 => String::new(),
                1 => "1 background process still runs".to_owned(),
                count => format!("{count} background processes still run"),
            };
            ("done".to_owned(), running)
        }
        Status::Exited => ("done, ended with 0".to_owned(), String::new()),
        Status::Error { kind, text } => (format!("its turn failed ({kind})"), text.clone()),
        Status::Limited { until, text } => {
            let until = until.as_deref().map(|until| format!(" until {until}")).unwrap_or_default();
            (format!("limited{until}"), text.clone())
        }
        Status::Crashed { exit } => {
            let how = exit.map(|exit| format!(", {}", exit_words(exit))).unwrap_or_default();
            (format!("crashed{how}"), String::new())
        }
        Status::Lost { .. } => {
            ("lost".to_owned(), "It is gone and left no record of its end.".to_owned())
        }
        Status::Stuck { silent_since } => {
            ("stuck".to_owned(), format!("Nothing has changed since {silent_since:.0}."))
        }
        Status::Working { looping: Some(looping), .. } => (looping.to_string(), String::new()),
        other => (other.as_str().to_owned(), String::new()),
    };
    if basis == Basis::Inferred {
        text.push_str("\n(inferred)");
    }
    (format!("{name}: {title}"), text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Exit;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn verdict(status: Status, basis: Basis, since: i64) -> Verdict {
        Verdict { status, basis, since: Some(at(since)), reasons: Vec::new() }
    }

    fn waiting(dialog: Option<&str>) -> Status {
        Status::Waiting {
            r#for: WaitFor::Permission,
            question: Some("Bash: ls".into()),
            options: vec!["Yes".into(), "No".into()],
            dialog: dialog.map(Into::into),
        }
    }

    fn idle(after_turn: bool, interrupted: bool) -> Status {
        Status::Idle { after_turn, interrupted, background: 0, draft: None }
    }

    #[test]
    fn which_status_is_an_event() {
        let failed = || Status::Error { kind: "x".into(), text: String::new() };
        let lost = || Status::Lost { last_seen: None, server_died: None };
        let table = [
            (waiting(None), true, 0, Some(Occasion::Waiting)),
            (waiting(None), true, -9999, Some(Occasion::Waiting)),
            (idle(true, false), true, 0, Some(Occasion::Done)),
            (idle(true, false), true, -121, None),
            (idle(true, true), true, 0, None),
            (idle(false, false), true, 0, None),
            (Status::Exited, true, 0, Some(Occasion::Done)),
            (Status::Exited, false, 0, None),
            (failed(), true, 0, Some(Occasion::Error)),
            (Status::Crashed { exit: None }, true, 0, Some(Occasion::Crashed)),
            (lost(), true, 0, Some(Occasion::Crashed)),
            (lost(), true, -9999, None),
            (Status::working(None), true, 0, None),
            (Status::Starting, true, 0, None),
            (Status::Stuck { silent_since: at(0) }, true, 0, Some(Occasion::Stuck)),
            (Status::Stopped { exit: None, cause: None, by: None }, true, 0, None),
        ];
        for (status, by_itself, since, want) in table {
            let verdict = verdict(status, Basis::Asserted, since);
            let found = event(&verdict, by_itself, at(0)).map(|event| event.occasion);
            assert_eq!(found, want, "{verdict:?}");
        }
        let stale = verdict(waiting(None), Basis::Stale, 0);
        assert_eq!(event(&stale, true, at(0)), None);
        let inferred = event(&verdict(waiting(None), Basis::Inferred, 0), true, at(0)).unwrap();
        assert!(inferred.is_inferred);
        let of = |dialog| {
            event(&verdict(waiting(dialog), Basis::Asserted, 0), true, at(0)).unwrap().detail
        };
        let is_one = |a, b| is_same(&of(a), &of(b));
        assert!(!is_one(Some("a"), Some("b")), "another dialog is another event");
        assert!(is_one(Some("a"), Some("a")) && is_one(None, Some("a")) && is_one(Some("a"), None));
        assert!(!is_same(&of(None), "idle true false"));
        assert!(still_holds(&of(Some("a")), &waiting(None).key()));
        assert!(!still_holds(&of(Some("a")), "working"));
        assert!(still_holds("idle true false", "idle true false"));
    }

    #[test]
    fn events_in_words() {
        let says = |status: &Status| words("dev", status, Basis::Asserted);
        let (title, text) = says(&waiting(None));
        assert_eq!(
            (title.as_str(), text.as_str()),
            ("dev: asks for permission", "Bash: ls\n1. Yes\n2. No")
        );
        let crashed = Status::Crashed { exit: Some(Exit::Code(3)) };
        assert!(says(&crashed).0.starts_with("dev: crashed, "), "{:?}", says(&crashed));
        assert_eq!(says(&idle(true, false)).0, "dev: done");
        let (_, text) = words("dev", &idle(true, false), Basis::Inferred);
        assert_eq!(text, "(inferred)");
    }
}
