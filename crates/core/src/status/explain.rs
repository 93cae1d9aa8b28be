//! What every source said, beside the verdict: the answer to "why?".

use jiff::Timestamp;

use super::evidence::{EdgeKind, Evidence, OwnWord, Shows, Turn, Word};
use super::judge::Ruling;
use super::{Reason, Role, Source, Status, Verdict};

/// Puts what every source said beside the verdict.
pub(super) fn explain(e: &Evidence, ruling: Ruling) -> Verdict {
    let mut reasons = vec![reason(Source::Exit, e.life.reason.clone(), e.life.since)];
    reasons.push(match &e.own_word {
        OwnWord::Mute => reason(Source::OwnWord, "not supported by this agent", None),
        OwnWord::Silent => reason(Source::OwnWord, "no report from this process", None),
        OwnWord::Forged(why) => reason(Source::OwnWord, why.clone(), None),
        OwnWord::Says(word, at) => reason(Source::OwnWord, word_said(word), *at),
    });
    reasons.push(turn_said(Source::Hook, &e.hooks));
    reasons.push(turn_said(Source::Transcript, &e.transcript));
    reasons.push(match e.clock {
        Some(at) => reason(Source::Clock, "statusline refreshed", Some(at)),
        None => reason(Source::Clock, "no statusline clock", None),
    });
    reasons.push(match &e.screen {
        Some(screen) => {
            let mut said = format!("{}: {}", shows_said(&screen.shows), screen.because);
            if let Some(claim) = &screen.title {
                said.push_str("; its title claims: ");
                said.push_str(shows_said(claim));
            }
            reason(Source::Screen, said, None)
        }
        None => reason(Source::Screen, "not read", None),
    });
    let moved = match e.movement {
        Some(_) => "screen or CPU time changed",
        None => "not measured",
    };
    reasons.push(reason(Source::Process, moved, e.movement));
    for one in &mut reasons {
        if one.source == ruling.by {
            one.role = Role::Decided;
        } else if disagrees(e, one.source, &ruling.status) {
            one.role = Role::Disagrees;
        }
    }
    Verdict { status: ruling.status, basis: ruling.basis, since: ruling.since, reasons }
}

fn reason(source: Source, said: impl Into<String>, at: Option<Timestamp>) -> Reason {
    Reason { source, said: said.into(), at, role: Role::Heard }
}

fn word_said(word: &Word) -> String {
    match word {
        Word::Busy => "busy".into(),
        Word::Idle => "idle".into(),
        Word::Shell => "idle, with a background shell".into(),
        Word::Waiting(what, _) => format!("waiting for {}", what.as_str()),
    }
}

fn turn_said(source: Source, turn: &Turn) -> Reason {
    if let Some(asked) = &turn.waiting {
        return reason(source, format!("asked for {}", asked.r#for.as_str()), Some(asked.at));
    }
    let Some(edge) = &turn.edge else { return reason(source, "no event yet", turn.last) };
    let mut said = match &edge.what {
        EdgeKind::Ready => "session started".to_owned(),
        EdgeKind::Began if !edge.told => "turn began, by its messages".to_owned(),
        EdgeKind::Began => "turn began".to_owned(),
        EdgeKind::Done if !edge.told => "turn ended, by its messages".to_owned(),
        EdgeKind::Done => "turn ended".to_owned(),
        EdgeKind::Interrupted => "turn interrupted".to_owned(),
        EdgeKind::Failed(failure) => format!("turn failed: {}", failure.kind),
        EdgeKind::Unanswered => "turn ended without an answer".to_owned(),
    };
    if let (EdgeKind::Began, Some(looping)) = (&edge.what, &turn.looping) {
        said = format!("{said}; {looping}");
    }
    reason(source, said, Some(edge.at))
}

fn shows_said(shows: &Shows) -> &'static str {
    match shows {
        Shows::Starting => "starting",
        Shows::Working(_) => "working",
        Shows::Dialog(..) => "a dialog",
        Shows::Limit(..) => "a limit",
        Shows::Failure(..) => "a failure",
        Shows::Prompt { .. } => "a prompt, nothing running",
        Shows::Shell => "a shell",
        Shows::Unreadable => "not recognised",
    }
}

/// Whether a source that speaks says something else than the verdict.
fn disagrees(e: &Evidence, source: Source, status: &Status) -> bool {
    let working = matches!(status, Status::Working { .. } | Status::Stuck { .. });
    match source {
        Source::OwnWord => match &e.own_word {
            OwnWord::Says(Word::Busy, _) => !working,
            OwnWord::Says(Word::Idle | Word::Shell, _) => working,
            _ => false,
        },
        Source::Hook | Source::Transcript => {
            let turn = if source == Source::Hook { &e.hooks } else { &e.transcript };
            let began = turn.edge.as_ref().is_some_and(|edge| edge.what == EdgeKind::Began);
            let ended = turn.edge.as_ref().is_some_and(|edge| edge.what.is_end());
            let idle = matches!(status, Status::Idle { .. });
            (began && idle) || (ended && working)
        }
        Source::Screen => match e.screen.as_ref().map(|s| &s.shows) {
            Some(Shows::Working(_)) => !working,
            Some(Shows::Prompt { .. }) => working,
            Some(Shows::Failure(..) | Shows::Limit(..)) => matches!(status, Status::Idle { .. }),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a source that did not decide says the same as the verdict. A source that is silent, or whose words fit several states,
/// does not.
pub fn agrees(status: &Status, reason: &Reason) -> bool {
    let said = |words: &[&str]| words.iter().any(|word| reason.said.starts_with(word));
    reason.role == Role::Heard
        && match (reason.source, status) {
            (Source::OwnWord, Status::Waiting { .. }) => said(&["waiting for"]),
            (Source::OwnWord, Status::Working { .. }) => said(&["busy"]),
            (Source::OwnWord, Status::Idle { .. }) => said(&["idle"]),
            (Source::Hook | Source::Transcript, Status::Waiting { .. }) => said(&["asked for"]),
            (Source::Hook | Source::Transcript, Status::Working { .. }) => said(&["turn began"]),
            (Source::Hook | Source::Transcript, Status::Idle { .. }) => {
                said(&["turn ended", "turn interrupted"])
            }
            (Source::Hook | Source::Transcript, Status::Error { .. }) => said(&["turn failed"]),
            (Source::Screen, Status::Waiting { .. }) => said(&["a dialog"]),
            (Source::Screen, Status::Working { .. }) => said(&["working"]),
            (Source::Screen, Status::Idle { .. }) => said(&["a prompt"]),
            (Source::Screen, Status::Limited { .. }) => said(&["a limit"]),
            (Source::Screen, Status::Error { .. }) => said(&["a failure"]),
            _ => false,
        }
}
