//! OpenAI Responses: `POST /v1/responses`.

use serde_json::{Value, json};

use super::openai_error::{code_and_message, document};
use super::{Dialect, list, text, texts};
use crate::facts::{Facts, OfferedTool, Thread};
use crate::reply::{Beat, Mint, Part, Refusal, Reply, Score, Tokens, ToolCall, ToolInput};
use crate::scenario::{Failure, Speech};

#[derive(Debug)]
pub(super) struct Responses;

impl Dialect for Responses {
    fn name(&self) -> &'static str {
        "responses"
    }

    fn facts(&self, _path: &str, body: &Value) -> Facts {
        let mut thread = Thread::default();
        let mut tools = offered(list(body, "tools"), None);
        if let Some(question) = body["input"].as_str() {
            thread.user_message([question]);
        }
        for item in list(body, "input") {
            match item["type"].as_str().unwrap_or("message") {
                "message" => match text(item, "role") {
                    "assistant" => thread.model_item(),
                    "user" => thread.user_message(texts(&item["content"])),
                    _ => thread.other_item(),
                },
                // Some models get their tools as an item of the conversation.
                "additional_tools" => {
                    thread.other_item();
                    tools.extend(offered(list(item, "tools"), None));
                }
                kind if kind.ends_with("_output") => thread.other_item(),
                _ => thread.model_item(),
            }
        }
        Facts {
            model: text(body, "model").to_owned(),
            streaming: body["stream"] == true,
            side: tools.is_empty() || body["text"]["format"]["type"] == "json_schema",
            tools,
            conversation: text(body, "prompt_cache_key").to_owned(),
            thread,
        }
    }

    fn stream(&self, facts: &Facts, reply: &Reply, mint: &mut Mint) -> Vec<Beat> {
        let mut out = Output::begin(envelope(facts, mint));
        for part in &reply.parts {
            match part {
                Part::Text(speech) => out.message(speech, mint),
                Part::Thinking(speech) => out.reasoning(speech, mint),
                Part::Call(call) => out.call(call, mint),
                Part::Pause(pause) => out.score.pause(pause),
                Part::Fail(failure) => {
                    let (code, message) = code_and_message(failure);
                    let error = json!({ "code": code, "message": message });
                    return out.end("failed", json!({ "error": error }));
                }
                Part::Cut => {
                    out.score.cut();
                    return out.score.finish();
                }
            }
        }
        let output = Value::Array(std::mem::take(&mut out.items));
        out.end("completed", json!({ "output": output, "usage": usage(reply.tokens) }))
    }

    fn whole(&self, facts: &Facts, reply: &Reply, mint: &mut Mint) -> Value {
        let mut response = envelope(facts, mint);
        response["output"] = reply
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(speech) => Some(message_item(&mint.id("msg"), speech)),
                Part::Thinking(speech) => Some(reasoning_item(&mint.id("rs"), speech)),
                Part::Call(call) => Some(call_item(call, mint)),
                Part::Pause(_) | Part::Fail(_) | Part::Cut => None,
            })
            .collect();
        response["status"] = "completed".into();
        response["usage"] = usage(reply.tokens);
        response
    }

    fn refusal(&self, failure: &Failure, now: u64) -> Refusal {
        Refusal {
            status: failure.kind.common_status(),
            headers: failure.retry_after_header(),
            body: document(failure, now),
        }
    }
}

/// Tools by name; those in a namespace are told so.
fn offered(tools: &[Value], namespace: Option<&str>) -> Vec<OfferedTool> {
    tools
        .iter()
        .flat_map(|tool| match text(tool, "type") {
            "namespace" => offered(list(tool, "tools"), tool["name"].as_str()),
            kind => vec![OfferedTool {
                // Tools the provider runs itself have a type and no name.
                name: tool["name"].as_str().unwrap_or(kind).to_owned(),
                namespace: namespace.map(str::to_owned),
                freeform: kind == "custom",
            }],
        })
        .collect()
}

/// The output items of a response while it is streamed.
struct Output {
    score: Score,
    sequence: u64,
    response: Value,
    items: Vec<Value>,
}

impl Output {
    fn begin(response: Value) -> Self {
        let mut out = Self { score: Score::default(), sequence: 0, response, items: Vec::new() };
        out.event("response.created", json!({ "response": out.response }));
        out.event("response.in_progress", json!({ "response": out.response }));
        out
    }

