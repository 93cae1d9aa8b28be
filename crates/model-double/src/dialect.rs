//! The protocols: how each puts a request and a reply.

mod anthropic;
mod chat;
mod gemini;
mod openai_error;
mod responses;

use std::fmt;

use serde_json::Value;

use crate::facts::Facts;
use crate::reply::{Beat, Mint, Refusal, Reply};
use crate::scenario::Failure;

/// One protocol. Pure: JSON in, JSON and text out.
pub trait Dialect: fmt::Debug + Sync {
    fn name(&self) -> &'static str;

    /// Reads a request. Nothing in it is required: what is absent counts as empty.
    fn facts(&self, path: &str, body: &Value) -> Facts;

    /// A reply as a stream of events.
    fn stream(&self, facts: &Facts, reply: &Reply, mint: &mut Mint) -> Vec<Beat>;

    /// A reply as one document; pauses and failures are not its business.
    fn whole(&self, facts: &Facts, reply: &Reply, mint: &mut Mint) -> Value;

    /// An error in place of a reply; `now` is in seconds since 1970.
    fn refusal(&self, failure: &Failure, now: u64) -> Refusal;
}

/// The protocol spoken at a path (without its query).
pub fn at(path: &str) -> Option<&'static dyn Dialect> {
    let last = path.rsplit('/').next().unwrap_or(path);
    match last {
        "messages" => Some(&anthropic::Anthropic),
        "responses" => Some(&responses::Responses),
        "completions" if path.ends_with("/chat/completions") => Some(&chat::Chat),
        _ if last.ends_with(":generateContent") || last.ends_with(":streamGenerateContent") => {
            Some(&gemini::Gemini)
        }
        _ => None,
    }
}

/// The list at a key, empty when absent.
fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// The text at a key, empty when absent.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The texts of a message's content: a plain string, or parts of which some have a text.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
