//! Which files a tool call changes, by what an agent's hook tells of it. Two sessions that change the same file collide.

use serde_json::Value;

/// Most files of one call that are looked at.
const MOST_FILES: usize = 50;

/// A tool call that changes files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditCall {
    /// As the agent names them: absolute, or below the folder that it works in.
    pub paths: Vec<String>,
    /// It has been made, and did not fail; else it is about to be made.
    pub is_done: bool,
}

/// Whether a payload may be about an edit; a cheap look before it is read.
pub fn may_edit(payload: &str) -> bool {
    payload.contains("\"tool_name\"")
        && ["file_path", "notebook_path", PATCH].iter().any(|word| payload.contains(word))
}

/// The edit that a hook tells of. What a shell command changes is not known from its text, unless it applies a patch.
pub fn edit_call(payload: &Value) -> Option<EditCall> {
    let is_done = match payload["hook_event_name"].as_str()? {
        "PreToolUse" | "BeforeTool" => false,
        "PostToolUse" | "AfterTool" => true,
        _ => return None,
    };
    if is_done && has_failed(&payload["tool_response"]) {
        return None;
    }
    let input = &payload["tool_input"];
    let mut paths = match payload["tool_name"].as_str()? {
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" | "write_file" | "replace" => {
            let named = ["file_path", "notebook_path"].iter().find_map(|key| input[key].as_str());
            named.map(ToOwned::to_owned).into_iter().collect()
        }
        "apply_patch" => patched(&words(input)),
        "Bash" | "shell" | "exec_command" | "local_shell" => {
            let line = words(input);
            if line.contains("apply_patch") { patched(&line) } else { vec![] }
        }
        _ => vec![],
    };
    paths.retain(|path: &String| !path.is_empty() && !path.contains('\0'));
    paths.dedup();
    paths.truncate(MOST_FILES);
    (!paths.is_empty()).then_some(EditCall { paths, is_done })
}

const PATCH: &str = "*** Begin Patch";

/// The text of a call: a command, in some versions as a list of words.
fn words(input: &Value) -> String {
    let given = ["command", "cmd", "input", "patch"].iter().find_map(|key| input.get(key));
    match given {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The files of a patch in the form of codex's `apply_patch`. A file that is moved is two.
fn patched(text: &str) -> Vec<String> {
    let Some((_, patch)) = text.split_once(PATCH) else { return vec![] };
    let patch = patch.split_once("*** End Patch").map_or(patch, |(patch, _)| patch);
    let marks = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let named = |line: &str| {
        marks.iter().find_map(|mark| line.strip_prefix(mark)).map(|path| path.trim().to_owned())
    };
    patch.lines().filter_map(named).collect()
}

/// Whether the agent said that a call failed. codex begins with the exit code; gemini has a field.
fn has_failed(response: &Value) -> bool {
    match response {
        Value::String(text) => text
            .strip_prefix("Exit code: ")
            .is_some_and(|rest| rest.split_whitespace().next().is_some_and(|code| code != "0")),
        Value::Object(fields) => fields.get("error").is_some_and(|error| !error.is_null()),
        _ => false,
    }
}

/// `a and b both edit src/x.rs`
pub fn both_edit(first: &[&str], second: &str, path: &str) -> String {
    match first {
        [] => format!("{second} edits {path}"),
        [one] => format!("{one} and {second} both edit {path}"),
        more => format!("{} and {second} all edit {path}", more.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(event: &str, tool: &str, input: &Value, response: &Value) -> Option<EditCall> {
        let payload = json!({
            "hook_event_name": event, "tool_name": tool, "tool_input": input, "tool_response": response,
        });
        edit_call(&payload)
    }

    const TWO: &str = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: src/b.rs\n@@\n-x\n+*** Add File: no.rs\n\
                       *** Delete File: c.rs\n*** End Patch\n*** Add File: after.rs\n";

    #[test]
    fn what_a_call_edits() {
        let done = "Exit code: 0\nWall time: 0.1 seconds\n";
        let table = [
            (
                "PreToolUse",
                "Edit",
                json!({"file_path": "/p/a.rs"}),
                json!(null),
                Some(vec!["/p/a.rs"]),
            ),
            (
                "PreToolUse",
                "Write",
                json!({"file_path": "b c.rs"}),
                json!(null),
                Some(vec!["b c.rs"]),
            ),
            (
                "PostToolUse",
                "NotebookEdit",
                json!({"notebook_path": "n"}),
                json!({}),
                Some(vec!["n"]),
            ),
            (
                "AfterTool",
                "replace",
                json!({"file_path": "a"}),
                json!({"error": null}),
                Some(vec!["a"]),
            ),
            ("AfterTool", "replace", json!({"file_path": "a"}), json!({"error": "no"}), None),
            ("BeforeTool", "write_file", json!({"file_path": "a"}), json!(null), Some(vec!["a"])),
            ("PreToolUse", "Read", json!({"file_path": "a"}), json!(null), None),
            ("Stop", "Edit", json!({"file_path": "a"}), json!(null), None),
            ("PreToolUse", "Edit", json!({"file_path": ""}), json!(null), None),
            ("PreToolUse", "Edit", json!({}), json!(null), None),
            (
                "PreToolUse",
                "apply_patch",
                json!({"command": TWO}),
                json!(null),
                Some(vec!["src/a.rs", "src/b.rs", "c.rs"]),
            ),
            (
                "PostToolUse",
                "apply_patch",
                json!({"input": TWO}),
                json!(done),
                Some(vec!["src/a.rs", "src/b.rs", "c.rs"]),
            ),
            ("PostToolUse", "apply_patch", json!({"command": TWO}), json!("Exit code: 1\n"), None),
            (
                "PreToolUse",
                "shell",
                json!({"command": ["apply_patch", TWO]}),
                json!(null),
                Some(vec!["src/a.rs", "src/b.rs", "c.rs"]),
            ),
            (
                "PreToolUse",
                "Bash",
                json!({"command": "cat <<E\n*** Begin Patch\n*** Add File: x\nE"}),
                json!(null),
                None,
            ),
            ("PreToolUse", "Bash", json!({"command": "cargo test"}), json!(null), None),
        ];
        for (event, tool, input, response, want) in table {
            let found = call(event, tool, &input, &response).map(|call| call.paths);
            let want = want.map(|paths| paths.into_iter().map(str::to_owned).collect());
            assert_eq!(found, want, "{event} {tool} {input}");
        }
        let is_done =
            |event| call(event, "Edit", &json!({"file_path": "a"}), &json!({})).unwrap().is_done;
        assert!(is_done("PostToolUse") && !is_done("PreToolUse"));
        let many = (0..99).map(|n| format!("*** Add File: {n}")).collect::<Vec<_>>().join("\n");
        let found = call(
            "PreToolUse",
            "apply_patch",
            &json!({"command": format!("{PATCH}\n{many}")}),
            &json!(null),
        );
        assert_eq!(found.unwrap().paths.len(), MOST_FILES);
        assert!(may_edit(r#"{"tool_name":"Edit","tool_input":{"file_path":"a"}}"#));
        assert!(!may_edit(r#"{"tool_name":"Bash","tool_input":{"command":"ls"}}"#));
    }

    #[test]
    fn words_for_people() {
        assert_eq!(both_edit(&["a"], "b", "x.rs"), "a and b both edit x.rs");
        assert_eq!(both_edit(&["a", "c"], "b", "x.rs"), "a, c and b all edit x.rs");
    }
}