    fn event(&mut self, kind: &str, mut data: Value) {
        data["type"] = kind.into();
        data["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        self.score.event(kind, &data);
    }

    fn added(&mut self, item: Value) {
        let data = json!({ "output_index": self.items.len(), "item": item });
        self.event("response.output_item.added", data);
    }

    fn done(&mut self, item: Value) {
        let data = json!({ "output_index": self.items.len(), "item": item });
        self.event("response.output_item.done", data);
        self.items.push(item);
    }

    /// An event about a piece of the item that is being streamed.
    fn piece(&mut self, kind: &str, id: &str, more: Value) {
        let mut data = more;
        data["item_id"] = id.into();
        data["output_index"] = self.items.len().into();
        self.event(kind, data);
    }

    fn speak(&mut self, speech: &Speech, kind: &str, id: &str, index_key: &str) {
        for piece in speech.pieces() {
            self.piece(kind, id, json!({ index_key: 0, "delta": piece }));
            self.score.rest(speech);
        }
    }

    fn message(&mut self, speech: &Speech, mint: &mut Mint) {
        let id = mint.id("msg");
        let item = message_item(&id, speech);
        let part = item["content"][0].clone();
        self.added(json!({
            "id": id, "type": "message", "role": "assistant", "status": "in_progress", "content": [],
        }));
        let empty = json!({ "type": "output_text", "text": "", "annotations": [] });
        self.piece(
            "response.content_part.added",
            &id,
            json!({ "content_index": 0, "part": empty }),
        );
        self.speak(speech, "response.output_text.delta", &id, "content_index");
        self.piece(
            "response.output_text.done",
            &id,
            json!({ "content_index": 0, "text": speech.text }),
        );
        self.piece("response.content_part.done", &id, json!({ "content_index": 0, "part": part }));
        self.done(item);
    }

    fn reasoning(&mut self, speech: &Speech, mint: &mut Mint) {
        let id = mint.id("rs");
        let empty = json!({ "type": "summary_text", "text": "" });
        self.added(json!({ "id": id, "type": "reasoning", "summary": [] }));
        self.piece(
            "response.reasoning_summary_part.added",
            &id,
            json!({ "summary_index": 0, "part": empty }),
        );
        self.speak(speech, "response.reasoning_summary_text.delta", &id, "summary_index");
        self.piece(
            "response.reasoning_summary_text.done",
            &id,
            json!({ "summary_index": 0, "text": speech.text }),
        );
        self.done(reasoning_item(&id, speech));
    }

    fn call(&mut self, call: &ToolCall, mint: &mut Mint) {
        let item = call_item(call, mint);
        let id = text(&item, "id").to_owned();
        let (key, kind) = match call.input {
            ToolInput::Json(_) => ("arguments", "response.function_call_arguments"),
            ToolInput::Freeform(_) => ("input", "response.custom_tool_call_input"),
        };
        let input = item[key].clone();
        let mut empty = item.clone();
        empty[key] = "".into();
        empty["status"] = "in_progress".into();
        self.added(empty);
        self.piece(&format!("{kind}.delta"), &id, json!({ "delta": input }));
        self.piece(&format!("{kind}.done"), &id, json!({ key: input }));
        self.done(item);
    }

    fn end(mut self, status: &str, more: Value) -> Vec<Beat> {
        let mut response = std::mem::take(&mut self.response);
        response["status"] = status.into();
        if let (Some(fields), Value::Object(more)) = (response.as_object_mut(), more) {
            fields.extend(more);
        }
        self.event(&format!("response.{status}"), json!({ "response": response }));
        self.score.finish()
    }
}

fn envelope(facts: &Facts, mint: &mut Mint) -> Value {
    json!({
        "id": mint.id("resp"), "object": "response", "created_at": mint.now, "model": facts.model,
        "status": "in_progress", "output": [],
    })
}

fn message_item(id: &str, speech: &Speech) -> Value {
    let part = json!({ "type": "output_text", "text": speech.text, "annotations": [] });
    json!({
        "id": id, "type": "message", "role": "assistant", "status": "completed", "content": [part],
    })
}

fn reasoning_item(id: &str, speech: &Speech) -> Value {
    let summary = json!([{ "type": "summary_text", "text": speech.text }]);
    json!({ "id": id, "type": "reasoning", "summary": summary })
}

fn call_item(call: &ToolCall, mint: &mut Mint) -> Value {
    let (id, call_id) = (mint.id("fc"), mint.id("call"));
    let mut item = match &call.input {
        ToolInput::Json(args) => json!({ "type": "function_call", "arguments": args.to_string() }),
        ToolInput::Freeform(input) => json!({ "type": "custom_tool_call", "input": input }),
    };
    item["id"] = id.into();
    item["call_id"] = call_id.into();
    item["name"] = call.name.as_str().into();
    item["status"] = "completed".into();
    if let Some(namespace) = &call.namespace {
        item["namespace"] = namespace.as_str().into();
    }
    item
}

fn usage(tokens: Tokens) -> Value {
    json!({
        "input_tokens": tokens.input, "input_tokens_details": { "cached_tokens": tokens.cached },
        "output_tokens": tokens.output, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": tokens.input + tokens.output,
    })
}
