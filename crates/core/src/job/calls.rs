//! What became of the tools that an agent called in a turn: whether a person stopped it there.

use std::collections::HashMap;

use serde_json::Value;

use super::TurnEnd;
use crate::transcript::{self, Dialect};

/// Calls of one turn as far as they have come.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// What was called, by the id of the call.
    named: HashMap<String, String>,
    stopped: Option<TurnEnd>,
}

impl Calls {
    /// The agent went on after whatever a person refused.
    pub(super) fn went_on(&mut self) {
        self.stopped = None;
    }

    /// How a person stopped the turn, if that was the last that happened in it.
    pub(super) fn stopped_by(&self) -> Option<TurnEnd> {
        self.stopped.clone()
    }

    pub(super) fn take_in(&mut self, dialect: Dialect, line: &Value) {
        match dialect {
            Dialect::Claude if line["isSidechain"] != true => self.claude(line),
            Dialect::Codex if line["type"] == "response_item" => self.codex(&line["payload"]),
            // Its transcript does not tell.
            Dialect::Claude | Dialect::Codex | Dialect::Gemini => {}
        }
    }

    fn claude(&mut self, line: &Value) {
        let parts = line["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        for part in parts {
            match part["type"].as_str() {
                Some("tool_use") => {
                    self.went_on();
                    self.call(&part["id"], part["name"].as_str(), &part["input"]);
                }
                Some("tool_result") if was_refused(line, part) => {
                    self.stopped = Some(TurnEnd::Refused(self.what(&part["tool_use_id"])));
                }
                _ => {}
            }
        }
    }

    fn codex(&mut self, item: &Value) {
        match item["type"].as_str() {
            Some("function_call") => {
                self.went_on();
                let input = item["arguments"].as_str().unwrap_or_default();
                let input = serde_json::from_str(input).unwrap_or(Value::Null);
                self.call(&item["call_id"], item["name"].as_str(), &input);
            }
            Some("custom_tool_call") => {
                self.went_on();
                self.call(&item["call_id"], item["name"].as_str(), &Value::Null);
            }
            Some("function_call_output" | "custom_tool_call_output") => {
                let output = &item["output"];
                let text = output.as_str().or_else(|| output["content"].as_str());
                let what = || self.what(&item["call_id"]);
                let stopped = match text.unwrap_or_default() {
                    text if text.contains("rejected by user") => TurnEnd::Refused(what()),
                    text if text.starts_with("aborted by user") => TurnEnd::Interrupted(what()),
                    _ => return,
                };
                self.stopped = Some(stopped);
            }
            _ => {}
        }
    }

    fn call(&mut self, id: &Value, name: Option<&str>, input: &Value) {
        if let (Some(id), Some(entry)) =
            (id.as_str(), transcript::tool(name.unwrap_or("tool"), input))
        {
            self.named.insert(id.to_owned(), entry.text);
        }
    }

    fn what(&self, id: &Value) -> Option<String> {
        self.named.get(id.as_str()?).cloned()
    }
}

/// claude 2.1.325 says so in a field of its own, older ones in the result.
fn was_refused(line: &Value, result: &Value) -> bool {
    let words = "The user doesn't want to proceed with this tool use.";
    let said = result["content"].as_str().or_else(|| result["content"][0]["text"].as_str());
    line["toolDenialKind"] == "user-rejected"
        || line["toolUseResult"] == "User rejected tool use"
        || (result["is_error"] == true && said.is_some_and(|said| said.starts_with(words)))
}
