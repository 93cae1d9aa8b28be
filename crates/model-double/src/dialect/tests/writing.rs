use serde_json::{Value, json};

use super::*;
use crate::reply::{Part, Pause, Tokens, ToolCall, ToolInput};
use crate::scenario::{ErrorKind, Gate, Speech};

fn facts() -> Facts {
    Facts { model: "m".to_owned(), streaming: true, ..Facts::default() }
}

fn speech(text: &str, delay_ms: u64) -> Speech {
    Speech { chunk: 3, delay_ms, ..Speech::from(text.to_owned()) }
}

fn call(name: &str, input: ToolInput) -> Part {
    Part::Call(ToolCall { name: name.to_owned(), namespace: None, input })
}

fn reply(parts: Vec<Part>) -> Reply {
    let tokens = Tokens { input: 10, output: 20, cached: 5, written: 0 };
    Reply { parts, tokens }
}

fn full_reply() -> Reply {
    reply(vec![
        Part::Thinking(speech("hmm", 0)),
        Part::Text(speech("Hello", 0)),
        call("Bash", ToolInput::Json(json!({ "command": "ls" }))),
    ])
}

fn mint() -> Mint {
    Mint::new("r", 1000)
}

/// The data of all events, and the name each was sent under.
fn events(beats: &[Beat]) -> Vec<(Option<String>, Value)> {
    beats
        .iter()
        .filter_map(|beat| match beat {
            Beat::Frame(frame) => Some(frame),
            _ => None,
        })
        .map(|frame| {
            let body = frame.strip_suffix("\n\n").expect("an empty line ends an event");
            let (name, data) = match body.split_once('\n') {
                Some((head, data)) => (head.strip_prefix("event: ").map(str::to_owned), data),
                None => (None, body),
            };
            let data = data.strip_prefix("data: ").expect("data");
            (name, serde_json::from_str(data).unwrap_or(json!(data)))
        })
        .collect()
}

fn stream(name: &str, reply: &Reply) -> Vec<(Option<String>, Value)> {
    events(&named(name).0.stream(&facts(), reply, &mut mint()))
}

fn types(events: &[(Option<String>, Value)]) -> Vec<&str> {
    events.iter().map(|(_, data)| text(data, "type")).collect()
}

