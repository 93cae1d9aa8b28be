//! The tokens and costs of a session, from its transcript.

use serde::{Deserialize, Serialize};

use super::plan::Spent;
use crate::transcript::Dialect;
use crate::usage::{self, Format, PriceTable, Rates};

/// Dollars per million tokens, as they were given for a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
    pub cached: f64,
}

impl Prices {
    /// The rates, if any were given.
    fn rates(self) -> Option<Rates> {
        let price = |given: f64| given.max(0.0);
        let rates = Rates::new(price(self.input), price(self.output), price(self.cached));
        (self != Self::default()).then_some(rates)
    }
}

/// All tokens of a transcript, with what they cost: by the prices of the run, else by the table. An answer counts once, however often
/// it is written.
pub fn spent(dialect: Dialect, text: &str, prices: Prices, table: &PriceTable) -> Spent {
    let format = match dialect {
        Dialect::Claude => Format::Claude,
        Dialect::Codex => Format::Codex,
        Dialect::Gemini => Format::Gemini,
    };
    usage::spent(format, text.as_bytes(), table, prices.rates().as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_and_priced() {
        let claude = r#"
{"timestamp":"2026-11-16T10:00:00Z","message":{"id":"a","model":"claude-opus-4-5","usage":{"input_tokens":1000000,"cache_creation_input_tokens":5,"cache_read_input_tokens":1000000,"output_tokens":1}}}
{"timestamp":"2026-11-16T10:00:01Z","message":{"id":"a","model":"claude-opus-4-5","usage":{"input_tokens":1000000,"cache_creation_input_tokens":0,"cache_read_input_tokens":1000000,"output_tokens":100000}}}
{"message":{"role":"user","content":"tokens"}}
half a line about "usage":{"#;
        let table = PriceTable::with(Vec::new());
        let given = Prices { input: 3.0, output: 15.0, cached: 0.3 };
        let found = spent(Dialect::Claude, claude, given, &table);
        assert_eq!((found.input, found.output, found.cached), (1_000_005, 100_000, 1_000_000));
        assert_eq!(found.micro_usd, 4_800_015);
        let by_table = spent(Dialect::Claude, claude, Prices::default(), &table);
        assert_eq!(by_table.micro_usd, 5_000_000 + 31 + 500_000 + 2_500_000);
        assert_eq!(spent(Dialect::Codex, "", given, &table), Spent::default());
    }
}
