//! Readable text from an agent's own transcript.
//!
//! Agents draw on the alternate screen, so there is no scrollback to read back; their
//! transcripts are the only lasting account of what was said. Each line is one JSON object; lines that
//! are cut, of unknown kind or not JSON are passed over, because a transcript is read while written.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The dialect of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    Claude,
    Codex,
    Gemini,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    Person,
    Agent,
    /// A tool the agent called.
    Tool,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub speaker: Speaker,
    pub text: String,
}

/// All that is readable, oldest first. An entry that is written twice (gemini rewrites a message when
/// it is complete) counts once.
pub fn entries(dialect: Dialect, text: &str) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    for line in text.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        for entry in said_in(dialect, &value) {
            if all.last() != Some(&entry) {
                all.push(entry);
            }
        }
    }
    all
}

/// What people said since then, in lines that have a time: messages, those that the agent queued, and its own commands as
/// they were typed.
pub fn said_since(dialect: Dialect, text: &str, since: Timestamp) -> Vec<String> {
    let mut said = Vec::new();
    for line in text.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        if written_since(&value, since).is_none() {
            continue;
        }
        if value["type"] == "queue-operation" && value["operation"] == "enqueue" {
            said.extend(value["content"].as_str().map(ToOwned::to_owned));
        }
        if value["subtype"] == "local_command" {
            said.extend(value["content"].as_str().map(typed));
        }
        let people =
            said_in(dialect, &value).into_iter().filter(|entry| entry.speaker == Speaker::Person);
        said.extend(people.map(|entry| typed(&entry.text)));
    }
    said
}

/// When a line was written, if that was then or later, as exactly as the line tells: one that was written a moment before
/// with the same words is another message.
pub(crate) fn written_since(line: &Value, since: Timestamp) -> Option<Timestamp> {
    let text = line["timestamp"].as_str()?;
    let at: Timestamp = text.parse().ok()?;
    let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count().min(9);
    let unit = 10_i128.pow(9 - u32::try_from(digits).ok()?);
    (at.as_nanosecond() >= since.as_nanosecond().div_euclid(unit) * unit).then_some(at)
}

/// What one line says.
pub(crate) fn said_in(dialect: Dialect, line: &Value) -> Vec<Entry> {
    match dialect {
        Dialect::Claude => claude(line),
        Dialect::Codex => codex(line),
        Dialect::Gemini => gemini(line),
    }
}

/// A command of claude's own as a person typed it; any other text as it is.
pub(crate) fn typed(text: &str) -> String {
    let tag = |name: &str| {
        let (_, after) = text.split_once(&format!("<{name}>"))?;
        after.split_once(&format!("</{name}>")).map(|(inside, _)| inside.trim())
    };
    match tag("command-name") {
        Some(name) if text.trim_start().starts_with('<') => {
            format!("{name} {}", tag("command-args").unwrap_or_default()).trim_end().to_owned()
        }
        _ => text.to_owned(),
    }
}

fn entry(speaker: Speaker, text: &str) -> Option<Entry> {
    let text = text.trim_end();
    (!text.is_empty()).then(|| Entry { speaker, text: text.to_owned() })
}

