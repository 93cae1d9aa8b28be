//! Adds the stop hook to an agent's settings, or updates an existing one.

use serde_json::{Map, Value};

/// The required hook.
#[derive(Debug, Clone, Copy)]
pub struct Hook<'a> {
    pub command: &'a str,
    pub timeout: u64,
    /// The agent's message while the hook runs, if it supports that.
    pub status_message: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The new text, and the name of the change.
    Made {
        text: String,
        reason: &'static str,
    },
    None,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsFault {
    #[error("invalid_json")]
    Json(String),
    #[error("invalid_json_object")]
    NotAnObject,
    #[error("invalid_hooks_object")]
    Hooks,
    #[error("invalid_stop_hooks")]
    Stop,
}

impl SettingsFault {
    /// The problem, for a person.
    pub fn message(&self) -> String {
        match self {
            Self::Json(why) => why.clone(),
            other => other.to_string(),
        }
    }
}

/// The settings with the hook; `before` is `None` if there is no file.
pub fn with_hook(before: Option<&str>, hook: Hook<'_>) -> Result<Change, SettingsFault> {
    let mut settings = match before {
        None => Value::Object(Map::new()),
        Some(text) => {
            serde_json::from_str(text).map_err(|why| SettingsFault::Json(why.to_string()))?
        }
    };
    let root = settings.as_object_mut().ok_or(SettingsFault::NotAnObject)?;
    let hooks = root.entry("hooks").or_insert_with(|| Value::Object(Map::new()));
    let hooks = hooks.as_object_mut().ok_or(SettingsFault::Hooks)?;
    let stop = hooks.entry("Stop").or_insert_with(|| Value::Array(Vec::new()));
    let stop = stop.as_array_mut().ok_or(SettingsFault::Stop)?;

    let mut found = false;
    let mut changed = false;
    for group in stop.iter_mut() {
        let Some(entries) = group.get_mut("hooks").and_then(Value::as_array_mut) else { continue };
        // Keep only one: each one blocks by itself.
        entries.retain(|entry| {
            let again = found && is_ours(entry);
            found |= is_ours(entry);
            changed |= again;
            !again
        });
        for entry in entries.iter_mut().filter(|entry| is_ours(entry)) {
            changed |= bring_up_to_date(entry, hook);
        }
    }
    let reason = match (before, found) {
        (_, true) if !changed => return Ok(Change::None),
        (_, true) => "hook_normalized",
        (None, _) => "created",
        (Some(_), _) => "added",
    };
    if !found {
        let mut entry = Value::Object(Map::new());
        bring_up_to_date(&mut entry, hook);
        let group = Map::from_iter([("hooks".to_owned(), Value::Array(vec![entry]))]);
        stop.push(group.into());
    }
    Ok(Change::Made { text: format!("{settings:#}\n"), reason })
}

fn bring_up_to_date(entry: &mut Value, hook: Hook<'_>) -> bool {
    let Some(entry) = entry.as_object_mut() else { return false };
    let mut wanted = vec![
        ("type", Value::from("command")),
        ("command", Value::from(hook.command)),
        ("timeout", Value::from(hook.timeout)),
    ];
    wanted.extend(hook.status_message.map(|message| ("statusMessage", Value::from(message))));
    let mut changed = false;
    for (key, value) in wanted {
        if entry.get(key) != Some(&value) {
            entry.insert(key.to_owned(), value);
            changed = true;
        }
    }
    changed
}

/// A stop hook of story-automator, wherever it is installed and however it is called.
fn is_ours(entry: &Value) -> bool {
    let command = entry.get("command").and_then(Value::as_str).unwrap_or_default();
    let words: Vec<&str> =
        command.split_whitespace().map(|word| word.trim_matches(['\'', '"'])).collect();
    let names = |word: &&str| {
        matches!(word.rsplit('/').next(), Some("story-automator" | "story_automator"))
    };
    words.iter().position(names).is_some_and(|at| words[at + 1..].first() == Some(&"stop-hook"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const HOOK: Hook<'_> = Hook {
        command: "env PROJECT_ROOT=/p /x/story-automator stop-hook",
        timeout: 10,
        status_message: None,
    };

    fn made(before: Option<&str>) -> (Value, &'static str) {
        match with_hook(before, HOOK).unwrap() {
            Change::Made { text, reason } => (serde_json::from_str(&text).unwrap(), reason),
            Change::None => (Value::Null, "already_configured"),
        }
    }

    #[test]
    fn the_hook_is_added_or_updated() {
        let ours = json!({"type": "command", "command": HOOK.command, "timeout": 10});
        let alone = json!({"hooks": {"Stop": [{"hooks": [ours]}]}});
        assert_eq!(made(None), (alone.clone(), "created"));
        assert_eq!(made(Some("{}")), (alone.clone(), "added"));
        assert_eq!(made(Some(&alone.to_string())), (Value::Null, "already_configured"));
        for old in [
            "/old/story-automator stop-hook",
            "env PROJECT_ROOT=/x python3 -m story_automator stop-hook",
            "'/a/dogwatch' story-automator stop-hook",
        ] {
            let before = json!({"a": 1, "hooks": {"Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "echo hi"}]}, {"hooks": [{"command": old, "timeout": 3, "x": 1}]}], "PreToolUse": []}});
            let (after, reason) = made(Some(&before.to_string()));
            assert_eq!(reason, "hook_normalized");
            assert_eq!(after["hooks"]["Stop"][0], before["hooks"]["Stop"][0]);
            assert_eq!(after["hooks"]["Stop"][1]["hooks"][0]["command"], HOOK.command);
            assert_eq!(after["hooks"]["Stop"][1]["hooks"][0]["x"], 1);
        }
        let twice = json!({"hooks": {"Stop": [{"hooks": [ours, ours]}]}});
        assert_eq!(made(Some(&twice.to_string())), (alone, "hook_normalized"));
        assert!(!is_ours(&json!({"command": "story-automator status"})));
    }

    #[test]
    fn unknown_settings_are_left_alone() {
        let table = [
            ("[]", "invalid_json_object"),
            (r#"{"hooks":[]}"#, "invalid_hooks_object"),
            (r#"{"hooks":null}"#, "invalid_hooks_object"),
            (r#"{"hooks":{"Stop":{}}}"#, "invalid_stop_hooks"),
            ("{", "invalid_json"),
            ("", "invalid_json"),
        ];
        for (before, fault) in table {
            assert_eq!(with_hook(Some(before), HOOK).unwrap_err().to_string(), fault, "{before}");
        }
        assert_eq!(made(Some(r#"{"hooks":{"Stop":[1,{"hooks":{}}]}}"#)).1, "added");
    }
}
