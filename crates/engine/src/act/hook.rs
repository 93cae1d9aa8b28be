use std::io::{self, Read};

use dogwatch_store::{Signal, StateDir, Store, StoreError};
use jiff::Timestamp;
use serde_json::Value;

/// Longest payload read. A hook that sends more is cut off, not waited for.
const MAX_PAYLOAD: u64 = 4 * 1024 * 1024;
/// Texts inside a payload are kept up to this length: file contents are not what hooks are kept for.
const MAX_TEXT: usize = 4096;

/// Reads a hook's payload.
pub fn read_payload(input: impl Read) -> String {
    let mut bytes = Vec::new();
    let mut kept = input.take(MAX_PAYLOAD);
    let _ = kept.read_to_end(&mut bytes);
    // To its end, so that the agent does not meet a closed pipe.
    let _ = io::copy(&mut kept.into_inner(), &mut io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes down what an agent told through a hook.
pub fn keep_signal(
    state: &StateDir,
    session: &str,
    agent: &str,
    payload: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (event, payload) = digest(payload);
    let signal = Signal {
        session: session.to_owned(),
        at: now,
        agent: agent.to_owned(),
        event,
        payload,
        spooled: false,
    };
    signal.keep(state, &uuid::Uuid::now_v7().to_string())
}

/// Writes down that the agent refreshed its statusline: its event loop is alive.
pub fn keep_heartbeat(
    state: &StateDir,
    session: &str,
    payload: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    // A heartbeat that finds the store busy is dropped: the next comes within a second.
    let patience = std::time::Duration::from_millis(20);
    let (_, payload) = digest(payload);
    Store::open_with_patience(state, patience)?.heartbeat(session, now, &payload)
}

/// The event's name, and the payload with its long texts cut. What is no JSON is kept as a text.
fn digest(payload: &str) -> (String, String) {
    let mut value = serde_json::from_str(payload).unwrap_or_else(|_| Value::from(payload));
    shorten(&mut value);
    let name = ["hook_event_name", "type"].iter().find_map(|key| value.get(key)?.as_str());
    let name = name.map(ToOwned::to_owned).or_else(|| name_in_cut(payload));
    (name.unwrap_or_else(|| "unknown".to_owned()), value.to_string())
}

/// The event's name in a payload that was too long to be read whole, and so is no JSON.
fn name_in_cut(payload: &str) -> Option<String> {
    let (_, after) = payload.split_once("\"hook_event_name\"")?;
    let name = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    name.split_once('"').map(|(name, _)| name.to_owned())
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => {
            let end = text.floor_char_boundary(MAX_TEXT);
            let left_out = text.len() - end;
            text.truncate(end);
            text.push_str("… [");
            text.push_str(&left_out.to_string());
            text.push_str(" bytes left out]");
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(map) => map.values_mut().for_each(shorten),
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
}
