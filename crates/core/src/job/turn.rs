//! The turn of exactly one message, from a transcript.

use jiff::Timestamp;
use serde_json::Value;

use super::calls::Calls;
use crate::status::evidence::{self, EdgeKind};
use crate::status::rollout;
use crate::transcript::{self, Dialect, Speaker};

/// A turn as far as it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub began: Timestamp,
    pub end: Option<(Timestamp, TurnEnd)>,
    /// The last that the agent has said in it.
    pub answer: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    Done,
    /// It was cut short; what the agent was at, if that is known.
    Interrupted(Option<String>),
    /// The person did not allow what the agent wanted to do, and it stopped there.
    Refused(Option<String>),
    Failed(String),
    /// Nothing was answered: in versions that do not write down failures, it has failed.
    Unanswered,
}

/// The turn that began with the first message since then that is ours.
pub fn turn_of(
    dialect: Dialect,
    text: &str,
    since: Timestamp,
    is_ours: impl Fn(&str) -> bool,
) -> Option<Turn> {
    let mut turn: Option<Turn> = None;
    let mut told = evidence::Turn::default();
    let mut calls = Calls::default();
    // When it ended, where the transcript does not tell: what the agent said then was the last, as far as one can see.
    let mut likely_end = None;
    for line in text.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        let Some(at) = value["timestamp"].as_str().and_then(|text| text.parse().ok()) else {
            continue;
        };
        let before = told.edge.clone();
        rollout::fold_line(&mut told, dialect, &value);
        let said = transcript::said_in(dialect, &value);
        let Some(found) = &mut turn else {
            let is_it = |entry: &transcript::Entry| {
                entry.speaker == Speaker::Person && is_ours(&transcript::typed(&entry.text))
            };
            if transcript::written_since(&value, since).is_some() && said.iter().any(is_it) {
                turn = Some(Turn { began: at, end: None, answer: None });
            }
            continue;
        };
        let edge = told.edge.clone().filter(|edge| before.as_ref() != Some(edge));
        let spoken = said.into_iter().rfind(|entry| entry.speaker == Speaker::Agent);
        // What claude writes in place of an answer when the model could not be asked is no answer.
        if !edge.as_ref().is_some_and(|edge| matches!(edge.what, EdgeKind::Failed(_)))
            && let Some(entry) = spoken
        {
            found.answer = Some(entry.text);
            calls.went_on();
        }
        calls.take_in(dialect, &value);
        let Some(edge) = edge else { continue };
        let end = match (edge.what, calls.stopped_by()) {
            (EdgeKind::Done, None) if !edge.told => {
                likely_end = Some(at);
                continue;
            }
            // It was not the last after all, or codex tells of our message a second time.
            (EdgeKind::Began, _) if !edge.told && !is_another(dialect, &value, &is_ours) => {
                continue;
            }
            (EdgeKind::Done | EdgeKind::Interrupted | EdgeKind::Began, Some(end)) => end,
            (EdgeKind::Done, None) => TurnEnd::Done,
            (EdgeKind::Began, None) if let Some(at) = likely_end => {
                found.end = Some((at, TurnEnd::Done));
                break;
            }
            // Another turn has begun, and nobody wrote how this one ended.
            (EdgeKind::Interrupted | EdgeKind::Began, None) => TurnEnd::Interrupted(None),
            (EdgeKind::Failed(failure), _) => {
                TurnEnd::Failed(format!("{}: {}", failure.kind, failure.text))
            }
            (EdgeKind::Unanswered, _) => TurnEnd::Unanswered,
            (EdgeKind::Ready, _) => continue,
        };
        found.end = Some((at, end));
        break;
    }
    turn
}

