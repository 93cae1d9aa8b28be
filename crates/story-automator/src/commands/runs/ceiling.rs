//! `ceiling-check --gate GATE …`: a newer line of the helper asks before each story whether a budget is used up.

use crate::answers::{Ceiling, success};

use super::{Call, Reply, no};

const NOTE: &str = "dogwatch keeps no account of costs: no ceiling was checked";

/// Always allows, and says that nothing was checked, so that a caller does not take this for a limit.
pub(super) fn answer(call: &Call) -> Reply {
    match call.option("--gate").filter(|gate| !gate.trim().is_empty()) {
        None => no("missing_gate"),
        Some(gate) => Reply::json(&success(Ceiling {
            verdict: "ALLOW",
            reason: NOTE,
            bypass_allowed: false,
            gate,
            note: NOTE,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_is_open_and_says_why() {
        for (words, code, part) in [
            (&["--gate", "story_start", "--events", "e.jsonl"][..], 0, r#""verdict":"ALLOW""#),
            (&["--gate", "init"], 0, r#""note":"dogwatch keeps no account of costs"#),
            (&["--gate", "--events", "e.jsonl"], 1, r#""error":"missing_gate""#),
            (&[], 1, r#""error":"missing_gate""#),
        ] {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            let reply = answer(&Call::new("ceiling-check", &words));
            assert_eq!(reply.code, code, "{words:?}");
            assert!(reply.stdout.contains(part), "{}", reply.stdout);
        }
    }
}
