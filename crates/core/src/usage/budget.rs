//! Budgets: limits of tokens or dollars, and whether they are used up.

use jiff::{ToSpan as _, Unit, Zoned, ZonedRound};
use serde::Deserialize;

pub use dogwatch_protocol::usage::{BudgetAction, BudgetScope, BudgetStanding};

use super::{Cost, SLOT_SECONDS, cost_words, token_words};

/// A `[[budget]]` of the configuration file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetRule {
    pub per: BudgetScope,
    pub usd: Option<f64>,
    /// Without those that were read from the cache, which cost very little.
    pub tokens: Option<u64>,
    pub period: Option<Period>,
    #[serde(default)]
    pub action: BudgetAction,
    /// Only this project: its root.
    pub project: Option<String>,
}

/// How long a budget lasts, by the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    Hour,
    Day,
    Week,
    Month,
}

impl BudgetRule {
    /// What is wrong with it.
    pub fn problem(&self) -> Option<String> {
        match (self.usd, self.tokens) {
            (None, None) => return Some("a budget needs usd = … or tokens = …".to_owned()),
            (Some(_), Some(_)) => return Some("set usd or tokens, not both".to_owned()),
            (Some(usd), None) if !usd.is_finite() || usd <= 0.0 => {
                return Some("usd must be a number above 0".to_owned());
            }
            (None, Some(0)) => return Some("tokens must be above 0".to_owned()),
            _ => {}
        }
        if self.per == BudgetScope::Day && self.period.is_some() {
            return Some("per = \"day\" has no period: it begins anew every day".to_owned());
        }
        None
    }

    /// The first quarter of an hour that counts now.
    pub fn first_slot(&self, now: &Zoned) -> i64 {
        let period = if self.per == BudgetScope::Day { Some(Period::Day) } else { self.period };
        let Some(period) = period else { return 0 };
        let unit = if period == Period::Hour { Unit::Hour } else { Unit::Day };
        let floor = ZonedRound::new().smallest(unit).mode(jiff::RoundMode::Floor);
        let begun = now.round(floor).unwrap_or_else(|_| now.clone());
        let back = match period {
            Period::Hour | Period::Day => 0,
            Period::Week => i64::from(now.date().weekday().to_monday_zero_offset()),
            Period::Month => i64::from(now.date().day()) - 1,
        };
        let begun = begun.checked_sub(back.days()).unwrap_or(begun);
        begun.timestamp().as_second().div_euclid(SLOT_SECONDS)
    }

    /// What its subject has used of it.
    #[expect(clippy::cast_precision_loss, reason = "compared, and shown with few digits")]
    pub fn standing(&self, subject: &str, first_slot: i64, cost: Cost) -> BudgetStanding {
        let tokens = cost.tokens().total() - cost.tokens().cache_read;
        let used = cost.used();
        let usd = used.cost_usd.unwrap_or(0.0);
        let share = match (self.usd, self.tokens) {
            (Some(limit), _) => usd / limit,
            (None, limit) => tokens as f64 / limit.unwrap_or(u64::MAX) as f64,
        };
        let limit = match (self.usd, self.tokens) {
            (Some(limit), _) => format!("${limit}"),
            (None, limit) => format!("{} tokens", token_words(limit.unwrap_or(0))),
        };
        BudgetStanding {
            key: format!("{}|{subject}|{first_slot}|{limit}", self.per.as_str()),
            per: self.per,
            subject: subject.to_owned(),
            name: subject.to_owned(),
            action: self.action,
            limit_usd: self.usd,
            limit_tokens: self.tokens,
            used_words: match self.usd {
                Some(_) => cost_words(&used),
                None => format!("{} tokens", token_words(tokens)),
            },
            limit_words: limit,
            used_usd: used.cost_usd,
            used_tokens: tokens,
            cost_is_lower_bound: used.cost_is_lower_bound,
            is_used_up: share >= 1.0,
            is_lifted: false,
        }
    }
}