/// Whether a line is a person's message that is not ours.
fn is_another(dialect: Dialect, line: &Value, is_ours: &impl Fn(&str) -> bool) -> bool {
    let is_theirs = |entry: transcript::Entry| entry.speaker == Speaker::Person;
    match dialect {
        Dialect::Codex => {
            let event = &line["payload"];
            event["type"] == "user_message" && !event["message"].as_str().is_some_and(is_ours)
        }
        dialect => transcript::said_in(dialect, line).into_iter().any(is_theirs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(dialect: Dialect, lines: &[&str]) -> Option<Turn> {
        let text: Vec<String> = (0..)
            .zip(lines)
            .map(|(n, line)| format!(r#"{{"timestamp":"2026-11-15T08:00:{n:02}Z",{line}}}"#))
            .collect();
        turn_of(dialect, &text.join("\n"), at(1), |text| text == "ours")
    }

    fn at(second: i64) -> Timestamp {
        let start: Timestamp = "2026-11-15T08:00:00Z".parse().unwrap();
        start + jiff::SignedDuration::from_secs(second)
    }

    const OURS: &str = r#""type":"user","origin":{"kind":"human"},"message":{"content":"ours"}"#;
    const OTHER: &str = r#""type":"user","origin":{"kind":"human"},"message":{"content":"other"}"#;
    const SAID: &str =
        r#""type":"assistant","message":{"content":[{"type":"text","text":"One."}]}"#;
    const REJECTED: &str = r#""type":"user","toolUseResult":"User rejected tool use","message":{"content":[{"type":"tool_result","is_error":true,"tool_use_id":"t","content":"The user doesn't want to proceed with this tool use. The tool use was rejected."}]}"#;
    const DENIED: &str = r#""type":"user","toolDenialKind":"user-rejected","message":{"content":[{"type":"tool_result","is_error":true,"tool_use_id":"t","content":"no"}]}"#;
    const RAN: &str = r#""type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}"#;
    const STOPPED: &str = r#""type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}"#;
    const TOOL: &str = r#""type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}]}"#;
    const LAST: &str =
        r#""type":"assistant","message":{"content":[{"type":"text","text":"Two."}]}"#;
    const OVER: &str = r#""type":"system","subtype":"turn_duration""#;
    const ESCAPE: &str = r#""type":"user","interruptedMessageId":"m","message":{"content":[]}"#;
    const ERROR: &str = r#""type":"assistant","isApiErrorMessage":true,"error":"rate_limit","message":{"content":[{"type":"text","text":"429"}]}"#;

    #[test]
    fn of_claude() {
        let of = |lines: &[&str]| turn(Dialect::Claude, lines);
        assert_eq!(of(&[OURS, SAID, OVER]), None, "said before it was sent");
        assert_eq!(of(&[OTHER, OTHER, SAID, OVER]), None);
        let running = of(&[OTHER, OURS, SAID]).unwrap();
        assert_eq!(running, Turn { began: at(1), end: None, answer: Some("One.".into()) });
        let done = of(&[OTHER, OURS, SAID, TOOL, LAST, OVER, OTHER, SAID, OVER]).unwrap();
        assert_eq!(done.answer.as_deref(), Some("Two."), "of this turn, and the last");
        assert_eq!(done.end, Some((at(5), TurnEnd::Done)));
        let end = |lines: &[&str]| of(lines).unwrap().end.map(|(_, end)| end);
        assert_eq!(end(&[OTHER, OURS, SAID, ESCAPE]), Some(TurnEnd::Interrupted(None)));
        assert_eq!(end(&[OTHER, OURS, SAID, OTHER, OVER]), Some(TurnEnd::Interrupted(None)));
        let refused = || Some(TurnEnd::Refused(Some("Bash make".into())));
        assert_eq!(end(&[OTHER, OURS, TOOL, REJECTED, STOPPED, OVER]), refused());
        assert_eq!(end(&[OTHER, OURS, TOOL, DENIED, OVER]), refused());
        assert_eq!(
            end(&[OTHER, OURS, TOOL, REJECTED, LAST, OVER]),
            Some(TurnEnd::Done),
            "it went on"
        );
        assert_eq!(end(&[OTHER, OURS, TOOL, REJECTED, TOOL, RAN, OVER]), Some(TurnEnd::Done));
        let at_work = Some(TurnEnd::Interrupted(None));
        assert_eq!(end(&[OTHER, OURS, SAID, STOPPED, OVER]), at_work);
        let failed = of(&[OTHER, OURS, ERROR, OVER]).unwrap();
        assert_eq!(failed.end.unwrap().1, TurnEnd::Failed("rate_limit: 429".into()));
        assert_eq!(failed.answer, None);
    }

    #[test]
    fn of_codex() {
        let began = r#""type":"event_msg","payload":{"type":"task_started"}"#;
        let ours = r#""type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"ours"}]}"#;
        let said = r#""type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}"#;
        let done = r#""type":"event_msg","payload":{"type":"task_complete"}"#;
        let found = turn(Dialect::Codex, &[began, began, ours, said, done]).unwrap();
        assert_eq!(found.answer.as_deref(), Some("Done."));
        assert_eq!(found.end, Some((at(4), TurnEnd::Done)));
        let aborted = r#""type":"event_msg","payload":{"type":"turn_aborted"}"#;
        let end = |lines: &[&str]| turn(Dialect::Codex, lines).unwrap().end.unwrap();
        assert_eq!(end(&[began, began, ours, aborted]), (at(3), TurnEnd::Interrupted(None)));
        let call = r#""type":"response_item","payload":{"type":"function_call","call_id":"c","name":"exec_command","arguments":"{\"cmd\":\"make\"}"}"#;
        let output = |text: &str| {
            format!(
                r#""type":"response_item","payload":{{"type":"function_call_output","call_id":"c","output":"{text}"}}"#
            )
        };
        let make = || Some("exec_command make".to_owned());
        let broken = output("aborted by user after 0.1s");
        assert_eq!(
            end(&[began, began, ours, call, &broken, aborted]).1,
            TurnEnd::Interrupted(make())
        );
        let rejected = output("exec command rejected by user");
        assert_eq!(
            end(&[began, began, ours, call, &rejected, aborted]).1,
            TurnEnd::Refused(make())
        );
        assert_eq!(end(&[began, began, ours, call, &rejected, done]).1, TurnEnd::Refused(make()));
        assert_eq!(end(&[began, began, ours, call, &rejected, said, done]).1, TurnEnd::Done);
    }
}