fn claude(line: &Value) -> Vec<Entry> {
    if line["isSidechain"] == true || line["isMeta"] == true {
        return Vec::new();
    }
    let speaker = match line["type"].as_str() {
        Some("user") => Speaker::Person,
        Some("assistant") => Speaker::Agent,
        _ => return Vec::new(),
    };
    match &line["message"]["content"] {
        Value::String(text) => entry(speaker, text).into_iter().collect(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| match part["type"].as_str()? {
                "text" => entry(speaker, part["text"].as_str()?),
                "tool_use" => tool(part["name"].as_str()?, &part["input"]),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn codex(line: &Value) -> Vec<Entry> {
    if line["type"] != "response_item" {
        return Vec::new();
    }
    let item = &line["payload"];
    match (item["type"].as_str(), item["role"].as_str()) {
        (Some("message"), Some(role @ ("user" | "assistant"))) => {
            let speaker = if role == "user" { Speaker::Person } else { Speaker::Agent };
            let parts = item["content"].as_array().map(Vec::as_slice).unwrap_or_default();
            parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                // What codex itself tells the model at the start of a thread nobody said.
                .filter(|text| !text.starts_with("<environment_context>"))
                .filter_map(|text| entry(speaker, text))
                .collect()
        }
        (Some("function_call"), _) => {
            let name = item["name"].as_str().unwrap_or("tool");
            let arguments = item["arguments"].as_str().unwrap_or_default();
            let input = serde_json::from_str(arguments).unwrap_or(Value::Null);
            tool(name, &input).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn gemini(line: &Value) -> Vec<Entry> {
    let speaker = match line["type"].as_str() {
        Some("user") => Speaker::Person,
        Some("gemini") => Speaker::Agent,
        _ => return Vec::new(),
    };
    match &line["content"] {
        Value::String(text) => entry(speaker, text).into_iter().collect(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| entry(speaker, part["text"].as_str()?)).collect()
        }
        _ => Vec::new(),
    }
}

/// A tool call in one line: its name and the argument a person would ask for.
pub(crate) fn tool(name: &str, input: &Value) -> Option<Entry> {
    let telling = ["command", "cmd", "file_path", "path", "pattern", "description"];
    let what = telling.iter().find_map(|key| input[*key].as_str()).unwrap_or_default();
    entry(Speaker::Tool, &format!("{name} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(dialect: Dialect, text: &str) -> Vec<(Speaker, String)> {
        entries(dialect, text).into_iter().map(|e| (e.speaker, e.text)).collect()
    }

    #[test]
    fn what_people_said_since() {
        let lines = [
            r#"{"type":"user","timestamp":"2026-11-15T10:00:00Z","message":{"content":"old"}}"#,
            r#"{"type":"user","timestamp":"2026-11-15T10:00:05Z","message":{"content":"new"}}"#,
            r#"{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-15T10:00:06Z","content":"queued"}"#,
            r#"{"type":"system","subtype":"local_command","timestamp":"2026-11-15T10:00:07Z","content":"<command-name>/color</command-name> <command-args>blue</command-args>"}"#,
            r#"{"type":"assistant","timestamp":"2026-11-15T10:00:08Z","message":{"content":"answer"}}"#,
            r#"{"type":"user","message":{"content":"no time"}}"#,
        ];
        let since = "2026-11-15T10:00:04Z".parse().unwrap();
        let said = said_since(Dialect::Claude, &lines.join("\n"), since);
        assert_eq!(said, ["new", "queued", "/color blue"]);
    }

    #[test]
    fn times_are_compared_as_exactly_as_a_line_tells() {
        let since = "2026-11-15T10:00:04.5678Z".parse().unwrap();
        let is_since = |at: &str| written_since(&serde_json::json!({ "timestamp": at }), since);
        for later in
            ["2026-11-15T10:00:04Z", "2026-11-15T10:00:04.567Z", "2026-11-15T12:00:05+02:00"]
        {
            assert!(is_since(later).is_some(), "{later}");
        }
        for before in [
            "2026-11-15T10:00:03Z",
            "2026-11-15T10:00:04.566Z",
            "2026-11-15T10:00:04.56779Z",
            "soon",
        ] {
            assert_eq!(is_since(before), None, "{before}");
        }
    }

    #[test]
    fn claude_lines() {
        let text = r#"{"type":"mode","mode":"normal"}
{"type":"user","isSidechain":false,"message":{"role":"user","content":"build it"}}
{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"On it.\n"},{"type":"tool_use","name":"Bash","input":{"command":"make"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","content":"ok"}]}}
{"type":"assistant","isSidechain":true,"message":{"content":"from a subagent"}}
{"type":"assistant","message":{"content":[{"type":"text","te"#;
        assert_eq!(
            said(Dialect::Claude, text),
            [
                (Speaker::Person, "build it".into()),
                (Speaker::Agent, "On it.".into()),
                (Speaker::Tool, "Bash make".into()),
            ]
        );
    }

    #[test]
    fn codex_lines() {
        let text = r#"{"type":"session_meta","payload":{"id":"x"}}
{"type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>…"}]}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"build"}]}}
{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make\"}"}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}}"#;
        assert_eq!(
            said(Dialect::Codex, text),
            [
                (Speaker::Person, "build".into()),
                (Speaker::Tool, "exec_command make".into()),
                (Speaker::Agent, "Done.".into()),
            ]
        );
    }

    #[test]
    fn gemini_lines() {
        let text = r#"{"sessionId":"x"}
{"type":"user","content":[{"text":"build"}]}
{"type":"gemini","content":"Done."}
{"type":"gemini","content":"Done."}"#;
        assert_eq!(
            said(Dialect::Gemini, text),
            [(Speaker::Person, "build".into()), (Speaker::Agent, "Done.".into())]
        );
    }

    #[test]
    fn rubbish_says_nothing() {
        for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Gemini] {
            assert_eq!(entries(dialect, "\0\u{fffd}[[[[{\n\n{\"type\":7}\nnull\n"), []);
        }
    }
}
