//! States in short.

use dogwatch_core::record::Exit;
use dogwatch_core::status::{Basis, Status};
use dogwatch_engine::observe::status::SessionStatus;
use dogwatch_protocol::job::JobBrief;
use dogwatch_protocol::mcp::{SessionBrief, StateDetail};
use dogwatch_store::Job;

/// Longest detail.
const MOST_DETAIL: usize = 200;
/// Longest question of a dialog: what is asked must be readable.
const MOST_QUESTION: usize = 1_000;

pub(crate) fn session(one: &SessionStatus, job: Option<&Job>) -> SessionBrief {
    let verdict = &one.verdict;
    let session = &one.seen.session;
    SessionBrief {
        name: session.name.clone(),
        agent: session.agent.clone(),
        state: verdict.status.as_str().to_owned(),
        basis: Some(verdict.basis).filter(|basis| *basis != Basis::Asserted),
        since: verdict.since.and_then(|at| at.round(jiff::Unit::Second).ok()),
        detail: detail(&verdict.status),
        job: job.map(|job| JobBrief {
            id: job.id.clone(),
            state: job.state.as_str().to_owned(),
            waiting: job.waiting.clone(),
        }),
    }
}

pub(crate) fn detail(status: &Status) -> StateDetail {
    let said = |text: String| StateDetail { detail: Some(text), ..StateDetail::default() };
    match status {
        Status::Working { looping: Some(looping), .. } => said(looping.to_string()),
        Status::Waiting { r#for, question, options, dialog } => StateDetail {
            detail: None,
            waits_for: Some(*r#for),
            question: question.as_deref().map(|question| cut(question, MOST_QUESTION)),
            options: options.iter().map(|option| cut(option, MOST_DETAIL)).collect(),
            mark: dialog.clone(),
        },
        Status::Limited { until: Some(until), text } => {
            said(cut(&format!("until {until}: {text}"), MOST_DETAIL))
        }
        Status::Limited { until: None, text } => said(cut(text, MOST_DETAIL)),
        Status::Idle { after_turn, interrupted, .. } => said(
            match (interrupted, after_turn) {
                (true, _) => "turn interrupted",
                (false, true) => "turn finished",
                (false, false) => "fresh",
            }
            .to_owned(),
        ),
        Status::Error { kind, text } => said(cut(&format!("{kind}: {text}"), MOST_DETAIL)),
        Status::Crashed { exit: Some(exit) } | Status::Stopped { exit: Some(exit), .. } => {
            said(match exit {
                Exit::Code(code) => format!("exit code {code}"),
                Exit::Signal(signal) => format!("signal {signal}"),
            })
        }
        Status::Unknown { missing } => said(cut(missing, MOST_DETAIL)),
        Status::Working { .. }
        | Status::Starting
        | Status::Exited
        | Status::Stopped { .. }
        | Status::Crashed { .. }
        | Status::Stuck { .. }
        | Status::Lost { .. } => StateDetail::default(),
    }
}

/// The beginning of a text, without what a terminal would obey.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let text = dogwatch_core::terminal::harmless(text.trim());
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_short() {
        let long = Status::Limited { until: None, text: "x".repeat(9_000) };
        assert_eq!(detail(&long).detail.unwrap().chars().count(), MOST_DETAIL + 1);
        assert_eq!(cut(" é\u{1b}é ", 1), "é…");
        assert_eq!(detail(&Status::working(Some("secret".into()))), StateDetail::default());
    }
}
