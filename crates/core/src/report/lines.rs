//! What one line of a transcript tells: what was said, called and answered. Seen in records of claude 2.0.60 to 2.1.325, codex
//! 0.80.0 to 0.166.0 and gemini 0.61.0.

use jiff::Timestamp;
use serde_json::Value;

use crate::transcript::Dialect;

/// What a line tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// The agent said something.
    Said(String),
    /// A tool was called.
    Called(Call),
    /// A call was answered.
    Answered { id: String, outcome: Outcome },
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Call {
    pub id: String,
    /// The shell command, if it is one.
    pub command: Option<String>,
    /// Files that it edits.
    pub edits: Vec<String>,
    /// The process, started by an earlier call, that it asks about.
    pub asks: Option<String>,
}

/// How a call ended, as the agent recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The command exited.
    Exit(i32),
    /// It goes on in the background, under this name.
    Runs(Option<String>),
    /// It was not run: refused, or cancelled.
    NotRun,
    /// The tool failed, and the record has no exit code.
    Failed,
    /// The record has no exit code.
    Unknown,
}

/// When the line was written, and what it tells.
pub fn items(dialect: Dialect, line: &Value) -> (Option<Timestamp>, Vec<Item>) {
    let at = line["timestamp"].as_str().and_then(|at| at.parse().ok());
    let items = match dialect {
        Dialect::Claude => claude(line),
        Dialect::Codex => codex(line),
        Dialect::Gemini => gemini(line),
    };
    (at, items)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The texts of a value: itself, or those of its parts.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts = parts.iter().filter_map(|part| part["text"].as_str().or(part.as_str()));
            parts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn claude(line: &Value) -> Vec<Item> {
    if line["isSidechain"] == true || line["isMeta"] == true {
        return Vec::new();
    }
    let is_agent = line["type"] == "assistant";
    // An error of the API in the agent's name is not what it said.
    if is_agent && line["isApiErrorMessage"] == true {
        return Vec::new();
    }
    match &line["message"]["content"] {
        Value::String(said) if is_agent => vec![Item::Said(said.clone())],
        Value::Array(parts) => parts.iter().filter_map(|part| claude_part(line, part)).collect(),
        _ => Vec::new(),
    }
}

fn claude_part(line: &Value, part: &Value) -> Option<Item> {
    match (line["type"].as_str()?, part["type"].as_str()?) {
        ("assistant", "text") => Some(Item::Said(text(&part["text"]))),
        ("assistant", "tool_use") => {
            let input = &part["input"];
            let is_edit = matches!(
                part["name"].as_str(),
                Some("Edit" | "Write" | "MultiEdit" | "NotebookEdit")
            );
            let path = input["file_path"].as_str().or(input["notebook_path"].as_str());
            Some(Item::Called(Call {
                id: text(&part["id"]),
                command: (part["name"] == "Bash").then(|| text(&input["command"])),
                edits: path.filter(|_| is_edit).map(str::to_owned).into_iter().collect(),
                asks: None,
            }))
        }
        ("user", "tool_result") => {
            let outcome = claude_outcome(part, &line["toolUseResult"]);
            Some(Item::Answered { id: text(&part["tool_use_id"]), outcome })
        }
        _ => None,
    }
}

fn claude_outcome(part: &Value, result: &Value) -> Outcome {
    let said = texts(&part["content"]);
    if part["is_error"] == true {
        if let Some(code) = said.strip_prefix("Exit code ").and_then(first_number) {
            return Outcome::Exit(code);
        }
        let is_refused = ["The user doesn't want", "Permission to use", "Claude requested perm"]
            .iter()
            .any(|words| said.starts_with(words));
        return if is_refused { Outcome::NotRun } else { Outcome::Failed };
    }
    let background = result["backgroundTaskId"].as_str();
    if background.is_some() || said.starts_with("Command running in background") {
        return Outcome::Runs(background.map(str::to_owned));
    }
    // `grep` and `diff` are no errors to claude if they exit with 1.
    let is_unclear =
        result["interrupted"] == true || result["returnCodeInterpretation"].is_string();
    if is_unclear { Outcome::Unknown } else { Outcome::Exit(0) }
}

fn first_number(text: &str) -> Option<i32> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    text[..end].parse().ok()
}

