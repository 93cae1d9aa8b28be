//! Gemini: `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`.

use serde_json::{Value, json};

use super::{Dialect, list, text, texts};
use crate::facts::{Facts, OfferedTool, Thread};
use crate::reply::{Beat, Mint, Part, Refusal, Reply, Score, Tokens};
use crate::scenario::{ErrorKind, Failure};

#[derive(Debug)]
pub(super) struct Gemini;

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn facts(&self, path: &str, body: &Value) -> Facts {
        let mut thread = Thread::default();
        for content in list(body, "contents") {
            match text(content, "role") {
                "model" => thread.model_item(),
                _ => thread.user_message(texts(&content["parts"])),
            }
        }
        let tools: Vec<OfferedTool> = list(body, "tools")
            .iter()
            .flat_map(|group| list(group, "functionDeclarations"))
            .map(|tool| OfferedTool::function(text(tool, "name")))
            .collect();
        let (model, method) =
            path.rsplit('/').next().and_then(|last| last.split_once(':')).unwrap_or_default();
        Facts {
            model: model.to_owned(),
            streaming: method == "streamGenerateContent",
            side: tools.is_empty(),
            tools,
            conversation: String::new(),
            thread,
        }
    }

    fn stream(&self, facts: &Facts, reply: &Reply, mint: &mut Mint) -> Vec<Beat> {
        let mut score = Score::default();
        let id = mint.id("resp");
        let chunk = |parts: Value| document(facts, &id, parts);
        for part in &reply.parts {
            match part {
                Part::Text(speech) => {
                    for piece in speech.pieces() {
                        score.data(chunk(json!([{ "text": piece }])));
                        score.rest(speech);
                    }
                }
                Part::Thinking(speech) => {
                    for piece in speech.pieces() {
                        score.data(chunk(json!([{ "text": piece, "thought": true }])));
                        score.rest(speech);
                    }
                }
                Part::Call(call) => {
                    let call = json!({ "name": call.name, "args": call.arguments() });
                    score.data(chunk(json!([{ "functionCall": call }])));
                }
                Part::Pause(pause) => score.pause(pause),
                Part::Fail(failure) => {
                    score.data(error(failure));
                    return score.finish();
                }
                Part::Cut => {
                    score.cut();
                    return score.finish();
                }
            }
        }
        score.data(ended(chunk(json!([{ "text": "" }])), reply.tokens));
        score.finish()
    }

    fn whole(&self, facts: &Facts, reply: &Reply, mint: &mut Mint) -> Value {
        let parts = reply
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(speech) => Some(json!({ "text": speech.text })),
                Part::Thinking(speech) => Some(json!({ "text": speech.text, "thought": true })),
                Part::Call(call) => {
                    Some(json!({ "functionCall": { "name": call.name, "args": call.arguments() } }))
                }
                Part::Pause(_) | Part::Fail(_) | Part::Cut => None,
            })
            .collect();
        ended(document(facts, &mint.id("resp"), parts), reply.tokens)
    }

    fn refusal(&self, failure: &Failure, _now: u64) -> Refusal {
        Refusal {
            status: failure.kind.common_status(),
            headers: failure.retry_after_header(),
            body: error(failure),
        }
    }
}

fn document(facts: &Facts, id: &str, parts: Value) -> Value {
    json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts } }],
        "modelVersion": facts.model, "responseId": id,
    })
}

fn ended(mut document: Value, tokens: Tokens) -> Value {
    document["candidates"][0]["finishReason"] = "STOP".into();
    document["usageMetadata"] = json!({
        "promptTokenCount": tokens.input, "candidatesTokenCount": tokens.output,
        "cachedContentTokenCount": tokens.cached,
        "totalTokenCount": tokens.input + tokens.output,
    });
    document
}

fn error(failure: &Failure) -> Value {
    let (status, message) = match failure.kind {
        ErrorKind::RateLimit => ("RESOURCE_EXHAUSTED", "Resource has been exhausted."),
        ErrorKind::UsageLimit => ("RESOURCE_EXHAUSTED", "You exceeded your current quota."),
        ErrorKind::Overloaded => ("UNAVAILABLE", "The model is overloaded."),
        ErrorKind::ServerError => ("INTERNAL", "An internal error has occurred."),
        ErrorKind::PromptTooLong => (
            "INVALID_ARGUMENT",
            "The input token count exceeds the maximum number of tokens allowed.",
        ),
        ErrorKind::NoCredit => ("FAILED_PRECONDITION", "Billing is not enabled."),
        ErrorKind::Unauthorized => ("UNAUTHENTICATED", "API key not valid."),
        ErrorKind::Forbidden => ("PERMISSION_DENIED", "The caller has no permission."),
    };
    let (code, message) = (failure.kind.common_status(), failure.message_or(message));
    json!({ "error": { "code": code, "message": message, "status": status } })
}
