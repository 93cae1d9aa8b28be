use serde_json::{Value, json};

use super::*;
use crate::facts::OfferedTool;

/// "first" was answered by a tool call; then "go on" was, and its result has just come back.
fn conversations() -> [(&'static str, Value); 4] {
    let text = |kind: &str, text: &str| json!({ "type": kind, "text": text });
    [
        (
            "anthropic",
            json!({
                "model": "m", "stream": true, "metadata": { "user_id": "c-1" },
                "tools": [{ "name": "Bash", "input_schema": {} }],
                "messages": [
                    { "role": "user", "content": [
                        text("text", "<system-reminder>x</system-reminder>"), text("text", "first"),
                    ] },
                    { "role": "system", "content": "# Environment" },
                    { "role": "assistant", "content": [{ "type": "tool_use", "id": "t1" }] },
                    { "role": "user", "content": [{ "type": "tool_result", "content": "ok" }] },
                    { "role": "assistant", "content": "done" },
                    { "role": "user", "content": "go on" },
                    { "role": "assistant", "content": [
                        text("text", "I run"), { "type": "tool_use", "id": "t2" },
                    ] },
                    { "role": "user", "content": [
                        { "type": "tool_result", "content": [text("text", "inner")] },
                        text("text", "<system-reminder>y</system-reminder>"),
                    ] },
                ],
            }),
        ),
        (
            "responses",
            json!({
                "model": "m", "stream": true, "prompt_cache_key": "c-1",
                "tools": [{ "type": "function", "name": "Bash" }],
                "input": [
                    { "type": "message", "role": "developer", "content": [text("input_text", "be")] },
                    { "type": "message", "role": "user", "content": [
                        text("input_text", "<environment_context>…"),
                    ] },
                    { "role": "user", "content": "first" },
                    { "type": "function_call", "call_id": "1" },
                    { "type": "function_call_output", "call_id": "1", "output": "ok" },
                    { "type": "message", "role": "assistant", "content": [text("output_text", "x")] },
                    { "type": "message", "role": "user", "content": [text("input_text", "go on")] },
                    { "type": "reasoning", "summary": [] },
                    { "type": "message", "role": "assistant", "content": [] },
                    { "type": "custom_tool_call", "call_id": "2" },
                    { "type": "custom_tool_call_output", "call_id": "2", "output": "ok" },
                ],
            }),
        ),
        (
            "chat",
            json!({
                "model": "m", "stream": true, "user": "c-1",
                "tools": [{ "type": "function", "function": { "name": "Bash" } }],
                "messages": [
                    { "role": "system", "content": "be" },
                    { "role": "user", "content": "first" },
                    { "role": "assistant", "tool_calls": [{ "id": "1" }] },
                    { "role": "tool", "content": "ok" },
                    { "role": "assistant", "content": "done" },
                    { "role": "user", "content": [text("text", "go on")] },
                    { "role": "assistant", "tool_calls": [{ "id": "2" }] },
                    { "role": "tool", "content": "ok" },
                ],
            }),
        ),
        (
            "gemini",
            json!({
                "tools": [{ "functionDeclarations": [{ "name": "Bash" }] }],
                "contents": [
                    { "role": "user", "parts": [{ "text": "<session_context>…" }] },
                    { "role": "user", "parts": [{ "text": "first" }] },
                    { "role": "model", "parts": [{ "functionCall": {} }] },
                    { "role": "user", "parts": [{ "functionResponse": {} }] },
                    { "role": "model", "parts": [{ "text": "done" }] },
                    { "role": "user", "parts": [{ "text": "go on" }] },
                    { "role": "model", "parts": [{ "functionCall": {} }] },
                    { "role": "user", "parts": [{ "functionResponse": {} }] },
                ],
            }),
        ),
    ]
}

#[test]
fn the_same_conversation_gives_the_same_facts() {
    for (name, body) in conversations() {
        let (dialect, path) = named(name);
        let facts = dialect.facts(path, &body);
        let thread = &facts.thread;
        assert_eq!((thread.human.as_str(), thread.turn, thread.step), ("go on", 2, 1), "{name}");
        assert_eq!(facts.tools, [OfferedTool::function("Bash")], "{name}");
        assert!(facts.streaming && !facts.side, "{name}: {facts:?}");
        if name != "gemini" {
            assert_eq!((facts.model.as_str(), facts.conversation.as_str()), ("m", "c-1"));
        }
    }
}

#[test]
fn requests_without_tools_or_with_a_schema_are_side_requests() {
    let tool = json!([{ "name": "Bash", "type": "function", "function": { "name": "Bash" } }]);
    let schema = json!({ "type": "json_schema" });
    let cases = [
        ("anthropic", json!({})),
        ("anthropic", json!({ "tools": tool, "output_config": { "format": schema } })),
        ("responses", json!({ "input": "title?" })),
        ("responses", json!({ "tools": tool, "text": { "format": schema } })),
        ("chat", json!({ "tools": tool, "response_format": schema })),
        ("gemini", json!({ "contents": [] })),
    ];
    for (name, body) in cases {
        let (dialect, path) = named(name);
        assert!(dialect.facts(path, &body).side, "{name}: {body}");
    }
}

#[test]
fn responses_tools_are_found_wherever_they_are() {
    let body = json!({
        "tools": [
            { "type": "custom", "name": "apply_patch" },
            { "type": "web_search" },
            { "type": "namespace", "name": "team", "tools": [{ "type": "function", "name": "spawn" }] },
        ],
        "input": [{ "type": "additional_tools", "tools": [{ "type": "function", "name": "late" }] }],
    });
    let (dialect, path) = named("responses");
    let expected = [
        OfferedTool { freeform: true, ..OfferedTool::function("apply_patch") },
        OfferedTool::function("web_search"),
        OfferedTool { namespace: Some("team".to_owned()), ..OfferedTool::function("spawn") },
        OfferedTool::function("late"),
    ];
    assert_eq!(dialect.facts(path, &body).tools, expected);
}

#[test]
fn any_json_can_be_read() {
    for (name, _) in PATHS {
        let (dialect, path) = named(name);
        for body in [json!(null), json!([1]), json!({ "messages": 3, "input": {}, "tools": "x" })] {
            let facts = dialect.facts(path, &body);
            assert_eq!(facts.thread.turn, 0, "{name}: {body}");
        }
    }
}
