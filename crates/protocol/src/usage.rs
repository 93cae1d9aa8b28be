//! Tokens and costs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::SessionId;

/// Tokens by what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Tokens {
    /// Input that was neither read from nor written to the cache.
    pub input: u64,
    /// Output, with reasoning.
    pub output: u64,
    /// Input that was read from the cache.
    pub cache_read: u64,
    /// Input that was written to the cache.
    pub cache_write: u64,
    /// The part of `cache_write` that is kept for an hour.
    pub cache_write_1h: u64,
}

impl Tokens {
    /// All of them.
    pub fn total(self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// What the model was sent, cached or not.
    pub fn prompt(self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    pub fn numbers(self) -> [u64; 5] {
        [self.input, self.output, self.cache_read, self.cache_write, self.cache_write_1h]
    }

    #[must_use]
    pub fn from_numbers(n: [u64; 5]) -> Self {
        let [input, output, cache_read, cache_write, cache_write_1h] = n;
        Self { input, output, cache_read, cache_write, cache_write_1h }
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let mut sum = self.numbers();
        for (one, more) in sum.iter_mut().zip(other.numbers()) {
            *one = one.saturating_add(more);
        }
        Self::from_numbers(sum)
    }

    /// What is left without those; nothing if there are more of any of those.
    pub fn without(self, other: Self) -> Option<Self> {
        let mut left = self.numbers();
        for (one, less) in left.iter_mut().zip(other.numbers()) {
            *one = one.checked_sub(less)?;
        }
        Some(Self::from_numbers(left))
    }

    /// The higher number of each.
    pub fn raise(&mut self, other: Self) {
        let mut most = self.numbers();
        for (one, another) in most.iter_mut().zip(other.numbers()) {
            *one = (*one).max(another);
        }
        *self = Self::from_numbers(most);
    }
}

/// What rows of `dogwatch usage` stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum By {
    Session,
    Project,
    Day,
    Hour,
    Model,
    Run,
    Tag,
    Agent,
}

impl By {
    pub const ALL: [Self; 8] = [
        Self::Session,
        Self::Project,
        Self::Day,
        Self::Hour,
        Self::Model,
        Self::Run,
        Self::Tag,
        Self::Agent,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Project => "project",
            Self::Day => "day",
            Self::Hour => "hour",
            Self::Model => "model",
            Self::Run => "run",
            Self::Tag => "tag",
            Self::Agent => "agent",
        }
    }
}

/// Tokens with what they cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Used {
    pub tokens: Tokens,
    /// Answers of models.
    pub messages: u64,
    /// The tokens of subagents among them.
    pub subagents: Tokens,
    /// By list prices, in US dollars. Null if no model of these has a known price.
    pub cost_usd: Option<f64>,
    /// Some models have no known price: it cost more than `cost_usd`.
    pub cost_is_lower_bound: bool,
    /// The models without a known price.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpriced: Vec<String>,
}

/// One row of `dogwatch usage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct UsageRow {
    /// The day (`2026-11-16`), hour (`2026-11-16T10:00+01:00`), model, agent, project, run, tag or session. Null for what belongs to no
    /// run or tag.
    pub key: Option<String>,
    #[serde(flatten)]
    pub used: Used,
    /// By session: the session's id, if dogwatch knows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// By session: the agent's own id of the conversation, unless the session has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// By session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// By session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// What `dogwatch usage --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct UsageReport {
    pub by: By,
    /// Older usage is not among these.
    pub since: Option<Timestamp>,
    /// The day of dogwatch's price table.
    pub prices_of: String,
    pub rows: Vec<UsageRow>,
    /// Of all rows. With `--by tag` a session that has several tags is in several rows, and here once.
    pub total: Used,
}

/// What a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BudgetScope {
    /// Every session by itself.
    Session,
    /// All conversations of a project together.
    Project,
    /// All agents together, every day anew.
    Day,
}

impl BudgetScope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Project => "project",
            Self::Day => "day",
        }
    }
}

/// What happens when a budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BudgetAction {
    /// An event, of which people can be notified.
    #[default]
    Notify,
    /// That, and further prompts are refused until a person lifts it.
    Hold,
}

/// How much of a budget is used: a row of `dogwatch budget --json`, and the data of the event `budget`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BudgetStanding {
    /// Identifies the budget, its subject and its period.
    pub key: String,
    pub per: BudgetScope,
    /// The session's id, the project's root or the day.
    pub subject: String,
    /// The same for people.
    pub name: String,
    pub action: BudgetAction,
    pub limit_usd: Option<f64>,
    pub limit_tokens: Option<u64>,
    pub used_usd: Option<f64>,
    /// Without those that were read from the cache.
    pub used_tokens: u64,
    /// Some models have no known price: more than `used_usd` was used.
    pub cost_is_lower_bound: bool,
    /// For people.
    pub used_words: String,
    /// For people.
    pub limit_words: String,
    pub is_used_up: bool,
    /// A person has lifted it, so it holds nothing.
    pub is_lifted: bool,
}

impl BudgetStanding {
    /// Whether it refuses prompts once it is used up.
    pub fn holds(&self) -> bool {
        self.action == BudgetAction::Hold && !self.is_lifted
    }
}

/// What a hook answers to an agent whose prompt is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldPrompt {
    pub decision: &'static str,
    /// For people.
    pub reason: String,
}

/// What `dogwatch budget --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Budgets {
    pub budgets: Vec<BudgetStanding>,
}

/// What `dogwatch budget lift --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LiftedBudgets {
    /// The budgets that were lifted.
    pub lifted: Vec<BudgetStanding>,
}
