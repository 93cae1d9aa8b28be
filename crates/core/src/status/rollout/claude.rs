//! Lines of claude's transcripts, as versions 2.0.1 to 2.1.325 write them.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::super::evidence::{EdgeKind, Failure};
use super::{Glance, Line, failed};

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
/// It speaks in the model's name to keep a conversation in order.
const SYNTHETIC: &str = "<synthetic>";
/// Words of `stop_reason` after which the model goes on when it was given what it wants.
const GOES_ON: [&str; 2] = ["tool_use", "pause_turn"];

/// `None` if the line is not as expected, or is one of the few whose text counts.
pub(super) fn glance(text: &str) -> Option<Glance<'_>> {
    let brief: Brief = serde_json::from_str(text).ok()?;
    let line = match brief.r#type.as_ref() {
        "user" | "assistant" if brief.is_sidechain == Some(true) => None,
        "user" => Some(brief.of_tool()?),
        "assistant" if brief.is_error == Some(true) => return None,
        "assistant" => of_model(brief.message.as_ref()?),
        _ if brief.subtype.is_some() || brief.operation.is_some() => return None,
        _ => None,
    };
    Some(Glance { timestamp: brief.timestamp, line })
}

/// What tells the lines of a turn apart. Only the text identifies an error of the model or what a person typed.
#[derive(Deserialize)]
struct Brief<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    subtype: Option<IgnoredAny>,
    operation: Option<IgnoredAny>,
    #[serde(rename = "isSidechain")]
    is_sidechain: Option<bool>,
    #[serde(rename = "isApiErrorMessage")]
    is_error: Option<bool>,
    #[serde(rename = "interruptedMessageId")]
    interrupted: Option<IgnoredAny>,
    origin: Option<IgnoredAny>,
    #[serde(borrow)]
    message: Option<BriefMessage<'a>>,
}

#[derive(Deserialize)]
struct BriefMessage<'a> {
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Vec<BriefPart<'a>>,
}

#[derive(Deserialize)]
struct BriefPart<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    text: Option<IgnoredAny>,
}

impl Brief<'_> {
    /// The result of a tool, the longest of all lines.
    fn of_tool(&self) -> Option<Line> {
        let content = &self.message.as_ref()?.content;
        let is_plain = self.interrupted.is_none() && self.origin.is_none();
        let has_text = content.first().is_none_or(|part| part.text.is_some());
        let is_result = content.iter().any(|part| part.r#type == "tool_result");
        (is_plain && !has_text && is_result).then_some(Line::Returned)
    }
}

/// What the model said or called, if anything.
fn of_model(message: &BriefMessage<'_>) -> Option<Line> {
    if message.model.as_deref() == Some(SYNTHETIC) {
        return None;
    }
    let has = |kind: &str| message.content.iter().any(|part| part.r#type == kind);
    said(has, message.stop_reason.as_deref())
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
    if message["model"] == SYNTHETIC {
        return None;
    }
    said(|kind| has_part(&message["content"], kind), message["stop_reason"].as_str())
}

/// What a message of the model tells, by the kinds of its parts.
fn said(has: impl Fn(&str) -> bool, stop_reason: Option<&str>) -> Option<Line> {
    if has("tool_use") {
        return Some(Line::Called);
    }
    let last = stop_reason.is_some_and(|why| !GOES_ON.contains(&why));
    (has("text") || has("thinking")).then_some(Line::Said { last })
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
