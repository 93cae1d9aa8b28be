//! Usage in groups, with costs.

use std::collections::BTreeMap;

use dogwatch_protocol::run::Spent;
use dogwatch_protocol::usage::Used;

use super::{Batch, Format, PriceTable, Rates, State, Tokens, read};

/// The usage of one conversation in a quarter of an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Of whom: an index or id that the caller knows.
    pub thread: i64,
    pub model: i64,
    pub slot: i64,
    pub is_subagent: bool,
    pub length: u8,
    pub messages: u64,
    pub tokens: Tokens,
}

/// What a group of rows is called; nothing is the group of what belongs to none.
pub type Label = Option<String>;

/// What something cost, as far as its models have prices.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cost {
    tokens: Tokens,
    subagents: Tokens,
    messages: u64,
    micro_usd: f64,
    is_priced: bool,
    unpriced: Vec<String>,
}

impl Cost {
    pub fn add(&mut self, bucket: &Bucket, model: &str, rates: Option<&Rates>) {
        self.tokens = self.tokens.and(bucket.tokens);
        self.messages = self.messages.saturating_add(bucket.messages);
        if bucket.is_subagent {
            self.subagents = self.subagents.and(bucket.tokens);
        }
        match rates {
            Some(rates) => {
                self.is_priced = true;
                self.micro_usd += rates.of(bucket.tokens);
            }
            None if self.unpriced.iter().all(|known| known != model) => {
                self.unpriced.push(model.to_owned());
            }
            None => {}
        }
    }

    pub fn tokens(&self) -> Tokens {
        self.tokens
    }

    /// In millionths of a dollar: at least so much.
    pub fn micro_usd(&self) -> f64 {
        self.micro_usd
    }

    pub fn is_lower_bound(&self) -> bool {
        !self.unpriced.is_empty()
    }

    pub fn used(mut self) -> Used {
        self.unpriced.sort();
        Used {
            tokens: self.tokens,
            messages: self.messages,
            subagents: self.subagents,
            // Without the dust of adding many small numbers.
            cost_usd: self.is_priced.then(|| self.micro_usd.round() / 1e6),
            cost_is_lower_bound: !self.unpriced.is_empty(),
            unpriced: self.unpriced,
        }
    }
}

/// The groups in order of their names, and the sum.
#[derive(Debug, Clone, Default)]
pub struct Grouped {
    pub groups: BTreeMap<Label, Cost>,
    pub total: Cost,
}

/// Adds up buckets by the groups that each belongs to. A bucket may be in several, and counts once in the sum.
pub fn grouped<'b>(
    buckets: impl IntoIterator<Item = &'b Bucket>,
    prices: &PriceTable,
    model: impl Fn(i64) -> &'b str,
    mut groups_of: impl FnMut(&Bucket) -> Vec<Label>,
) -> Grouped {
    let mut all = Grouped::default();
    let mut known: BTreeMap<(i64, u8, i64), Option<Rates>> = BTreeMap::new();
    for bucket in buckets {
        let name = model(bucket.model);
        // Prices change by days.
        let day = bucket.slot.div_euclid(24 * 4);
        let rates = *known
            .entry((bucket.model, bucket.length, day))
            .or_insert_with(|| prices.rates(name, bucket.slot, bucket.length));
        all.total.add(bucket, name, rates.as_ref());
        for group in groups_of(bucket) {
            all.groups.entry(group).or_default().add(bucket, name, rates.as_ref());
        }
    }
    all
}

/// The usage of one transcript, for the budget of a story.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cost is neither negative nor so large"
)]
pub fn spent(format: Format, text: &[u8], prices: &PriceTable, fixed: Option<&Rates>) -> Spent {
    let mut batch = Batch::default();
    read(format, text, &mut State::default(), &mut batch);
    let mut cost = Cost::default();
    for record in &batch.records {
        let name = usize::try_from(record.model).ok().and_then(|at| batch.models.get(at));
        let name = name.map(String::as_str).unwrap_or_default();
        let rates = fixed.copied().or_else(|| prices.rates(name, record.slot, record.length));
        let bucket = Bucket {
            thread: 0,
            model: 0,
            slot: record.slot,
            is_subagent: record.is_subagent,
            length: record.length,
            messages: 1,
            tokens: record.tokens,
        };
        cost.add(&bucket, name, rates.as_ref());
    }
    let tokens = cost.tokens;
    Spent {
        input: tokens.input.saturating_add(tokens.cache_write),
        output: tokens.output,
        cached: tokens.cache_read,
        micro_usd: cost.micro_usd.round() as u64,
    }
}