fn codex(line: &Value) -> Vec<Item> {
    let item = &line["payload"];
    let is_response = line["type"] == "response_item";
    match item["type"].as_str() {
        Some("message") if is_response && item["role"] == "assistant" => {
            vec![Item::Said(texts(&item["content"]))]
        }
        Some("function_call" | "local_shell_call" | "custom_tool_call") if is_response => {
            vec![Item::Called(codex_call(item))]
        }
        Some("function_call_output" | "custom_tool_call_output") if is_response => {
            let outcome = codex_outcome(&item["output"]);
            vec![Item::Answered { id: text(&item["call_id"]), outcome }]
        }
        Some("exec_command_end") => item["exit_code"]
            .as_i64()
            .and_then(|code| i32::try_from(code).ok())
            .map(|code| Item::Answered { id: text(&item["call_id"]), outcome: Outcome::Exit(code) })
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}

fn codex_call(item: &Value) -> Call {
    let written = item["arguments"].as_str().or(item["input"].as_str()).unwrap_or_default();
    let parsed = serde_json::from_str::<Value>(written).unwrap_or(Value::Null);
    let arguments = if item["action"].is_object() { &item["action"] } else { &parsed };
    let name = item["name"].as_str().unwrap_or("shell");
    let mut command = None;
    for key in ["command", "cmd"] {
        command = command.or_else(|| words(&arguments[key]));
    }
    let patch = if name == "apply_patch" { Some(written) } else { command.as_deref() };
    let edits = patch.map(patched_files).unwrap_or_default();
    let asks = (name == "write_stdin").then(|| number_or_text(&arguments["session_id"]));
    Call { id: text(&item["call_id"]), command, edits, asks: asks.flatten() }
}

fn number_or_text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned).or_else(|| value.as_i64().map(|number| number.to_string()))
}

/// A command as a text, or as a list of words; of a shell's own words, its script.
fn words(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let words: Vec<&str> = value.as_array()?.iter().filter_map(Value::as_str).collect();
    match words[..] {
        [_, flag, script] if flag.starts_with('-') && flag.ends_with('c') => {
            Some(script.to_owned())
        }
        _ => Some(words.join(" ")),
    }
}

fn patched_files(text: &str) -> Vec<String> {
    let Some((_, patch)) = text.split_once("*** Begin Patch") else { return Vec::new() };
    let named = |line: &str| {
        let named = line.strip_prefix("*** ")?.split_once(" File: ")?.1;
        // Inside of JSON that was not taken apart, a line ends with an escape.
        Some(named.split("\\n").next().unwrap_or(named).trim().to_owned())
    };
    patch.lines().filter_map(named).collect()
}

/// The head of codex's answers says how the command ended; what comes after `Output:` is the command's own.
fn codex_outcome(output: &Value) -> Outcome {
    let said = if output.is_object() { text(&output["content"]) } else { texts(output) };
    let inside = said.starts_with('{').then(|| serde_json::from_str::<Value>(&said).ok()).flatten();
    let code = inside.as_ref().and_then(|inside| inside["metadata"]["exit_code"].as_i64());
    if let Some(code) = code.and_then(|code| i32::try_from(code).ok()) {
        return Outcome::Exit(code);
    }
    for line in said.lines().take_while(|line| *line != "Output:").take(12) {
        let after = |words: &str| line.strip_prefix(words).and_then(first_number);
        let code = after("Process exited with code ").or_else(|| after("Exit code: "));
        if let Some(code) = code {
            return Outcome::Exit(code);
        }
        if let Some(name) = line.strip_prefix("Process running with session ID ") {
            return Outcome::Runs(Some(name.trim().to_owned()));
        }
    }
    if said.contains("rejected by user") || said.starts_with("aborted by user") {
        return Outcome::NotRun;
    }
    let has_failed = said.starts_with("apply_patch") && said.contains("failed");
    if has_failed { Outcome::Failed } else { Outcome::Unknown }
}

fn gemini(line: &Value) -> Vec<Item> {
    if line["type"] != "gemini" {
        return Vec::new();
    }
    let said = texts(&line["content"]);
    let mut items = Vec::new();
    if !said.trim().is_empty() {
        items.push(Item::Said(said));
    }
    for call in line["toolCalls"].as_array().into_iter().flatten() {
        let id = text(&call["id"]);
        let args = &call["args"];
        let is_edit = matches!(call["name"].as_str(), Some("write_file" | "replace" | "edit"));
        let path = args["file_path"].as_str().or(args["absolute_path"].as_str());
        items.push(Item::Called(Call {
            id: id.clone(),
            command: (call["name"] == "run_shell_command").then(|| text(&args["command"])),
            edits: path.filter(|_| is_edit).map(str::to_owned).into_iter().collect(),
            asks: None,
        }));
        if let Some(outcome) = gemini_outcome(call) {
            items.push(Item::Answered { id, outcome });
        }
    }
    items
}

