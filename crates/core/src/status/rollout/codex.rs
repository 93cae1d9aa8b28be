//! Lines of codex's rollouts, as versions 0.80 to 0.166 write them.
//!
//! | version | beginning | end | failure |
//! | --- | --- | --- | --- |
//! | 0.80 | the message | the model's answer, and then its tokens | nothing |
//! | 0.101 to 0.144 | `task_started` | `task_complete` | a `task_complete` without a last message |
//! | from 0.150 | `task_started` | `task_complete` | `error` in it |

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::super::evidence::{EdgeKind, Failure};
use super::{Glance, Line, failed};

/// `None` if the line is not as expected, or is one of the few whose details count.
pub(super) fn glance(text: &str) -> Option<Glance<'_>> {
    let Brief { timestamp, r#type, payload } = serde_json::from_str(text).ok()?;
    let kind = payload.and_then(|payload| payload.r#type).unwrap_or_default();
    let has_details = matches!(kind.as_ref(), "task_complete" | "turn_complete" | "token_count");
    if has_details && r#type == "event_msg" {
        return None;
    }
    Some(Glance { timestamp, line: line_of(&r#type, &kind, &Value::Null) })
}

#[derive(Deserialize)]
struct Brief<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    payload: Option<BriefPayload<'a>>,
}

#[derive(Deserialize)]
struct BriefPayload<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
}

pub(super) fn line(line: &Value) -> Option<Line> {
    let payload = &line["payload"];
    line_of(line["type"].as_str()?, payload["type"].as_str()?, payload)
}

fn line_of(r#type: &str, kind: &str, payload: &Value) -> Option<Line> {
    match (r#type, kind) {
        ("event_msg", event) => event_line(event, payload),
        ("response_item", "function_call" | "custom_tool_call" | "local_shell_call") => {
            Some(Line::Called)
        }
        ("response_item", "function_call_output" | "custom_tool_call_output") => {
            Some(Line::Returned)
        }
        _ => None,
    }
}

fn event_line(name: &str, event: &Value) -> Option<Line> {
    match name {
        "task_started" | "turn_started" => Some(Line::Told(EdgeKind::Began)),
        "turn_aborted" => Some(Line::Told(EdgeKind::Interrupted)),
        "task_complete" | "turn_complete" => Some(completed(event)),
        "user_message" => Some(Line::Asked),
        "agent_message" => Some(Line::Said { last: false }),
        // The one at the beginning of an answer has limits, the one at its end tokens as well.
        "entered_review_mode" => Some(Line::Aside),
        "token_count" if !event["info"].is_null() => Some(Line::Answered),
        _ => None,
    }
}

fn completed(event: &Value) -> Line {
    if !event["error"].is_null() {
        return failure(&event["error"]);
    }
    // One that says nothing of a last message is of a version that does not tell.
    let is_unanswered = event.get("last_agent_message").is_some_and(Value::is_null);
    Line::Told(if is_unanswered { EdgeKind::Unanswered } else { EdgeKind::Done })
}

/// The kind is a word, or an object with the word as its only key. A reply that codex does not know is `other`, with
/// the reply itself as its text: that has a word and a text of its own.
fn failure(error: &Value) -> Line {
    let info = &error["codex_error_info"];
    let word = info.as_str().or_else(|| Some(info.as_object()?.keys().next()?.as_str()));
    let status = info.as_object().and_then(|o| o.values().next()?["http_status_code"].as_i64());
    let message = error["message"].as_str().unwrap_or_default();
    let reply: Value = serde_json::from_str(message).unwrap_or_default();
    let told = ["code", "type"].iter().find_map(|key| reply["error"][*key].as_str());
    let kind = status.and_then(Failure::kind_of_status).or(told).or(word);
    failed(kind, reply["error"]["message"].as_str().unwrap_or(message))
}
