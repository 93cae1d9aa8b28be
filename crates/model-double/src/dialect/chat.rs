//! OpenAI chat completions: `POST /v1/chat/completions`.

use serde_json::{Value, json};

use super::{Dialect, list, openai_error, text, texts};
use crate::facts::{Facts, OfferedTool, Thread};
use crate::reply::{Beat, Mint, Part, Refusal, Reply, Score, Tokens, ToolCall};
use crate::scenario::{Failure, Speech};

#[derive(Debug)]
pub(super) struct Chat;

impl Dialect for Chat {
    fn name(&self) -> &'static str {
        "chat"
    }

    fn facts(&self, _path: &str, body: &Value) -> Facts {
        let mut thread = Thread::default();
        for message in list(body, "messages") {
            match text(message, "role") {
                "assistant" => thread.model_item(),
                "user" => thread.user_message(texts(&message["content"])),
                _ => thread.other_item(),
            }
        }
        let tools: Vec<OfferedTool> = list(body, "tools")
            .iter()
            .map(|tool| OfferedTool::function(text(&tool["function"], "name")))
            .collect();
        Facts {
            model: text(body, "model").to_owned(),
            streaming: body["stream"] == true,
            side: tools.is_empty() || body["response_format"]["type"] == "json_schema",
            tools,
            conversation: text(body, "user").to_owned(),
            thread,
        }
    }

    fn stream(&self, facts: &Facts, reply: &Reply, mint: &mut Mint) -> Vec<Beat> {
        let mut chunks = Chunks {
            score: Score::default(),
            head: envelope("chat.completion.chunk", facts, mint),
        };
        chunks.delta(json!({ "role": "assistant", "content": "" }), None);
        let mut calls = 0;
        for part in &reply.parts {
            match part {
                Part::Text(speech) => chunks.speak(speech, "content"),
                Part::Thinking(speech) => chunks.speak(speech, "reasoning_content"),
                Part::Call(call) => {
                    let mut call = tool_call(call, mint);
                    call["index"] = calls.into();
                    calls += 1;
                    chunks.delta(json!({ "tool_calls": [call] }), None);
                }
                Part::Pause(pause) => chunks.score.pause(pause),
                Part::Fail(failure) => {
                    chunks.score.data(openai_error::document(failure, mint.now));
                    return chunks.score.finish();
                }
                Part::Cut => {
                    chunks.score.cut();
                    return chunks.score.finish();
                }
            }
        }
        chunks.delta(json!({}), Some(finish_reason(reply)));
        chunks.head["choices"] = json!([]);
        chunks.head["usage"] = usage(reply.tokens);
        chunks.score.data(&chunks.head);
        chunks.score.data("[DONE]");
        chunks.score.finish()
    }

    fn whole(&self, facts: &Facts, reply: &Reply, mint: &mut Mint) -> Value {
        let mut message = json!({ "role": "assistant", "content": reply.text() });
        if reply.has_calls() {
            message["tool_calls"] = reply.calls().map(|call| tool_call(call, mint)).collect();
        }
        let mut completion = envelope("chat.completion", facts, mint);
        completion["choices"] =
            json!([{ "index": 0, "message": message, "finish_reason": finish_reason(reply) }]);
        completion["usage"] = usage(reply.tokens);
        completion
    }

    fn refusal(&self, failure: &Failure, now: u64) -> Refusal {
        Refusal {
            status: failure.kind.common_status(),
            headers: failure.retry_after_header(),
            body: openai_error::document(failure, now),
        }
    }
}

struct Chunks {
    score: Score,
    head: Value,
}

impl Chunks {
    fn delta(&mut self, delta: Value, finish: Option<&str>) {
        let mut chunk = self.head.clone();
        chunk["choices"] = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        self.score.data(&chunk);
    }

    fn speak(&mut self, speech: &Speech, key: &str) {
        for piece in speech.pieces() {
            self.delta(json!({ key: piece }), None);
            self.score.rest(speech);
        }
    }
}

fn envelope(object: &str, facts: &Facts, mint: &mut Mint) -> Value {
    json!({
        "id": mint.id("chatcmpl"), "object": object, "created": mint.now, "model": facts.model,
    })
}

fn tool_call(call: &ToolCall, mint: &mut Mint) -> Value {
    let function = json!({ "name": call.name, "arguments": call.arguments().to_string() });
    json!({ "id": mint.id("call"), "type": "function", "function": function })
}

fn finish_reason(reply: &Reply) -> &'static str {
    if reply.has_calls() { "tool_calls" } else { "stop" }
}

fn usage(tokens: Tokens) -> Value {
    json!({
        "prompt_tokens": tokens.input, "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": { "cached_tokens": tokens.cached },
    })
}
