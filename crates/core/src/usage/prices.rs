//! What tokens cost: a dated table, with the user's own prices over it.

use jiff::civil::Date;
use serde::Deserialize;

use super::{LONG_PROMPTS, SLOT_SECONDS, Tokens};

const TABLE: &str = include_str!("../../data/prices.toml");

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    pub input: f64,
    pub output: f64,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    pub cache_write_1h: Option<f64>,
    /// For the rates of long prompts: how long they are.
    above: Option<u64>,
}

impl Rates {
    pub fn new(input: f64, output: f64, cache_read: f64) -> Self {
        let cache_read = Some(cache_read);
        Self { input, output, cache_read, cache_write: None, cache_write_1h: None, above: None }
    }

    /// In millionths of a dollar: dollars per million tokens are the same number per token.
    #[expect(clippy::cast_precision_loss, reason = "no transcript has so many tokens")]
    pub fn of(&self, tokens: Tokens) -> f64 {
        let written = self.cache_write.unwrap_or(self.input);
        let for_an_hour = tokens.cache_write_1h.min(tokens.cache_write);
        [
            (tokens.input, self.input),
            (tokens.output, self.output),
            (tokens.cache_read, self.cache_read.unwrap_or(self.input)),
            (tokens.cache_write - for_an_hour, written),
            (for_an_hour, self.cache_write_1h.unwrap_or(written)),
        ]
        .iter()
        .map(|(count, price)| *count as f64 * price)
        .sum()
    }

    fn is_valid(&self) -> bool {
        let optional = [self.cache_read, self.cache_write, self.cache_write_1h];
        let all = [self.input, self.output].into_iter().chain(optional.into_iter().flatten());
        all.into_iter().all(|price| price.is_finite() && price >= 0.0)
    }
}

/// The prices of some models.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    #[serde(default)]
    pub models: Vec<String>,
    /// One model, as a configuration file may say it.
    pub model: Option<String>,
    /// The first day of this price.
    since: Option<Date>,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
    long: Option<Rates>,
}

impl Price {
    fn rates(&self) -> Rates {
        Rates {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            cache_write_1h: self.cache_write_1h,
            above: None,
        }
    }

    fn is_of(&self, name: &str) -> bool {
        self.models.iter().chain(&self.model).any(|model| model.eq_ignore_ascii_case(name))
    }

    /// What is wrong with it.
    pub fn problem(&self) -> Option<String> {
        if self.models.is_empty() && self.model.is_none() {
            return Some("a price needs model = \"…\"".to_owned());
        }
        let long = self.long.as_ref();
        if !self.rates().is_valid() || long.is_some_and(|long| !long.is_valid()) {
            return Some("a price is a number of dollars, not below 0".to_owned());
        }
        if long.is_some_and(|long| !LONG_PROMPTS.contains(&long.above.unwrap_or(0))) {
            return Some(format!("long needs above = one of {LONG_PROMPTS:?}"));
        }
        None
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    date: String,
    price: Vec<Price>,
}

/// All prices.
#[derive(Debug, Clone)]
pub struct PriceTable {
    /// The day of the built-in ones.
    pub date: String,
    own: Vec<Price>,
    builtin: Vec<Price>,
}

impl PriceTable {
    /// The built-in prices, and the user's over them.
    pub fn with(own: Vec<Price>) -> Self {
        // The table is a part of the program, and a test reads it.
        let table: Table =
            toml::from_str(TABLE).unwrap_or(Table { date: String::new(), price: Vec::new() });
        Self { date: table.date, own, builtin: table.price }
    }

