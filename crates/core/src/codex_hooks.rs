//! Hooks for one codex session, by command line alone.
//!
//! codex takes hooks as configuration overrides (`-c`), beside the user's own, but asks a person to
//! review any hook that it has not seen. What makes one "seen" is a hash in its state, and the
//! state can be given by override too. So we vouch for exactly our own hooks; those of the user and
//! of the project stay as trusted or untrusted as they were. (`--dangerously-bypass-hook-trust` would
//! run an untrusted project's hooks as well.) Seen with 0.166.0; should the recipe change, codex shows
//! its review dialog, which is safe.

use std::fmt::Write;

use serde::Serialize;
use sha2::{Digest, Sha256};

/// Seconds that codex gives a hook. Two events are cut to 3, and the hash is over the cut value.
const TIMEOUT: u32 = 3;

/// Arguments that make codex run `command` on each of `events`.
pub(crate) fn arguments(events: &[String], command: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut states = Vec::new();
    for event in events {
        let hook = format!(
            "hooks.{event}=[{{hooks=[{{type=\"command\",command={},timeout={TIMEOUT}}}]}}]",
            toml_string(command)
        );
        arguments.extend(["-c".to_owned(), hook]);
        let event = snake_case(event);
        states.push(format!(
            "\"/<session-flags>/config.toml:{event}:0:0\"={{trusted_hash=\"{}\"}}",
            trusted_hash(&event, command)
        ));
    }
    // One table: a dotted key cannot hold the dots of these names.
    arguments.extend(["-c".to_owned(), format!("hooks.state={{{}}}", states.join(","))]);
    arguments
}

/// Hooks of an event, in the form that codex hashes.
#[derive(Serialize)]
struct Approved<'a> {
    event_name: &'a str,
    hooks: [Hook<'a>; 1],
}

#[derive(Serialize)]
struct Hook<'a> {
    #[serde(rename = "async")]
    is_async: bool,
    command: &'a str,
    timeout: u32,
    #[serde(rename = "type")]
    kind: &'a str,
}

/// The hash that codex keeps of a hook that a person has approved: over its compact form, keys sorted.
fn trusted_hash(event: &str, command: &str) -> String {
    let hook = Hook { is_async: false, command, timeout: TIMEOUT, kind: "command" };
    let approved = Approved { event_name: event, hooks: [hook] };
    // Texts and a number: nothing in it can fail.
    let approved = serde_json::to_string(&approved).unwrap_or_default();
    let mut hash = String::from("sha256:");
    for byte in Sha256::digest(approved) {
        // Writing to a string cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    hash
}

fn snake_case(event: &str) -> String {
    let mut out = String::new();
    for c in event.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// A basic string of TOML is close enough to JSON's.
fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_are_toml_and_vouch_for_each_hook() {
        let events = ["SessionStart".to_owned(), "Stop".to_owned()];
        let arguments = arguments(&events, "'/opt/dog watch' hook codex");
        assert_eq!(arguments.len(), 6);
        for pair in arguments.chunks(2) {
            assert_eq!(pair[0], "-c");
            let (key, value) = pair[1].split_once('=').unwrap();
            let parsed: toml::Table = toml::from_str(&format!("x={value}")).unwrap();
            if key == "hooks.state" {
                let states = parsed["x"].as_table().unwrap();
                assert!(states.contains_key("/<session-flags>/config.toml:session_start:0:0"));
                assert!(states.contains_key("/<session-flags>/config.toml:stop:0:0"));
            }
        }
    }

    #[test]
    fn the_hash_is_over_the_compact_form() {
        // sha256sum of
        // {"event_name":"stop","hooks":[{"async":false,"command":"x","timeout":3,"type":"command"}]}
        let hex = "d01ee585acb29fd296868b24c90b448be56374b556348bcaeccb5d4e5f31df51";
        assert_eq!(trusted_hash("stop", "x"), format!("sha256:{hex}"));
    }
}