fn gemini_outcome(call: &Value) -> Option<Outcome> {
    let response = &call["result"][0]["functionResponse"]["response"];
    match call["status"].as_str()? {
        "cancelled" => return Some(Outcome::NotRun),
        "success" | "error" => {}
        _ => return None,
    }
    let said = response["output"].as_str().or(response["error"].as_str()).unwrap_or_default();
    // What gemini adds is below the output; a code of 0 it leaves out.
    let trailer = ["Process Group PGID:", "Background PIDs:", "Signal:", "</untrusted_context>"];
    let is_trailer = |line: &&str| trailer.iter().any(|words| line.starts_with(words));
    let last = said.trim_end().lines().rev().find(|line| !is_trailer(line));
    let code = last.and_then(|line| line.strip_prefix("Exit Code: "));
    Some(match code.and_then(first_number) {
        Some(code) => Outcome::Exit(code),
        None if call["status"] == "error" => Outcome::Failed,
        None if code.is_some() => Outcome::Unknown,
        None if said.contains("Output: ") || said.contains("Stdout: ") => Outcome::Exit(0),
        None => Outcome::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn outcome(dialect: Dialect, line: &Value) -> Outcome {
        let found = items(dialect, line).1.into_iter().find_map(|item| match item {
            Item::Answered { outcome, .. } => Some(outcome),
            _ => None,
        });
        found.unwrap()
    }

    #[test]
    fn claude_answers() {
        let line = |error: bool, content: &str, result: Value| {
            json!({ "type": "user", "toolUseResult": result, "message": { "content": [
                { "type": "tool_result", "tool_use_id": "t", "is_error": error, "content": content } ] } })
        };
        for (line, expected) in [
            (line(true, "Exit code 101\nboom", Value::Null), Outcome::Exit(101)),
            (line(false, "Exit code 101", Value::Null), Outcome::Exit(0)),
            (line(true, "The user doesn't want to proceed", Value::Null), Outcome::NotRun),
            (line(true, "String to replace not found in file.", Value::Null), Outcome::Failed),
            (line(false, "ok", json!({ "interrupted": true })), Outcome::Unknown),
            (
                line(false, "", json!({ "returnCodeInterpretation": "No matches" })),
                Outcome::Unknown,
            ),
            (
                line(false, "Command running in background with ID: b1", Value::Null),
                Outcome::Runs(None),
            ),
        ] {
            assert_eq!(outcome(Dialect::Claude, &line), expected, "{line}");
        }
        let aside = json!({ "type": "assistant", "isSidechain": true,
            "message": { "content": [{ "type": "text", "text": "All tests pass." }] } });
        assert_eq!(items(Dialect::Claude, &aside).1, []);
    }

    #[test]
    fn codex_answers() {
        let line = |output: &str| {
            json!({ "type": "response_item", "payload":
                { "type": "function_call_output", "call_id": "c", "output": output } })
        };
        for (output, expected) in [
            (r#"{"output":"x","metadata":{"exit_code":3}}"#, Outcome::Exit(3)),
            ("Exit code: 1\nWall time: 1 s\nOutput:\nExit code: 0", Outcome::Exit(1)),
            ("Chunk ID: a\nWall time: 0\nProcess exited with code 0\nOutput:\nx", Outcome::Exit(0)),
            (
                "Chunk ID: a\nProcess running with session ID 7\nOutput:\n",
                Outcome::Runs(Some("7".into())),
            ),
            ("Wall time: 0\nOutput:\nProcess exited with code 0", Outcome::Unknown),
            ("exec_command failed: rejected by user", Outcome::NotRun),
            ("apply_patch verification failed: no such file", Outcome::Failed),
            ("Success. Updated the following files:\nM a.rs", Outcome::Unknown),
            ("", Outcome::Unknown),
        ] {
            assert_eq!(outcome(Dialect::Codex, &line(output)), expected, "{output}");
        }
    }

    #[test]
    fn gemini_answers() {
        let line = |status: &str, output: &str| {
            json!({ "type": "gemini", "content": "", "toolCalls": [{ "id": "g", "status": status,
                "name": "run_shell_command", "args": { "command": "make test" },
                "result": [{ "functionResponse": { "response": { "output": output } } }] }] })
        };
        let told = "<untrusted_context>\nOutput: x\nExit Code: 2\nProcess Group PGID: 1\n</untrusted_context>";
        let fine = "<untrusted_context>\nOutput: x\nProcess Group PGID: 1\n</untrusted_context>";
        let old = "Command: x\nStdout: y\nExit Code: 0\nSignal: (none)\nBackground PIDs: (none)";
        for (status, output, expected) in [
            ("success", told, Outcome::Exit(2)),
            ("success", fine, Outcome::Exit(0)),
            ("success", old, Outcome::Exit(0)),
            ("error", "failed", Outcome::Failed),
            ("cancelled", "", Outcome::NotRun),
        ] {
            assert_eq!(outcome(Dialect::Gemini, &line(status, output)), expected, "{output}");
        }
    }

    #[test]
    fn calls() {
        let line = |name: &str, arguments: &str| {
            json!({ "type": "response_item", "payload":
                { "type": "function_call", "call_id": "c", "name": name, "arguments": arguments } })
        };
        let call = |line: Value| match items(Dialect::Codex, &line).1.remove(0) {
            Item::Called(call) => call,
            other => panic!("{other:?}"),
        };
        let shell = call(line("shell", r#"{"command":["bash","-lc","cargo test"]}"#));
        assert_eq!(shell.command.as_deref(), Some("cargo test"));
        let exec = call(line("exec_command", r#"{"cmd":"make"}"#));
        assert_eq!(exec.command.as_deref(), Some("make"));
        let asks = call(line("write_stdin", r#"{"session_id":7,"chars":""}"#));
        assert_eq!(asks.asks.as_deref(), Some("7"));
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** End Patch";
        let patch = call(line("shell", &json!({ "command": ["apply_patch", patch] }).to_string()));
        assert_eq!(patch.edits, ["src/a.rs"]);
    }
}
