//! The turn of exactly one message, from a transcript.

use jiff::Timestamp;
use serde_json::Value;

use super::calls::Calls;
use crate::status::evidence::{self, Edge, EdgeKind};
use crate::status::rollout;
use crate::transcript::{self, Dialect, Speaker};

/// A turn as far as it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub began: Timestamp,
    pub end: Option<(Timestamp, TurnEnd)>,
    /// The last that the agent has said in it.
    pub answer: Option<String>,
    /// The agent has said or done something since our message.
    pub has_acted: bool,
    /// The agent took the message into a turn that had begun before it was sent. Only transcripts that write down beginnings tell.
    pub is_shared: bool,
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
    /// It ended, and the agent neither said nor did anything after the message: codex takes what comes at the very end of a turn into
    /// the conversation, and does not ask its model.
    Silent,
    /// The model was asked once for this message and another one: there is one answer to both.
    Mixed,
}

/// The turn that began with the first message since then that is ours. It ends where another person's message follows an answer.
pub fn turn_of(
    dialect: Dialect,
    text: &str,
    since: Timestamp,
    is_ours: impl Fn(&str) -> bool,
) -> Option<Turn> {
    let mut reading =
        Reading { dialect, since, is_ours, told: evidence::Turn::default(), found: None };
    for line in text.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        let Some(at) = value["timestamp"].as_str().and_then(|text| text.parse().ok()) else {
            continue;
        };
        if reading.take_in(&value, at) {
            break;
        }
    }
    let Found { mut turn, silent, .. } = reading.found?;
    turn.end = turn.end.or_else(|| silent.map(|at| (at, TurnEnd::Silent)));
    Some(turn)
}

struct Reading<F> {
    dialect: Dialect,
    since: Timestamp,
    is_ours: F,
    told: evidence::Turn,
    found: Option<Found>,
}

/// The turn, and what is known of it on the way.
struct Found {
    turn: Turn,
    calls: Calls,
    /// When it ended, where the transcript does not tell: what the agent said then was the last, as far as one can see.
    likely_end: Option<Timestamp>,
    /// When the agent last said something.
    spoke: Option<Timestamp>,
    /// When a turn ended without a sign of the agent. The next one may be about our message, if no other one comes first.
    silent: Option<Timestamp>,
    /// Another message came before the agent did anything.
    is_mixed: bool,
    /// codex writes each message down twice.
    is_written_again: bool,
}

impl<F: Fn(&str) -> bool> Reading<F> {
    /// Takes a line in; true if the turn ended with it.
    fn take_in(&mut self, line: &Value, at: Timestamp) -> bool {
        let before = self.told.edge.clone();
        let spoke_last = self.told.course.spoke_last;
        rollout::fold_line(&mut self.told, self.dialect, line);
        let said = transcript::said_in(self.dialect, line);
        if self.found.is_none() {
            self.find(line, at, &said);
            return false;
        }
        let edge = self.told.edge.clone().filter(|edge| before.as_ref() != Some(edge));
        let is_another = self.is_another(line);
        let Some(found) = &mut self.found else { return false };
        let is_codex = self.dialect == Dialect::Codex;
        if is_codex && line["payload"]["type"] == "user_message" {
            let is_again = std::mem::take(&mut found.is_written_again);
            if is_another && !is_again && found.ends_with_another(spoke_last) {
                return true;
            }
        }
        let failed = edge.as_ref().is_some_and(|edge| matches!(edge.what, EdgeKind::Failed(_)));
        // What claude writes in place of an answer when the model could not be asked is no answer.
        if !failed {
            found.turn.has_acted |= is_act(self.dialect, line);
            if let Some(entry) = said.into_iter().rfind(|entry| entry.speaker == Speaker::Agent) {
                found.turn.answer = Some(entry.text);
                found.spoke = Some(at);
                found.calls.went_on();
            }
        }
        found.calls.take_in(self.dialect, line);
        edge.is_some_and(|edge| found.ends_with(edge, at, is_another, is_codex))
    }