    /// The rates of a model in a quarter of an hour, for a prompt that exceeds so many of [`LONG_PROMPTS`].
    pub fn rates(&self, model: &str, slot: i64, length: u8) -> Option<Rates> {
        let short = plain(model);
        let find = |list: &[Price]| {
            [model, &*short].into_iter().find_map(|name| {
                let is_valid =
                    |price: &&Price| price.since.is_none_or(|day| slot >= first_slot(day));
                list.iter().rev().filter(|price| price.is_of(name)).find(is_valid).cloned()
            })
        };
        let price = find(&self.own).or_else(|| find(&self.builtin))?;
        let exceeded = &LONG_PROMPTS[..usize::from(length).min(LONG_PROMPTS.len())];
        let long = price.long.filter(|long| exceeded.contains(&long.above.unwrap_or(u64::MAX)));
        Some(long.unwrap_or_else(|| price.rates()))
    }
}

fn first_slot(day: Date) -> i64 {
    let at = day.to_zoned(jiff::tz::TimeZone::UTC);
    at.map_or(0, |at| at.timestamp().as_second().div_euclid(SLOT_SECONDS))
}

/// A model's name without what providers put before or behind it: `us.anthropic.claude-opus-4-5-20251101-v1:0` is `claude-opus-4-5`.
fn plain(model: &str) -> String {
    let (model, speed) = match model.strip_suffix(" (fast)") {
        Some(model) => (model, " (fast)"),
        None => (model, ""),
    };
    let model = model.rsplit('/').next().unwrap_or(model);
    let model = model.rsplit_once("anthropic.").map_or(model, |(_, name)| name);
    let model = model.split(['@', '[', ':']).next().unwrap_or(model);
    let model = model.strip_suffix("-latest").unwrap_or(model);
    let model = match model.rsplit_once("-v") {
        Some((name, version)) if version.parse::<u8>().is_ok() => name,
        _ => model,
    };
    format!("{}{speed}", without_date(model))
}

/// Without `-20250929` or `-2025-09-29` at the end.
fn without_date(model: &str) -> &str {
    let is_date = |end: &str| {
        let digits = end.bytes().filter(u8::is_ascii_digit).count();
        digits == 8 && end.starts_with('-') && end.bytes().all(|b| b == b'-' || b.is_ascii_digit())
    };
    let cut = |length: usize| {
        let at = model.len().checked_sub(length)?;
        let (name, end) = (model.get(..at)?, model.get(at..)?);
        is_date(end).then_some(name)
    };
    cut(9).or_else(|| cut(11)).unwrap_or(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_valid() {
        let table: Table = toml::from_str(TABLE).unwrap();
        assert!(table.date.parse::<Date>().is_ok());
        for price in &table.price {
            assert_eq!(price.problem(), None, "{:?}", price.models);
        }
    }

    #[test]
    fn names_of_providers() {
        for (name, want) in [
            ("claude-opus-4-5-20251101", "claude-opus-4-5"),
            ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
            ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
            ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
            ("claude-sonnet-4-6[1m]", "claude-sonnet-4-6"),
            ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
            ("gpt-5.2-2026-01-15", "gpt-5.2"),
            ("openai/gpt-5.2-codex", "gpt-5.2-codex"),
            ("claude-opus-5-5-20260922 (fast)", "claude-opus-5-5 (fast)"),
            ("o3", "o3"),
            ("", ""),
        ] {
            assert_eq!(plain(name), want);
        }
    }

    #[test]
    fn a_similar_name_has_no_price() {
        let table = PriceTable::with(Vec::new());
        let slot = 1_794_000_000 / SLOT_SECONDS;
        for (model, is_priced) in [
            ("claude-opus-5-5", true),
            ("claude-opus-5-5-20260922", true),
            ("claude-opus-5-6", false),
            ("claude-opus-5-5-turbo", false),
            ("gpt-5.5", true),
            ("gpt-5.5-pro", false),
            ("double", false),
            ("unknown", false),
        ] {
            assert_eq!(table.rates(model, slot, 0).is_some(), is_priced, "{model}");
        }
    }

    #[test]
    fn prices_depend_on_the_day_and_the_prompt() {
        let table = PriceTable::with(Vec::new());
        let slot = |day: &str| first_slot(day.parse().unwrap());
        let read = |day| table.rates("claude-sonnet-5-5", slot(day), 0).unwrap().cache_read;
        assert_eq!((read("2026-10-06"), read("2026-10-07")), (Some(0.2), Some(0.1)));
        let input = |model, length| table.rates(model, slot("2026-11-16"), length).unwrap().input;
        let of = |model| [0, 1, 2, 3].map(|length| input(model, length).to_string());
        assert_eq!(of("claude-haiku-5-5"), ["0.1", "0.5", "0.5", "0.5"]);
        assert_eq!(of("gemini-2.5-pro"), ["1.25", "1.25", "2.5", "2.5"]);
        assert_eq!(of("gpt-6-sol"), ["2", "2", "2", "4"]);
    }

    #[test]
    fn the_users_prices_come_first() {
        #[derive(Deserialize)]
        struct Own {
            price: Vec<Price>,
        }
        let text = "[[price]]\nmodel = 'double'\ninput = 1\noutput = 2\n\
                    [[price]]\nmodel = 'gpt-5.5'\ninput = 0\noutput = 0\ncache_read = 0";
        let own: Own = toml::from_str(text).unwrap();
        let table = PriceTable::with(own.price);
        let tokens =
            Tokens { input: 10, output: 10, cache_read: 10, cache_write: 10, cache_write_1h: 4 };
        let cost = |model| table.rates(model, 0, 0).unwrap().of(tokens).to_string();
        assert_eq!((cost("double"), cost("gpt-5.5")), ("50".to_owned(), "0".to_owned()));
        assert_eq!(cost("claude-opus-4-5"), (50.0 + 250.0 + 5.0 + 37.5 + 40.0).to_string());
    }
}
