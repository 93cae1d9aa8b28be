//! The details of a status, in words.

use super::Status;
use crate::liveness::{exit_words, how_stopped};

/// What it does, asks or died of; empty if the state says it all.
pub fn detail(status: &Status) -> String {
    match status {
        Status::Working { looping: Some(looping), .. } => looping.to_string(),
        Status::Working { task, looping: None } => task.clone().unwrap_or_default(),
        Status::Waiting { r#for, question: Some(question), .. } => {
            format!("{}: {question}", r#for.as_str())
        }
        Status::Waiting { r#for, question: None, .. } => r#for.as_str().to_owned(),
        Status::Limited { until: Some(until), text } => format!("until {until}: {text}"),
        Status::Limited { until: None, text } => text.clone(),
        Status::Idle { after_turn, interrupted, background, draft } => {
            let turn = match (interrupted, after_turn) {
                (true, _) => "turn interrupted",
                (false, true) => "turn finished",
                (false, false) => "fresh",
            };
            let mut parts = vec![turn.to_owned()];
            if *background > 0 {
                parts.push(format!("{background} in the background"));
            }
            if draft.is_some() {
                parts.push("draft in the input box".to_owned());
            }
            parts.join(", ")
        }
        Status::Error { kind, text } => format!("{kind}: {text}"),
        Status::Crashed { exit: Some(exit) } => exit_words(*exit),
        Status::Stopped { exit: Some(exit), cause: Some(cause), by } => {
            how_stopped(*exit, *cause, by.as_deref())
        }
        Status::Unknown { missing } => missing.clone(),
        Status::Lost { server_died: Some(died), .. } => died.to_string(),
        Status::Lost { last_seen: Some(at), .. } => format!("last seen at {at:.0}"),
        Status::Starting
        | Status::Exited
        | Status::Stopped { .. }
        | Status::Crashed { .. }
        | Status::Stuck { .. }
        | Status::Lost { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::WaitFor;

    #[test]
    fn details_in_words() {
        let waiting = |question: Option<&str>| Status::Waiting {
            r#for: WaitFor::Permission,
            question: question.map(ToOwned::to_owned),
            options: Vec::new(),
            dialog: None,
        };
        let limited = |until: Option<&str>| Status::Limited {
            until: until.map(ToOwned::to_owned),
            text: "limit reached".to_owned(),
        };
        let idle = Status::Idle {
            after_turn: true,
            interrupted: false,
            background: 2,
            draft: Some("x".to_owned()),
        };
        for (status, want) in [
            (Status::working(Some("Editing".to_owned())), "Editing"),
            (waiting(Some("rm x?")), "permission: rm x?"),
            (waiting(None), "permission"),
            (limited(Some("02:10")), "until 02:10: limit reached"),
            (limited(None), "limit reached"),
            (idle, "turn finished, 2 in the background, draft in the input box"),
            (Status::Exited, ""),
        ] {
            assert_eq!(detail(&status), want);
        }
    }
}
