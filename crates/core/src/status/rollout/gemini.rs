use serde_json::Value;

use super::super::evidence::EdgeKind;
use super::{Line, failed};

pub(super) fn line(line: &Value) -> Option<Line> {
    match line["type"].as_str()? {
        "user" if line["content"][0]["text"].is_string() => Some(Line::Told(EdgeKind::Began)),
        "error" => Some(failed(None, line["content"].as_str().unwrap_or_default())),
        // A reply that calls no tool ends the turn, most likely: it may be written again, with its calls.
        "gemini" if line["toolCalls"].as_array().is_none_or(Vec::is_empty) => {
            Some(Line::Said { last: true })
        }
        "gemini" => Some(Line::Called),
        _ => None,
    }
}
