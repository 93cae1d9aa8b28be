//! Transcripts of claude, codex and gemini, folded into the edges of turns.
//!
//! Lines are not strictly in order of time, so an edge counts only if it is not older than the last one; one that is much
//! older was written after the clock was set back, and counts. What is cut, unknown or not JSON is passed over: a
//! transcript is read while it is written.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::evidence::{Edge, EdgeKind, Failure, Turn};
use crate::text::shortened;
use crate::transcript::Dialect;

/// Edges of claude 2.1.325 were seen out of order by milliseconds, other lines by seconds.
const SET_BACK: SignedDuration = SignedDuration::from_mins(1);
/// claude 2.1.325 closes an interrupted turn like any other, 37 ms after it wrote that it was interrupted.
const CLOSING: SignedDuration = SignedDuration::from_secs(2);
/// What claude writes in the person's name when a turn was cut short, the second when a permission denied.
const INTERRUPTED: [&str; 2] =
    ["[Request interrupted by user]", "[Request interrupted by user for tool use]"];
/// Longest text of a failure: it is handed on to tables and messages.
const MAX_TEXT: usize = 2_000;

/// Folds the text of a transcript, or its end.
pub fn fold(dialect: Dialect, text: &str) -> Turn {
    let mut turn = Turn::default();
    fold_onto(&mut turn, dialect, text);
    turn
}

/// Folds what was written since.
pub fn fold_onto(turn: &mut Turn, dialect: Dialect, text: &str) {
    for line in text.lines() {
        // Most lines are no edge, and long: no more is taken from them than shows that.
        if let Some(timestamp) = time_of_no_edge(dialect, line) {
            if let Ok(at) = timestamp.parse() {
                take_in(turn, at, None);
            }
            continue;
        }
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        let Some(at) = value["timestamp"].as_str().and_then(|t| t.parse().ok()) else { continue };
        let edge = match dialect {
            Dialect::Claude if value["type"] == "queue-operation" => {
                queue(turn, at, value["operation"].as_str());
                None
            }
            dialect => edge(dialect, &value),
        };
        take_in(turn, at, edge);
    }
}

/// `None` if the line may be an edge or tells of the queue, or is not as expected.
fn time_of_no_edge(dialect: Dialect, text: &str) -> Option<Cow<'_, str>> {
    match dialect {
        Dialect::Claude => {
            let line: ClaudeLine = serde_json::from_str(text).ok()?;
            let may_be_edge = line.interrupted_message_id.is_some()
                || line.origin.is_some()
                || line.subtype.is_some()
                || line.operation.is_some()
                || line.is_api_error_message.is_some()
                || INTERRUPTED.iter().any(|words| text.contains(words));
            (!may_be_edge).then_some(line.timestamp)
        }
        Dialect::Codex => {
            let line: CodexLine = serde_json::from_str(text).ok()?;
            let event = line.payload.and_then(|payload| payload.r#type);
            let edges = ["task_started", "turn_aborted", "task_complete"];
            let may_be_edge = event.is_some_and(|event| edges.contains(&event.as_ref()));
            (!may_be_edge).then_some(line.timestamp)
        }
        Dialect::Gemini => None,
    }
}

/// What tells an edge of claude from the other lines.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaudeLine<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    subtype: Option<IgnoredAny>,
    operation: Option<IgnoredAny>,
    origin: Option<IgnoredAny>,
    interrupted_message_id: Option<IgnoredAny>,
    is_api_error_message: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct CodexLine<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    payload: Option<CodexPayload<'a>>,
}

#[derive(Deserialize)]
struct CodexPayload<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
}

fn take_in(turn: &mut Turn, at: Timestamp, edge: Option<EdgeKind>) {
    turn.last = turn.last.max(Some(at));
    let Some(what) = edge else { return };
    let failed_already = turn.edge.as_ref().is_some_and(|e| matches!(e.what, EdgeKind::Failed(_)));
    match what {
        // claude closes a failed turn like any other, right after the error.
        EdgeKind::Done if failed_already || was_interrupted_before(turn, at) => return,
        EdgeKind::Done => turn.turns_done += 1,
        EdgeKind::Began => turn.turns_begun += 1,
        _ => {}
    }
    place(turn, at, what);
}