    fn find(&mut self, line: &Value, at: Timestamp, said: &[transcript::Entry]) {
        let is_it = |entry: &transcript::Entry| {
            entry.speaker == Speaker::Person && (self.is_ours)(&transcript::typed(&entry.text))
        };
        if transcript::written_since(line, self.since).is_none() || !said.iter().any(is_it) {
            return;
        }
        let is_open = self.told.edge.as_ref().is_some_and(|edge| edge.what == EdgeKind::Began);
        let is_old = self.told.began.is_some_and(|began| began < self.since);
        let is_shared = self.told.tells_ends && is_open && is_old;
        self.found = Some(Found {
            turn: Turn { began: at, end: None, answer: None, has_acted: false, is_shared },
            calls: Calls::default(),
            likely_end: None,
            spoke: None,
            silent: None,
            is_mixed: false,
            is_written_again: true,
        });
    }

    /// Whether a line is a person's message that is not ours.
    fn is_another(&self, line: &Value) -> bool {
        let is_theirs = |entry: transcript::Entry| entry.speaker == Speaker::Person;
        match self.dialect {
            Dialect::Codex => {
                let event = &line["payload"];
                event["type"] == "user_message"
                    && !event["message"].as_str().is_some_and(&self.is_ours)
            }
            dialect => transcript::said_in(dialect, line).into_iter().any(is_theirs),
        }
    }
}

impl Found {
    /// Another message came within the turn: true if ours was answered before, or never will be. In the middle of its work the agent
    /// goes on with both.
    fn ends_with_another(&mut self, spoke_last: bool) -> bool {
        let end = match (self.silent, self.spoke) {
            (Some(at), _) => (at, TurnEnd::Silent),
            (None, Some(at)) if spoke_last => (at, TurnEnd::Done),
            _ => {
                self.is_mixed |= !self.turn.has_acted;
                return false;
            }
        };
        self.turn.end = Some(end);
        true
    }

    /// Whether an edge is the end of the turn.
    fn ends_with(&mut self, edge: Edge, at: Timestamp, is_another: bool, is_codex: bool) -> bool {
        let end = match (edge.what, self.calls.stopped_by()) {
            (EdgeKind::Done, None) if !edge.told => {
                self.likely_end = Some(at);
                return false;
            }
            // It was not the last after all, or codex tells of our message a second time.
            (EdgeKind::Began, _) if !edge.told && !is_another => return false,
            // codex does not write down yet whose message the next turn is about.
            (EdgeKind::Began, None) if self.silent.is_some() && is_codex => return false,
            (EdgeKind::Began, None) if let Some(at) = self.silent => {
                self.turn.end = Some((at, TurnEnd::Silent));
                return true;
            }
            (EdgeKind::Done | EdgeKind::Interrupted | EdgeKind::Began, Some(end)) => end,
            (EdgeKind::Done, None) if !self.turn.has_acted => {
                self.silent = Some(at);
                return false;
            }
            (EdgeKind::Done, None) if self.is_mixed => TurnEnd::Mixed,
            (EdgeKind::Done, None) => TurnEnd::Done,
            (EdgeKind::Began, None) if let Some(at) = self.likely_end => {
                self.turn.end = Some((at, TurnEnd::Done));
                return true;
            }
            // Another turn has begun, and nobody wrote how this one ended.
            (EdgeKind::Interrupted | EdgeKind::Began, None) => TurnEnd::Interrupted(None),
            (EdgeKind::Failed(failure), _) => {
                TurnEnd::Failed(format!("{}: {}", failure.kind, failure.text))
            }
            (EdgeKind::Unanswered, _) => TurnEnd::Unanswered,
            (EdgeKind::Ready, _) => return false,
        };
        self.turn.end = Some((at, end));
        true
    }
}

