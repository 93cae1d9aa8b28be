//! Lines of claude's transcripts, as versions 2.0.1 to 2.1.325 write them.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::super::evidence::{EdgeKind, Failure};
use super::{Line, failed};

/// What claude writes in the person's name when a turn was cut short, the second when a permission denied.
const INTERRUPTED: [&str; 2] =
    ["[Request interrupted by user]", "[Request interrupted by user for tool use]"];
/// From here on it says of what a person typed that a person typed it.
const TELLS_ORIGIN: [u64; 3] = [2, 1, 220];
/// What it puts around texts in the person's name that are no prompts.
const WRAPPERS: [&str; 7] = [
    "<command-",
    "<local-command-",
    "<bash-",
    "<user-memory-",
    "<task-notification",
    "<system-reminder",
    "<ide_",
];
/// Words of `stop_reason` after which the model goes on when it was given what it wants.
const GOES_ON: [&str; 2] = ["tool_use", "pause_turn"];

/// `None` if the line may tell something, or is not as expected.
pub(super) fn time_of_no_edge(text: &str) -> Option<Cow<'_, str>> {
    let line: Brief = serde_json::from_str(text).ok()?;
    let may_tell = matches!(line.r#type.as_ref(), "user" | "assistant")
        || line.subtype.is_some()
        || line.operation.is_some();
    (!may_tell).then_some(line.timestamp)
}

/// What tells a line of a turn from the others.
#[derive(Deserialize)]
struct Brief<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    subtype: Option<IgnoredAny>,
    operation: Option<IgnoredAny>,
}

pub(super) fn line(line: &Value) -> Option<Line> {
    if line["isSidechain"] == true {
        return None;
    }
    match (line["type"].as_str()?, line["subtype"].as_str()) {
        ("user", _) => of_person(line),
        ("assistant", _) => of_agent(line),
        ("system", Some("turn_duration")) => Some(Line::Told(EdgeKind::Done)),
        _ => None,
    }
}

fn of_person(line: &Value) -> Option<Line> {
    if !line["interruptedMessageId"].is_null() {
        return Some(Line::Told(EdgeKind::Interrupted));
    }
    if line["origin"]["kind"] == "human" {
        return Some(Line::Told(EdgeKind::Began));
    }
    let content = &line["message"]["content"];
    let said = content.as_str().or_else(|| content[0]["text"].as_str());
    match said {
        Some(said) if INTERRUPTED.contains(&said) => Some(Line::Told(EdgeKind::Interrupted)),
        Some(said) => is_prompt(line, said).then_some(Line::Asked),
        None => has_part(content, "tool_result").then_some(Line::Returned),
    }
}

/// Whether a person typed this, in a version that does not say so.
fn is_prompt(line: &Value, said: &str) -> bool {
    let is_own = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"];
    let wrapped = said.trim_start();
    line["origin"].is_null()
        && !tells_origin(line["version"].as_str().unwrap_or_default())
        && is_own.iter().all(|key| line[*key] != true)
        && !WRAPPERS.iter().any(|wrapper| wrapped.starts_with(wrapper))
}

fn tells_origin(version: &str) -> bool {
    let parts: Vec<u64> = version.split('.').map_while(|part| part.parse().ok()).collect();
    parts.as_slice() >= TELLS_ORIGIN.as_slice()
}

fn of_agent(line: &Value) -> Option<Line> {
    if line["isApiErrorMessage"] == true {
        return Some(failure(line));
    }
    let message = &line["message"];
    // It speaks in the model's name to keep a conversation in order.
    if message["model"] == "<synthetic>" {
        return None;
    }
    if has_part(&message["content"], "tool_use") {
        return Some(Line::Called);
    }
    let last = message["stop_reason"].as_str().is_some_and(|why| !GOES_ON.contains(&why));
    let has_words =
        has_part(&message["content"], "text") || has_part(&message["content"], "thinking");
    has_words.then_some(Line::Said { last })
}

fn has_part(content: &Value, kind: &str) -> bool {
    content.as_array().is_some_and(|parts| parts.iter().any(|part| part["type"] == kind))
}

/// `error` is a broad word: an overload and a connection that failed are a `server_error` like any other. Before 2.1.84 it
/// is `unknown` most often, and the status is in the text.
fn failure(line: &Value) -> Line {
    let text = line["message"]["content"][0]["text"].as_str().unwrap_or_default();
    let by_status = line["apiErrorStatus"].as_i64().and_then(Failure::kind_of_status);
    let words = ["apiError", "error"].iter().find_map(|key| line[*key].as_str());
    let word = words.filter(|word| *word != "unknown");
    failed(by_status.or(word).or_else(|| Failure::kind_of_text(text)), text)
}
