//! Anthropic Messages: `POST /v1/messages`.

use serde_json::{Value, json};

use super::{Dialect, list, text, texts};
use crate::facts::{Facts, OfferedTool, Thread};
use crate::reply::{Beat, Mint, Part, Refusal, Reply, Score, Tokens, ToolCall};
use crate::scenario::{ErrorKind, Failure, Speech};

#[derive(Debug)]
pub(super) struct Anthropic;

/// Clients only hand it back, so any base64 does.
const SIGNATURE: &str = "ZG91Ymxl";

impl Dialect for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn facts(&self, _path: &str, body: &Value) -> Facts {
        let mut thread = Thread::default();
        for message in list(body, "messages") {
            match text(message, "role") {
                "assistant" => thread.model_item(),
                // Results of tools have no text of their own at this level, so a message that
                // holds only results counts as nothing said.
                "user" => thread.user_message(texts(&message["content"])),
                _ => thread.other_item(),
            }
        }
        let tools: Vec<OfferedTool> = list(body, "tools")
            .iter()
            .map(|tool| OfferedTool::function(text(tool, "name")))
            .collect();
        Facts {
            model: text(body, "model").to_owned(),
            streaming: body["stream"] == true,
            side: tools.is_empty() || body["output_config"]["format"]["type"] == "json_schema",
            tools,
            conversation: text(&body["metadata"], "user_id").to_owned(),
            thread,
        }
    }

    fn stream(&self, facts: &Facts, reply: &Reply, mint: &mut Mint) -> Vec<Beat> {
        let mut blocks = Blocks::default();
        let mut message = envelope(facts, mint);
        message["usage"] = usage(Tokens { output: 1, ..reply.tokens });
        blocks.event(json!({ "type": "message_start", "message": message }));
        blocks.event(json!({ "type": "ping" }));
        for part in &reply.parts {
            match part {
                Part::Text(speech) => {
                    blocks.open(json!({ "type": "text", "text": "" }));
                    blocks.speak(speech, "text_delta", "text");
                    blocks.close();
                }
                Part::Thinking(speech) => {
                    blocks.open(json!({ "type": "thinking", "thinking": "", "signature": "" }));
                    blocks.speak(speech, "thinking_delta", "thinking");
                    blocks.delta(json!({ "type": "signature_delta", "signature": SIGNATURE }));
                    blocks.close();
                }
                Part::Call(call) => {
                    blocks.open(tool_use(call, json!({}), mint));
                    let arguments = call.arguments().to_string();
                    blocks.delta(json!({ "type": "input_json_delta", "partial_json": arguments }));
                    blocks.close();
                }
                Part::Pause(pause) => blocks.score.pause(pause),
                Part::Fail(failure) => {
                    blocks.event(error(failure));
                    return blocks.score.finish();
                }
                Part::Cut => {
                    blocks.score.cut();
                    return blocks.score.finish();
                }
            }
        }
        let delta = json!({ "stop_reason": stop_reason(reply), "stop_sequence": null });
        let usage = usage(reply.tokens);
        blocks.event(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
        blocks.event(json!({ "type": "message_stop" }));
        blocks.score.finish()
    }

    fn whole(&self, facts: &Facts, reply: &Reply, mint: &mut Mint) -> Value {
        let mut message = envelope(facts, mint);
        message["content"] = reply
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(speech) => Some(json!({ "type": "text", "text": speech.text })),
                Part::Thinking(speech) => Some(json!({
                    "type": "thinking", "thinking": speech.text, "signature": SIGNATURE,
                })),
                Part::Call(call) => Some(tool_use(call, call.arguments(), mint)),
                Part::Pause(_) | Part::Fail(_) | Part::Cut => None,
            })
            .collect();
        message["stop_reason"] = stop_reason(reply).into();
        message["usage"] = usage(reply.tokens);
        message
    }

    fn refusal(&self, failure: &Failure, now: u64) -> Refusal {
        let mut headers = failure.retry_after_header();
        headers.push(("x-should-retry", passes_by_itself(failure.kind).to_string()));
        if failure.kind == ErrorKind::UsageLimit {
            let reset = (now + failure.resets_in()).to_string();
            headers.extend([
                ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
                ("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned()),
                ("anthropic-ratelimit-unified-5h-status", "rejected".to_owned()),
                ("anthropic-ratelimit-unified-5h-reset", reset.clone()),
                ("anthropic-ratelimit-unified-reset", reset),
            ]);
        }
        let status = match failure.kind {
            ErrorKind::Overloaded => 529,
            other => other.common_status(),
        };
        Refusal { status, headers, body: error(failure) }
    }
}

