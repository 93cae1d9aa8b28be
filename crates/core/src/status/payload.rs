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

/// Whether this text on standard input was meant for a hook: an object, which may have been cut.
pub fn is_of_a_hook(payload: &str) -> bool {
    payload.trim_start().starts_with('{')
}

/// Whether it says which event it is about.
pub fn names_its_event(payload: &str) -> bool {
    is_of_a_hook(payload) && digest(payload).0 != UNKNOWN
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
        for (payload, is_of_a_hook, names_its_event) in [
            (r#" {"hook_event_name":"Stop"}"#, true, true),
            (r#"{"type":"agent-turn-complete"}"#, true, true),
            (r#"{"hook_event_name":"Stop","text":"cut he"#, true, true),
            (r#"{"a":1}"#, true, false),
            ("{", true, false),
            ("", false, false),
            ("[1]", false, false),
            ("Fix the test", false, false),
        ] {
            let seen = (super::is_of_a_hook(payload), super::names_its_event(payload));
            assert_eq!(seen, (is_of_a_hook, names_its_event), "{payload}");
        }
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