#[test]
fn anthropic_streams_numbered_blocks() {
    let events = stream("anthropic", &full_reply());
    assert_eq!(
        types(&events),
        [
            "message_start",
            "ping",
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    for (name, data) in &events {
        assert_eq!(name.as_deref(), data["type"].as_str());
    }
    assert_eq!(events[4].1["delta"]["type"], "signature_delta");
    assert_eq!(events[7].1["delta"], json!({ "type": "text_delta", "text": "Hel" }));
    assert_eq!(events[10].1["index"], 2);
    assert_eq!(events[10].1["content_block"]["name"], "Bash");
    assert_eq!(events[11].1["delta"]["partial_json"], r#"{"command":"ls"}"#);
    assert_eq!(events[13].1["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[13].1["usage"]["output_tokens"], 20);
    assert_eq!(events[0].1["message"]["usage"]["cache_read_input_tokens"], 5);
}

#[test]
fn responses_streams_items_and_repeats_them_at_the_end() {
    let parts = vec![
        Part::Thinking(speech("hmm", 0)),
        Part::Text(speech("Hello", 0)),
        call("exec", ToolInput::Json(json!({ "cmd": "ls" }))),
        call("patch", ToolInput::Freeform("*** x".to_owned())),
    ];
    let events = stream("responses", &reply(parts));
    for (index, (name, data)) in events.iter().enumerate() {
        assert_eq!(name.as_deref(), data["type"].as_str());
        assert_eq!(data["sequence_number"], index);
    }
    let done: Vec<&Value> = events
        .iter()
        .filter(|(_, data)| data["type"] == "response.output_item.done")
        .map(|(_, data)| &data["item"])
        .collect();
    let kinds: Vec<&str> = done.iter().map(|item| text(item, "type")).collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call", "custom_tool_call"]);
    assert_eq!(done[1]["content"][0]["text"], "Hello");
    assert_eq!(done[2]["arguments"], r#"{"cmd":"ls"}"#);
    assert_eq!(done[3]["input"], "*** x");

    let said: String = events
        .iter()
        .filter(|(_, data)| data["type"] == "response.output_text.delta")
        .map(|(_, data)| text(data, "delta"))
        .collect();
    assert_eq!(said, "Hello");

    let (_, last) = events.last().expect("events");
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["output"], json!(done));
    assert_eq!(last["response"]["usage"]["total_tokens"], 30);
}

#[test]
fn chat_and_gemini_stream_chunks() {
    let chat = stream("chat", &full_reply());
    let delta = |n: usize| &chat[n].1["choices"][0]["delta"];
    assert_eq!(delta(1)["reasoning_content"], "hmm");
    assert_eq!(delta(2)["content"], "Hel");
    assert_eq!(delta(4)["tool_calls"][0]["function"]["arguments"], r#"{"command":"ls"}"#);
    assert_eq!(chat[5].1["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(chat[6].1["usage"]["prompt_tokens"], 10);
    assert_eq!(chat[7].1, "[DONE]");

    let gemini = stream("gemini", &full_reply());
    let part = |n: usize| &gemini[n].1["candidates"][0]["content"]["parts"][0];
    assert_eq!(part(0)["thought"], true);
    assert_eq!(part(1)["text"], "Hel");
    assert_eq!(part(3)["functionCall"], json!({ "name": "Bash", "args": { "command": "ls" } }));
    assert_eq!(gemini[4].1["candidates"][0]["finishReason"], "STOP");
}

#[test]
fn pauses_stay_between_what_is_sent() {
    let gate = Pause::Gate(Gate::from("g".to_owned()));
    let parts =
        vec![Part::Text(speech("abcd", 7)), Part::Pause(gate.clone()), Part::Text(speech("e", 0))];
    for (name, _) in PATHS {
        let beats = named(name).0.stream(&facts(), &reply(parts.clone()), &mut mint());
        let pauses: Vec<&Pause> = beats
            .iter()
            .filter_map(|beat| match beat {
                Beat::Pause(pause) => Some(pause),
                _ => None,
            })
            .collect();
        let short = Pause::Stall(std::time::Duration::from_millis(7));
        assert_eq!(pauses, [&short, &short, &gate], "{name}");
    }
}

#[test]
fn failures_and_cuts_end_the_stream() {
    let failure = Failure::from(ErrorKind::ServerError);
    for (name, mark) in [
        ("anthropic", "api_error"),
        ("responses", "response.failed"),
        ("chat", "server_error"),
        ("gemini", "INTERNAL"),
    ] {
        let parts = vec![Part::Fail(failure.clone()), Part::Text(speech("never", 0))];
        let events = stream(name, &reply(parts));
        let (_, last) = events.last().expect("events");
        assert!(last.to_string().contains(mark), "{name}: {last}");

        let parts = vec![Part::Cut, Part::Text(speech("never", 0))];
        let beats = named(name).0.stream(&facts(), &reply(parts), &mut mint());
        assert_eq!(beats.last(), Some(&Beat::Cut), "{name}");
    }
}

#[test]
fn whole_replies_hold_text_and_calls() {
    for (name, pointer_to_text, pointer_to_name) in [
        ("anthropic", "/content/1/text", "/content/2/name"),
        ("responses", "/output/1/content/0/text", "/output/2/name"),
        ("chat", "/choices/0/message/content", "/choices/0/message/tool_calls/0/function/name"),
        (
            "gemini",
            "/candidates/0/content/parts/1/text",
            "/candidates/0/content/parts/2/functionCall/name",
        ),
    ] {
        let document = named(name).0.whole(&facts(), &full_reply(), &mut mint());
        assert_eq!(document.pointer(pointer_to_text), Some(&json!("Hello")), "{document:#}");
        assert_eq!(document.pointer(pointer_to_name), Some(&json!("Bash")), "{document:#}");
    }
}

#[test]
fn refusals_have_the_status_and_words_clients_look_for() {
    use ErrorKind::*;
    let cases = [
        ("anthropic", RateLimit, 429, "rate_limit_error"),
        ("anthropic", Overloaded, 529, "overloaded_error"),
        ("anthropic", ServerError, 500, "api_error"),
        ("anthropic", PromptTooLong, 400, "prompt is too long"),
        ("anthropic", NoCredit, 400, "credit balance is too low"),
        ("anthropic", Unauthorized, 401, "authentication_error"),
        ("anthropic", Forbidden, 403, "permission_error"),
        ("responses", RateLimit, 429, "rate_limit_exceeded"),
        ("responses", UsageLimit, 429, "\"resets_at\":4600"),
        ("responses", Overloaded, 503, "server_is_overloaded"),
        ("responses", PromptTooLong, 400, "context_length_exceeded"),
        ("responses", Unauthorized, 401, "invalid_api_key"),
        ("chat", ServerError, 500, "server_error"),
        ("gemini", RateLimit, 429, "RESOURCE_EXHAUSTED"),
        ("gemini", Forbidden, 403, "PERMISSION_DENIED"),
    ];
    for (name, kind, status, words) in cases {
        let refusal = named(name).0.refusal(&Failure::from(kind), 1000);
        assert_eq!(refusal.status, status, "{name} {kind:?}");
        let body = refusal.body.to_string();
        assert!(body.contains(words), "{name} {kind:?}: {body}");
    }
}

#[test]
fn refusals_carry_headers_and_a_message_of_ones_own() {
    let failure = Failure {
        message: Some("mine".to_owned()),
        retry_after_s: Some(3),
        ..Failure::from(ErrorKind::UsageLimit)
    };
    for (name, _) in PATHS {
        let refusal = named(name).0.refusal(&failure, 1000);
        assert!(refusal.headers.contains(&("retry-after", "3".to_owned())), "{name}");
        assert!(refusal.body.to_string().contains("mine"), "{name}");
    }
    let anthropic = named("anthropic").0.refusal(&failure, 1000);
    let reset = ("anthropic-ratelimit-unified-reset", "4600".to_owned());
    assert!(anthropic.headers.contains(&reset));
}
