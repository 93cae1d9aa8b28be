//! What an agent hands to a hook, before it is written down.

use serde_json::Value;

use crate::text::shortened;

/// Texts inside a payload are kept up to this length: file contents are not what hooks are kept for.
const MAX_TEXT: usize = 4096;
/// All of a payload that is kept, about: what matters comes first, and all of a session's are read at every look.
const MAX_KEPT: usize = 64 * 1024;
/// Longest name of an event.
const MAX_NAME: usize = 100;
/// Name of an event that has none.
const UNKNOWN: &str = "unknown";

/// The event's name, and the payload with its long texts cut. What is no JSON is kept as a text.
pub fn digest(payload: &str) -> (String, String) {
    let mut value = serde_json::from_str(payload).unwrap_or_else(|_| Value::from(payload));
    shorten(&mut value, &mut { MAX_KEPT });
    let name = ["hook_event_name", "type"].iter().find_map(|key| value.get(key)?.as_str());
    let name = name.or_else(|| name_in_cut(payload)).unwrap_or(UNKNOWN);
    (shortened(name, MAX_NAME), value.to_string())
}

/// Where a call without arguments was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Around {
    /// In a session of ours.
    pub in_session: bool,
    /// With the variables that an agent sets for its hooks only.
    pub in_hook: bool,
}

/// Whether a call without arguments was made by an agent as a hook, by what came on standard input. To take a hook for a
/// person is the worse mistake: the help ends with code 2, which means *block* to an agent.
pub fn is_for_a_hook(payload: &str, is_cut: bool, around: Around) -> bool {
    let says_nothing_yet = payload.trim().is_empty() && is_cut;
    around.in_hook
        || around.in_session && (is_an_object(payload) || says_nothing_yet)
        || names_its_event(payload)
}

/// It may have been cut.
fn is_an_object(payload: &str) -> bool {
    payload.trim_start().starts_with('{')
}

/// Whether it says which event it is about.
pub fn names_its_event(payload: &str) -> bool {
    is_an_object(payload) && digest(payload).0 != UNKNOWN
}

/// The event's name in a payload that was too long to be read whole, and so is no JSON.
fn name_in_cut(payload: &str) -> Option<&str> {
    let (_, after) = payload.split_once("\"hook_event_name\"")?;
    let name = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    name.split_once('"').map(|(name, _)| name)
}

/// Cuts long texts, and leaves out what comes when the room is used up.
fn shorten(value: &mut Value, room: &mut usize) {
    // A number, a name or a bracket takes some room too.
    *room = room.saturating_sub(8);
    match value {
        Value::String(text) => {
            if text.len() > MAX_TEXT {
                let end = text.floor_char_boundary(MAX_TEXT);
                let left_out = text.len() - end;
                text.truncate(end);
                text.push_str("… [");
                text.push_str(&left_out.to_string());
                text.push_str(" bytes left out]");
            }
            *room = room.saturating_sub(text.len());
        }
        Value::Array(items) => items.retain_mut(|item| {
            let fits = *room > 0;
            if fits {
                shorten(item, room);
            }
            fits
        }),
        Value::Object(map) => map.retain(|key, item| {
            let fits = *room > key.len();
            if fits {
                *room -= key.len();
                shorten(item, room);
            }
            fits
        }),
        _ => {}
    }
}

/// The beginning or the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnOf {
    /// The agent's own id.
    pub conversation: String,
    /// A prompt that the agent asks about before it takes it, and obeys an answer.
    pub is_prompt: bool,
}

/// Whether a hook tells of the beginning or the end of a turn.
pub fn turn(payload: &str) -> Option<TurnOf> {
    #[derive(serde::Deserialize)]
    struct Told {
        hook_event_name: String,
        session_id: String,
    }
    if !payload.contains("UserPromptSubmit") && !payload.contains("\"Stop\"") {
        return None;
    }
    let told: Told = serde_json::from_str(payload).ok()?;
    let is_prompt = match told.hook_event_name.as_str() {
        "UserPromptSubmit" => true,
        "Stop" => false,
        _ => return None,
    };
    Some(TurnOf { conversation: told.session_id, is_prompt })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_lengths() {
        let name = |text: &str| digest(text).0;
        assert_eq!(name(r#"{"hook_event_name":"Stop"}"#), "Stop");
        assert_eq!(name(r#"{"type":"agent-turn-complete"}"#), "agent-turn-complete");
        assert_eq!(name("not json"), "unknown");
        assert_eq!(name(""), "unknown");
        assert_eq!(name(r#"{"tool": 1, "hook_event_name" : "Stop", "text": "cut he"#), "Stop");
        let long = format!(r#"{{"hook_event_name":"X","a":[{{"b":"{}"}}]}}"#, "é".repeat(9000));
        let (event, payload) = digest(&long);
        assert_eq!(event, "X");
        assert!(payload.len() < MAX_TEXT + 200 && payload.contains("13904 bytes left out"));
    }

    #[test]
    fn what_was_meant_for_a_hook() {
        let stop = r#" {"hook_event_name":"Stop"}"#;
        // What came, whether more might come; meant for a hook: anywhere, in a session, in a hook's environment.
        for (payload, is_cut, want) in [
            (stop, false, [true, true, true]),
            (r#"{"type":"agent-turn-complete"}"#, false, [true, true, true]),
            (r#"{"hook_event_name":"Stop","text":"cut he"#, true, [true, true, true]),
            (r#"{"a":1}"#, false, [false, true, true]),
            ("{", true, [false, true, true]),
            ("", true, [false, true, true]),
            ("", false, [false, false, true]),
            ("[1]", false, [false, false, true]),
            ("Fix the test", false, [false, false, true]),
        ] {
            let session = Around { in_session: true, in_hook: false };
            let hook = Around { in_session: false, in_hook: true };
            let seen = [Around::default(), session, hook]
                .map(|around| is_for_a_hook(payload, is_cut, around));
            assert_eq!(seen, want, "{payload}");
        }
        assert!(names_its_event(stop) && !names_its_event(r#"{"a":1}"#));
    }

    #[test]
    fn what_is_too_much_is_left_out_and_what_matters_is_kept() {
        let items = "{\"line\":\"x\"},".repeat(100_000);
        let many = format!(r#"{{"hook_event_name":"Stop","patch":[{items}{{}}],"end":true}}"#);
        let (event, payload) = digest(&many);
        assert_eq!(event, "Stop");
        assert!(payload.len() < 3 * MAX_KEPT, "{} bytes", payload.len());
        let kept: Value = serde_json::from_str(&payload).unwrap();
        assert!(kept["patch"].as_array().unwrap().len() > 1_000 && kept["end"].is_null());
        let keys: Vec<_> = (0..50_000).map(|n| format!("\"key{n}\":{n}")).collect();
        assert!(digest(&format!("{{{}}}", keys.join(","))).1.len() < 3 * MAX_KEPT);
        let name = "Stop".repeat(1_000_000);
        for payload in
            [format!(r#"{{"type":"{name}"}}"#), format!(r#"{{"hook_event_name":"{name}"[["#)]
        {
            assert!(digest(&payload).0.len() < 500);
        }
    }
}
