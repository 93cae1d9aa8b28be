//! The tokens and costs of a session, from its transcript.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::Spent;
use crate::transcript::Dialect;

/// Dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
    pub cached: f64,
}

impl Prices {
    /// The price in millionths of a dollar: dollars per million tokens are the same number per token.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no transcript has so many tokens that it matters"
    )]
    pub fn of(self, spent: Spent) -> u64 {
        let cost = |tokens: u64, price: f64| tokens as f64 * price.max(0.0);
        let sum = cost(spent.input, self.input)
            + cost(spent.output, self.output)
            + cost(spent.cached, self.cached);
        sum.round() as u64
    }
}

/// All tokens of a transcript. An answer that is written several times, as it grows, counts once.
pub fn spent(dialect: Dialect, text: &str) -> Spent {
    let mut answers: BTreeMap<String, Spent> = BTreeMap::new();
    let mut last = Spent::default();
    for line in text.lines() {
        // Most lines have no token counts, and parsing all of them is slow.
        if !line.contains("token") {
            continue;
        }
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        match dialect {
            Dialect::Claude => {
                let message = &value["message"];
                let usage = &message["usage"];
                if let Some(id) = message["id"].as_str() {
                    let input = count(&usage["input_tokens"])
                        .saturating_add(count(&usage["cache_creation_input_tokens"]));
                    let output = count(&usage["output_tokens"]);
                    let cached = count(&usage["cache_read_input_tokens"]);
                    let spent = Spent { input, output, cached, micro_usd: 0 };
                    answers.insert(id.to_owned(), spent);
                }
            }
            Dialect::Codex => {
                let total = &value["payload"]["info"]["total_token_usage"];
                if total.is_object() {
                    let cached = count(&total["cached_input_tokens"]);
                    let input = count(&total["input_tokens"]).saturating_sub(cached);
                    let output = count(&total["output_tokens"]);
                    last = Spent { input, output, cached, micro_usd: 0 };
                }
            }
            Dialect::Gemini => {
                let tokens = &value["tokens"];
                if let (Some(id), true) = (value["id"].as_str(), tokens.is_object()) {
                    let cached = count(&tokens["cached"]);
                    let output =
                        count(&tokens["output"]).saturating_add(count(&tokens["thoughts"]));
                    let input = count(&tokens["input"]).saturating_sub(cached);
                    let spent = Spent { input, output, cached, micro_usd: 0 };
                    answers.insert(id.to_owned(), spent);
                }
            }
        }
    }
    answers.into_values().fold(last, Spent::and)
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_in_each_dialect() {
        let claude = r#"
{"message":{"id":"a","usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":1}}}
{"message":{"id":"a","usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":3}}}
{"message":{"id":"b","usage":{"input_tokens":1,"output_tokens":2}}}
{"message":{"role":"user","content":"tokens"}}
half a line about tokens {"#;
        let codex = r#"
{"payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":9,"cached_input_tokens":4,"output_tokens":1}}}}
{"payload":{"type":"token_count","info":null}}
{"payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":20,"cached_input_tokens":4,"output_tokens":5}}}}"#;
        let gemini = r#"
{"id":"x","tokens":{"input":10,"output":2,"cached":1,"thoughts":3,"total":15}}
{"id":"x","tokens":{"input":10,"output":2,"cached":1,"thoughts":3,"total":15}}"#;
        for (dialect, text, want) in [
            (Dialect::Claude, claude, (16, 5, 7)),
            (Dialect::Codex, codex, (16, 5, 4)),
            (Dialect::Gemini, gemini, (9, 5, 1)),
            (Dialect::Codex, "", (0, 0, 0)),
        ] {
            let found = spent(dialect, text);
            assert_eq!((found.input, found.output, found.cached), want, "{dialect:?}");
        }
    }

    #[test]
    fn tokens_are_priced() {
        let prices = Prices { input: 3.0, output: 15.0, cached: 0.3 };
        let spent = Spent { input: 1_000_000, output: 100_000, cached: 1_000_000, micro_usd: 0 };
        assert_eq!(prices.of(spent), 4_800_000);
    }
}