/// For people.
pub fn used_up_words(standing: &BudgetStanding) -> String {
    let BudgetStanding { name, used_words, limit_words, .. } = standing;
    let per = standing.per.as_str();
    format!("the budget of {per} {name} is used up ({used_words} of {limit_words})")
}

/// Why a prompt is held, for people.
pub fn held_words(standing: &BudgetStanding) -> String {
    format!(
        "dogwatch: the budget of this {} is used up ({} of {}). To go on: dogwatch budget lift",
        standing.per.as_str(),
        standing.used_words,
        standing.limit_words
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::{Bucket, Rates, Tokens};

    fn rule(text: &str) -> BudgetRule {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn contradictions_are_refused() {
        for (text, problem) in [
            ("per = 'session'\nusd = 5", None),
            ("per = 'project'\ntokens = 5\nperiod = 'week'\naction = 'hold'", None),
            ("per = 'session'", Some("a budget needs")),
            ("per = 'session'\nusd = 1\ntokens = 1", Some("set usd or tokens")),
            ("per = 'session'\nusd = -1", Some("usd must")),
            ("per = 'session'\ntokens = 0", Some("tokens must")),
            ("per = 'day'\nusd = 1\nperiod = 'day'", Some("per = \"day\"")),
        ] {
            let found = rule(text).problem();
            assert_eq!(found.is_some(), problem.is_some(), "{text}: {found:?}");
            assert!(found.unwrap_or_default().starts_with(problem.unwrap_or_default()), "{text}");
        }
        assert!(toml::from_str::<BudgetRule>("per = 'year'\nusd = 1").is_err());
    }

    #[test]
    fn periods_begin_by_the_calendar() {
        let now: Zoned = "2026-11-18T15:40:00+01:00[Europe/Berlin]".parse().unwrap();
        for (text, want) in [
            ("per = 'day'", "2026-11-17T23:00:00Z"),
            ("per = 'project'\nperiod = 'hour'", "2026-11-18T14:00:00Z"),
            ("per = 'project'\nperiod = 'day'", "2026-11-17T23:00:00Z"),
            ("per = 'project'\nperiod = 'week'", "2026-11-15T23:00:00Z"),
            ("per = 'project'\nperiod = 'month'", "2026-10-31T23:00:00Z"),
            ("per = 'session'", "1970-01-01T00:00:00Z"),
        ] {
            let slot = rule(&format!("{text}\nusd = 1")).first_slot(&now);
            let at = jiff::Timestamp::from_second(slot * SLOT_SECONDS).unwrap();
            assert_eq!(at.to_string(), want, "{text}");
        }
    }

    #[test]
    fn what_is_used_up() {
        let tokens = Tokens { input: 1000, cache_read: 1_000_000, ..Tokens::default() };
        let (thread, model, slot, is_subagent, length, messages) = (0, 0, 0, false, 0, 1);
        let bucket = Bucket { thread, model, slot, is_subagent, length, messages, tokens };
        let mut cost = Cost::default();
        cost.add(&bucket, "m", Some(&Rates::new(1.0, 1.0, 1.0)));
        for (text, is_used_up) in [
            ("per = 'session'\nusd = 1.0", true),
            ("per = 'session'\nusd = 1.1", false),
            ("per = 'session'\ntokens = 1000", true),
            ("per = 'session'\ntokens = 1001", false),
        ] {
            let standing = rule(text).standing("s", 0, cost.clone());
            assert_eq!(standing.is_used_up, is_used_up, "{text}");
        }
        let standing = rule("per = 'session'\nusd = 1.0").standing("s", 0, cost);
        assert!(held_words(&standing).contains("this session is used up ($1.00 of $1)"));
        assert_ne!(
            standing.key,
            rule("per = 'session'\nusd = 2.0").standing("s", 0, Cost::default()).key
        );
    }
}