fn was_interrupted_before(turn: &Turn, at: Timestamp) -> bool {
    turn.edge.as_ref().is_some_and(|edge| {
        edge.what == EdgeKind::Interrupted && at.duration_since(edge.at).abs() < CLOSING
    })
}

fn place(turn: &mut Turn, at: Timestamp, what: EdgeKind) {
    let is_newer = |last: &Edge| last.at <= at || last.at.duration_since(at) > SET_BACK;
    if turn.edge.as_ref().is_none_or(is_newer) {
        turn.edge = Some(Edge { at, what });
    }
}

/// Claude's queue of messages. One may be taken into the running turn (`remove`), begin a turn of its own (`dequeue`; it
/// is counted by the message that follows), or go back into the input box with all others (`popAll`).
fn queue(turn: &mut Turn, at: Timestamp, operation: Option<&str>) {
    match operation {
        Some("enqueue") => turn.queued = turn.queued.saturating_add(1),
        Some("remove") => turn.queued = turn.queued.saturating_sub(1),
        Some("popAll") => turn.queued = 0,
        Some("dequeue") => {
            turn.queued = turn.queued.saturating_sub(1);
            place(turn, at, EdgeKind::Began);
        }
        _ => {}
    }
}

/// The beginning or end of a turn that a line tells of.
pub(crate) fn edge(dialect: Dialect, line: &Value) -> Option<EdgeKind> {
    match dialect {
        Dialect::Claude => claude(line),
        Dialect::Codex => codex(line),
        Dialect::Gemini => gemini(line),
    }
}

fn claude(line: &Value) -> Option<EdgeKind> {
    if line["isSidechain"] == true {
        return None;
    }
    match (line["type"].as_str()?, line["subtype"].as_str()) {
        ("user", _) if !line["interruptedMessageId"].is_null() => Some(EdgeKind::Interrupted),
        ("user", _) if line["origin"]["kind"] == "human" => Some(EdgeKind::Began),
        ("user", _) if says_interrupted(line) => Some(EdgeKind::Interrupted),
        ("system", Some("turn_duration")) => Some(EdgeKind::Done),
        ("assistant", _) if line["isApiErrorMessage"] == true => Some(claude_failure(line)),
        _ => None,
    }
}

fn says_interrupted(line: &Value) -> bool {
    let content = &line["message"]["content"];
    let said = content.as_str().or_else(|| content[0]["text"].as_str());
    said.is_some_and(|said| INTERRUPTED.contains(&said))
}

/// `error` is a broad word: an overload and a connection that failed are a `server_error` like any other.
fn claude_failure(line: &Value) -> EdgeKind {
    let by_status = line["apiErrorStatus"].as_i64().and_then(Failure::kind_of_status);
    let words = ["apiError", "error"].iter().find_map(|key| line[*key].as_str());
    failed(by_status.or(words), line["message"]["content"][0]["text"].as_str().unwrap_or_default())
}

fn codex(line: &Value) -> Option<EdgeKind> {
    if line["type"] != "event_msg" {
        return None;
    }
    let event = &line["payload"];
    match event["type"].as_str()? {
        "task_started" => Some(EdgeKind::Began),
        "turn_aborted" => Some(EdgeKind::Interrupted),
        "task_complete" if event["error"].is_null() => Some(EdgeKind::Done),
        "task_complete" => Some(codex_failure(&event["error"])),
        _ => None,
    }
}

/// The kind is a word, or an object with the word as its only key. A reply that codex does not know is `other`, with
/// the reply itself as its text: that has a word and a text of its own.
fn codex_failure(error: &Value) -> EdgeKind {
    let info = &error["codex_error_info"];
    let word = info.as_str().or_else(|| Some(info.as_object()?.keys().next()?.as_str()));
    let status = info.as_object().and_then(|o| o.values().next()?["http_status_code"].as_i64());
    let message = error["message"].as_str().unwrap_or_default();
    let reply: Value = serde_json::from_str(message).unwrap_or_default();
    let told = ["code", "type"].iter().find_map(|key| reply["error"][*key].as_str());
    let kind = status.and_then(Failure::kind_of_status).or(told).or(word);
    failed(kind, reply["error"]["message"].as_str().unwrap_or(message))
}