/// Whether a line shows that the agent said or did something.
fn is_act(dialect: Dialect, line: &Value) -> bool {
    match dialect {
        Dialect::Claude => line["type"] == "assistant" && line["isSidechain"] != true,
        Dialect::Codex => {
            let item = &line["payload"];
            line["type"] == "response_item"
                && (item["type"] != "message" || item["role"] == "assistant")
        }
        Dialect::Gemini => line["type"] == "gemini",
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
        let (answer, has_acted) = (Some("One.".into()), true);
        let expected = Turn { began: at(1), end: None, answer, has_acted, is_shared: false };
        assert_eq!(running, expected);
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

    #[test]
    fn of_claude_without_a_word() {
        let end = |lines: &[&str]| turn(Dialect::Claude, lines).unwrap().end;
        let silent = Some((at(2), TurnEnd::Silent));
        assert_eq!(end(&[OTHER, OURS, OVER]), silent);
        assert_eq!(end(&[OTHER, OURS, OVER, OTHER, SAID, OVER]), silent, "that is the other's");
        assert_eq!(end(&[OTHER, OURS, TOOL, OVER]), Some((at(3), TurnEnd::Done)), "it has acted");
    }

    /// What comes while codex ends a turn is taken into that turn, or into the conversation without asking the model.
    #[test]
    fn of_codex_that_takes_two_messages() {
        let event = |kind: &str| format!(r#""type":"event_msg","payload":{{"type":"{kind}"}}"#);
        let (began, done) = (event("task_started"), event("task_complete"));
        let person = |text: &str| {
            [
                format!(
                    r#""type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}"#
                ),
                format!(
                    r#""type":"event_msg","payload":{{"type":"user_message","message":"{text}"}}"#
                ),
            ]
        };
        let agent = |text: &str| {
            [
                format!(
                    r#""type":"response_item","payload":{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"{text}"}}]}}"#
                ),
                format!(
                    r#""type":"event_msg","payload":{{"type":"agent_message","message":"{text}"}}"#
                ),
            ]
        };
        let call = r#""type":"response_item","payload":{"type":"function_call","call_id":"c","name":"exec_command","arguments":"{}"}"#.to_owned();
        let result = r#""type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"ok"}"#.to_owned();
        let of = |parts: &[&[String]]| {
            let lines: Vec<&str> = parts.iter().copied().flatten().map(String::as_str).collect();
            let found = turn(Dialect::Codex, &lines).unwrap();
            (found.end.map(|(_, end)| end), found.answer, found.is_shared)
        };
        let said = |text: &str| Some(text.to_owned());
        let (ours, other) = (person("ours"), person("other"));
        let (one, two) = (agent("One."), agent("Two."));
        let (began, done) = ([began], [done]);
        // The line at 0 is older than the message; two of them are.
        let old: &[String] = &[event("x"), event("x")];
        let all = of(&[old, &began, &ours, &one, &other, &two, &done]);
        assert_eq!(all, (Some(TurnEnd::Done), said("One."), false), "the second was taken into it");
        let all = of(&[&began, old, &other, &one, &ours, &two, &done]);
        assert_eq!(all, (Some(TurnEnd::Done), said("Two."), true), "ours was");
        let all = of(&[&began, old, &other, &one, &ours, &done]);
        assert_eq!(all, (Some(TurnEnd::Silent), None, true), "the model was not asked");
        let all = of(&[&began, old, &other, &one, &ours, &done, &began, &other, &two, &done]);
        assert_eq!(all, (Some(TurnEnd::Silent), None, true), "but for the next one");
        let all = of(&[&began, old, &other, &one, &ours, &done, &began, &two, &done]);
        assert_eq!(all, (Some(TurnEnd::Done), said("Two."), true), "a turn of its own follows");
        let all = of(&[old, &began, &ours, &other, &two, &done]);
        assert_eq!(all, (Some(TurnEnd::Mixed), said("Two."), false), "one answer to both");
        let steered = [call, result];
        let all = of(&[old, &began, &ours, &steered, &other, &two, &done]);
        assert_eq!(all, (Some(TurnEnd::Done), said("Two."), false), "told more at its work");
    }
}