/// Whether the API tells clients to try again; they obey, whatever the status.
fn passes_by_itself(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::RateLimit | ErrorKind::Overloaded | ErrorKind::ServerError => true,
        ErrorKind::UsageLimit
        | ErrorKind::PromptTooLong
        | ErrorKind::NoCredit
        | ErrorKind::Unauthorized
        | ErrorKind::Forbidden => false,
    }
}

/// Numbers the content blocks of a message.
#[derive(Default)]
struct Blocks {
    score: Score,
    index: usize,
}

impl Blocks {
    /// In this protocol the event's name is always its type.
    fn event(&mut self, data: Value) {
        self.score.event(text(&data, "type"), &data);
    }

    fn open(&mut self, block: Value) {
        self.event(
            json!({ "type": "content_block_start", "index": self.index, "content_block": block }),
        );
    }

    fn delta(&mut self, delta: Value) {
        self.event(json!({ "type": "content_block_delta", "index": self.index, "delta": delta }));
    }

    fn speak(&mut self, speech: &Speech, delta: &str, key: &str) {
        for piece in speech.pieces() {
            self.delta(json!({ "type": delta, key: piece }));
            self.score.rest(speech);
        }
    }

    fn close(&mut self) {
        self.event(json!({ "type": "content_block_stop", "index": self.index }));
        self.index += 1;
    }
}

fn envelope(facts: &Facts, mint: &mut Mint) -> Value {
    json!({
        "id": mint.id("msg"), "type": "message", "role": "assistant", "model": facts.model,
        "content": [], "stop_reason": null, "stop_sequence": null,
    })
}

fn tool_use(call: &ToolCall, input: Value, mint: &mut Mint) -> Value {
    json!({ "type": "tool_use", "id": mint.id("toolu"), "name": call.name, "input": input })
}

fn stop_reason(reply: &Reply) -> &'static str {
    if reply.has_calls() { "tool_use" } else { "end_turn" }
}

fn usage(tokens: Tokens) -> Value {
    json!({
        "input_tokens": tokens.input, "output_tokens": tokens.output,
        "cache_read_input_tokens": tokens.cached, "cache_creation_input_tokens": tokens.written,
    })
}

fn error(failure: &Failure) -> Value {
    let (kind, message) = match failure.kind {
        ErrorKind::RateLimit => {
            ("rate_limit_error", "This request would exceed your organization's rate limit.")
        }
        ErrorKind::UsageLimit => ("rate_limit_error", "You have reached your usage limit."),
        ErrorKind::Overloaded => ("overloaded_error", "Overloaded"),
        ErrorKind::ServerError => ("api_error", "Internal server error"),
        ErrorKind::PromptTooLong => {
            ("invalid_request_error", "prompt is too long: 214523 tokens > 200000 maximum")
        }
        ErrorKind::NoCredit => {
            ("invalid_request_error", "Your credit balance is too low to access the Anthropic API.")
        }
        ErrorKind::Unauthorized => ("authentication_error", "invalid x-api-key"),
        ErrorKind::Forbidden => ("permission_error", "Your account has no access."),
    };
    let message = failure.message_or(message);
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}
