//! The tool calls in the lines of a transcript.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::fingerprint;
use super::input::{Input, Output};
use crate::transcript::Dialect;

/// What a line tells of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A person said something.
    Message,
    Called {
        id: u64,
        at: Timestamp,
        tool: String,
        input: Input,
    },
    Answered {
        id: u64,
        output: Output,
    },
}

/// What one line tells of tools and messages. Most lines tell of neither: they are not read as JSON.
pub(super) fn heard(dialect: Dialect, line: &str, tell: impl FnMut(Heard)) -> Option<()> {
    match dialect {
        Dialect::Claude => claude(line, tell),
        Dialect::Codex => codex(line, tell),
        Dialect::Gemini => gemini(line, tell),
    }
}

fn has_any(line: &str, words: &[&str]) -> bool {
    words.iter().any(|word| line.contains(word))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaudeLine<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_meta: bool,
    #[serde(borrow)]
    message: ClaudeMessage<'a>,
}

#[derive(Deserialize)]
struct ClaudeMessage<'a> {
    #[serde(borrow, default)]
    content: Parts<ClaudePart<'a>>,
}

#[derive(Deserialize)]
struct ClaudePart<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    input: Option<Input>,
    #[serde(borrow)]
    tool_use_id: Option<Cow<'a, str>>,
    content: Option<Output>,
    is_error: Option<bool>,
}

fn claude(line: &str, mut tell: impl FnMut(Heard)) -> Option<()> {
    if !has_any(line, &["\"tool_use\"", "\"user\""]) {
        return None;
    }
    let line: ClaudeLine = serde_json::from_str(line).ok()?;
    if line.is_sidechain {
        return None;
    }
    let is_user = line.r#type == "user";
    let mut is_message = is_user && !line.is_meta;
    for part in line.message.content.0 {
        match (part.r#type.as_ref(), part.id.or(part.tool_use_id), part.name) {
            ("tool_use", Some(id), Some(name)) => tell(Heard::Called {
                id: fingerprint::exact(&id),
                at: line.timestamp.parse().ok()?,
                tool: name.into_owned(),
                input: part.input.unwrap_or_default(),
            }),
            ("tool_result", Some(id), _) => {
                is_message = false;
                let mut output = part.content.unwrap_or_default();
                output.failed |= part.is_error == Some(true);
                tell(Heard::Answered { id: fingerprint::exact(&id), output });
            }
            _ => {}
        }
    }
    if is_message {
        tell(Heard::Message);
    }
    Some(())
}

#[derive(Deserialize)]
struct CodexLine<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    payload: CodexPayload<'a>,
}

#[derive(Deserialize)]
struct CodexPayload<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    call_id: Option<Cow<'a, str>>,
    /// Of a function, of a tool that takes a text, and of the shell of older versions.
    #[serde(alias = "input", alias = "action")]
    arguments: Option<Input>,
    output: Option<Output>,
}

fn codex(line: &str, mut tell: impl FnMut(Heard)) -> Option<()> {
    let kinds = ["_call\"", "_call_output\"", "\"user_message\"", "\"task_started\""];
    if !has_any(line, &kinds) {
        return None;
    }
    let line: CodexLine = serde_json::from_str(line).ok()?;
    let payload = line.payload;
    match (payload.r#type.as_ref(), payload.call_id) {
        ("user_message" | "task_started", _) => tell(Heard::Message),
        ("function_call" | "custom_tool_call" | "local_shell_call", Some(id)) => {
            tell(Heard::Called {
                id: fingerprint::exact(&id),
                at: line.timestamp.parse().ok()?,
                tool: payload.name.map_or_else(|| "shell".to_owned(), Cow::into_owned),
                input: payload.arguments.unwrap_or_default(),
            });
        }
        ("function_call_output" | "custom_tool_call_output", Some(id)) => {
            let output = payload.output.unwrap_or_default();
            tell(Heard::Answered { id: fingerprint::exact(&id), output });
        }
        _ => {}
    }
    Some(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiLine<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(default)]
    content: Parts<GeminiPart>,
    #[serde(borrow, default)]
    tool_calls: Vec<GeminiCall<'a>>,
}

#[derive(Deserialize)]
struct GeminiPart {
    text: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct GeminiCall<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    args: Option<Input>,
    result: Option<Output>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
}

fn gemini(line: &str, mut tell: impl FnMut(Heard)) -> Option<()> {
    if !has_any(line, &["\"toolCalls\"", "\"user\""]) {
        return None;
    }
    let line: GeminiLine = serde_json::from_str(line).ok()?;
    let has_text = line.content.0.iter().any(|part| part.text.is_some());
    if line.r#type == "user" && (has_text || line.content.0.is_empty()) {
        tell(Heard::Message);
    }
    // A message is written again when its calls are done.
    for call in line.tool_calls {
        let id = fingerprint::exact(&call.id);
        tell(Heard::Called {
            id,
            at: line.timestamp.parse().ok()?,
            tool: call.name.into_owned(),
            input: call.args.unwrap_or_default(),
        });
        if let Some(mut output) = call.result {
            output.failed |= call.status.is_some_and(|status| status == "error");
            tell(Heard::Answered { id, output });
        }
    }
    Some(())
}

/// Parts of a message; none if it is a text.
struct Parts<T>(Vec<T>);

impl<T> Default for Parts<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Parts<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Any<T> {
            type Value = Parts<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of parts")
            }

            fn visit_str<E>(self, _: &str) -> Result<Parts<T>, E> {
                Ok(Parts::default())
            }

            fn visit_unit<E>(self) -> Result<Parts<T>, E> {
                Ok(Parts::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Parts<T>, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = seq.next_element()? {
                    parts.push(part);
                }
                Ok(Parts(parts))
            }
        }
        deserializer.deserialize_any(Any(std::marker::PhantomData))
    }
}