fn failed(kind: Option<&str>, text: &str) -> EdgeKind {
    EdgeKind::Failed(Failure {
        kind: shortened(kind.unwrap_or("unknown"), MAX_TEXT),
        text: shortened(text, MAX_TEXT),
        until: None,
    })
}

fn gemini(line: &Value) -> Option<EdgeKind> {
    match line["type"].as_str()? {
        "user" if line["content"][0]["text"].is_string() => Some(EdgeKind::Began),
        "error" => Some(failed(None, line["content"].as_str().unwrap_or_default())),
        // A reply that calls no tool is the end of the turn.
        "gemini" if line["toolCalls"].as_array().is_none_or(Vec::is_empty) => Some(EdgeKind::Done),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(dialect: Dialect, lines: &[&str]) -> (Option<EdgeKind>, u32) {
        let text: Vec<String> = (0..)
            .zip(lines)
            .map(|(n, line)| format!(r#"{{"timestamp":"2026-11-15T08:00:{n:02}Z",{line}}}"#))
            .collect();
        let turn = fold(dialect, &text.join("\n"));
        (turn.edge.map(|e| e.what), turn.turns_done)
    }

    #[test]
    fn claude_turns() {
        let began = r#""type":"user","origin":{"kind":"human"},"message":{"content":"x"}"#;
        let done = r#""type":"system","subtype":"turn_duration""#;
        let error = r#""type":"assistant","isApiErrorMessage":true,"error":"rate_limit","message":{"content":[{"text":"429"}]}"#;
        let interrupted = r#""type":"user","interruptedMessageId":"m","message":{"content":[]}"#;
        assert_eq!(last(Dialect::Claude, &[began]), (Some(EdgeKind::Began), 0));
        assert_eq!(last(Dialect::Claude, &[began, done]), (Some(EdgeKind::Done), 1));
        assert_eq!(last(Dialect::Claude, &[began, interrupted]), (Some(EdgeKind::Interrupted), 0));
        let rejected = r#""type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}"#;
        assert_eq!(
            last(Dialect::Claude, &[began, rejected, done]),
            (Some(EdgeKind::Interrupted), 0),
            "not hidden by the turn's end"
        );
        assert_eq!(
            last(Dialect::Claude, &[began, rejected, done, began, done]),
            (Some(EdgeKind::Done), 1)
        );
        let typed = r#""type":"user","origin":{"kind":"human"},"message":{"content":"[Request interrupted by user]"}"#;
        assert_eq!(last(Dialect::Claude, &[typed]), (Some(EdgeKind::Began), 0));
        let (edge, _) = last(Dialect::Claude, &[began, error, done]);
        assert!(
            matches!(edge, Some(EdgeKind::Failed(f)) if f.is_limit()),
            "not hidden by the turn's end"
        );
        let kind = |more: &str| {
            let line = format!(r#""type":"assistant","isApiErrorMessage":true,{more}"#);
            match last(Dialect::Claude, &[began, &line, done]).0 {
                Some(EdgeKind::Failed(failure)) => failure.kind,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(kind(r#""error":"server_error","apiErrorStatus":529"#), "overloaded");
        assert_eq!(kind(r#""error":"server_error","apiErrorStatus":500"#), "server_error");
        let refused = r#""error":"server_error","apiError":"connection_failed""#;
        assert_eq!(kind(refused), "connection_failed");
        let (edge, _) = last(Dialect::Claude, &[began, error, done, began, done]);
        assert_eq!(edge, Some(EdgeKind::Done), "a later turn counts");
    }

    #[test]
    fn queued_messages() {
        let line = |operation: &&str| {
            format!(
                r#"{{"timestamp":"2026-11-15T08:00:00Z","type":"queue-operation","operation":"{operation}"}}"#
            )
        };
        let after = |operations: &[&str]| {
            let lines: Vec<String> = operations.iter().map(line).collect();
            let turn = fold(Dialect::Claude, &lines.join("\n"));
            (turn.queued, turn.edge.map(|e| e.what))
        };
        assert_eq!(after(&["enqueue", "enqueue"]), (2, None));
        assert_eq!(after(&["enqueue", "dequeue"]), (0, Some(EdgeKind::Began)));
        assert_eq!(after(&["enqueue", "remove", "remove"]), (0, None), "taken into the turn");
        assert_eq!(after(&["enqueue", "enqueue", "popAll", "new"]), (0, None));
    }

    #[test]
    fn codex_turns() {
        let event = |text: &str| format!(r#""type":"event_msg","payload":{text}"#);
        let began = event(r#"{"type":"task_started"}"#);
        let done = event(r#"{"type":"task_complete"}"#);
        let limit = event(
            r#"{"type":"task_complete","error":{"message":"m","codex_error_info":{"x":{"http_status_code":429}}}}"#,
        );
        let full = event(
            r#"{"type":"task_complete","error":{"message":"m","codex_error_info":"context_window_exceeded"}}"#,
        );
        assert_eq!(last(Dialect::Codex, &[&began]).0, Some(EdgeKind::Began));
        assert_eq!(last(Dialect::Codex, &[&began, &done]), (Some(EdgeKind::Done), 1));
        let (edge, _) = last(Dialect::Codex, &[&began, &limit]);
        assert!(matches!(edge, Some(EdgeKind::Failed(f)) if f.is_limit()));
        let (edge, _) = last(Dialect::Codex, &[&began, &full]);
        assert!(matches!(edge, Some(EdgeKind::Failed(f)) if f.kind == "context_window_exceeded"));
        let reply = event(
            r#"{"type":"task_complete","error":{"message":"{\"error\":{\"message\":\"Too big.\",\"type\":\"t\",\"code\":\"context_length_exceeded\"}}","codex_error_info":"other"}}"#,
        );
        let (edge, _) = last(Dialect::Codex, &[&began, &reply]);
        let told = |f: &Failure| f.kind == "context_length_exceeded" && f.text == "Too big.";
        assert!(matches!(&edge, Some(EdgeKind::Failed(f)) if told(f)), "{edge:?}");
    }

    #[test]
    fn out_of_order_and_after_a_clock_was_set_back() {
        let line = |time: &str, what: &str| {
            format!(
                r#"{{"timestamp":"2026-11-15T{time}Z","type":"event_msg","payload":{{"type":"{what}"}}}}"#
            )
        };
        let edge = |lines: &[String]| fold(Dialect::Codex, &lines.join("\n")).edge.map(|e| e.what);
        let done = line("12:00:00", "task_complete");
        let late = line("11:59:59", "task_started");
        assert_eq!(edge(&[done.clone(), late]), Some(EdgeKind::Done), "written late");
        let next = line("11:00:00", "task_started");
        assert_eq!(edge(&[done, next]), Some(EdgeKind::Began), "an hour earlier");
    }

    #[test]
    fn a_failure_has_a_short_text() {
        let long = "é".repeat(1 << 20);
        let error = format!(r#""type":"error","content":"{long}""#);
        let (edge, _) = last(Dialect::Gemini, &[&error]);
        let Some(EdgeKind::Failed(failure)) = edge else { panic!("no failure") };
        assert_eq!(failure.text.chars().count(), MAX_TEXT + 1);
    }

    #[test]
    fn lines_that_are_no_edge_tell_the_time() {
        let line = r#"{"type":"assistant","message":{"timestamp":"2020-01-01T00:00:00Z"},"timestamp":"2026-11-15T08:00:00Z"}"#;
        for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Gemini] {
            let turn = fold(dialect, line);
            assert_eq!((turn.edge, turn.last), (None, "2026-11-15T08:00:00Z".parse().ok()));
        }
        let nested = r#"{"type":"x","snapshot":{"timestamp":"2020-01-01T00:00:00Z"}}"#;
        assert_eq!(fold(Dialect::Claude, nested).last, None);
    }

    #[test]
    fn rubbish_is_passed_over() {
        for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Gemini] {
            let text = "\0\n[[[[\n{\"timestamp\":7}\n{\"timestamp\":\"2026-11-15T08:00:00Z\",\"type\":[]}\n{\"time";
            assert_eq!(fold(dialect, text).edge, None);
        }
    }
}
