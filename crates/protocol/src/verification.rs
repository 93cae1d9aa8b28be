//! What `agents verify` found: which situations of an agent's version are recognised.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How well one version of an agent is recognised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Verification {
    pub agent: String,
    /// The program that was run.
    pub program: String,
    /// Null if it says none.
    pub version: Option<String>,
    /// The version of dogwatch that verified it.
    pub dogwatch: String,
    pub at: Timestamp,
    pub seconds: u64,
    pub totals: Totals,
    pub situations: Vec<Situation>,
    /// What each source of evidence decided.
    pub sources: Vec<SourceRecord>,
    /// From the end of a turn to the change that `watch` reports.
    pub turn_end: Option<Latency>,
    /// Folder with a recording of every situation that was not recognised.
    pub report: Option<String>,
}

impl Verification {
    /// Sources whose word was wrong: `status` does not assert anything on them for this version.
    pub fn distrusted(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().filter(|source| source.lies > 0).map(|source| source.source.as_str())
    }
}

/// What `agents verify` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Verifications {
    pub verifications: Vec<Verification>,
}

/// One situation, and what `status` said in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Situation {
    pub name: String,
    pub start: Start,
    pub grade: Grade,
    /// What was true.
    pub truth: String,
    /// What `status` said, as in `status`; null if it was not asked.
    pub said: Option<String>,
    /// `asserted`, `inferred` or `stale`.
    pub basis: Option<String>,
    /// The source that decided.
    pub source: Option<String>,
    /// How long after the situation began `status` was right; null if it was not.
    pub settled_ms: Option<u64>,
    /// Why it was not played, or what is wrong.
    pub note: Option<String>,
}

/// How the agent was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// By `spawn`, with hooks.
    Spawned,
    /// By `spawn -- PROGRAM`: in a session of dogwatch, without hooks.
    Command,
    /// In a shell, without dogwatch.
    ByHand,
}

impl Start {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spawned => "spawned",
            Self::Command => "command",
            Self::ByHand => "by_hand",
        }
    }
}

/// How right `status` was, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    Right,
    /// The state is right, something that belongs to it is not.
    Detail,
    /// `status` said `unknown`.
    NotKnown,
    /// Another state, inferred.
    Wrong,
    /// Another state, asserted.
    Lie,
    /// The agent did not do what the situation needs.
    NotPlayed,
    /// The agent has no such situation.
    NotApplicable,
}

impl Grade {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Detail => "detail",
            Self::NotKnown => "not_known",
            Self::Wrong => "wrong",
            Self::Lie => "lie",
            Self::NotPlayed => "not_played",
            Self::NotApplicable => "not_applicable",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How many situations got which grade.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Totals {
    /// Situations in which `status` was asked.
    pub played: u32,
    pub right: u32,
    pub detail: u32,
    pub not_known: u32,
    pub wrong: u32,
    pub lies: u32,
    pub not_played: u32,
    pub not_applicable: u32,
}

impl Totals {
    pub fn of<'a>(situations: impl IntoIterator<Item = &'a Situation>) -> Self {
        let mut totals = Self::default();
        for situation in situations {
            let count = match situation.grade {
                Grade::Right => &mut totals.right,
                Grade::Detail => &mut totals.detail,
                Grade::NotKnown => &mut totals.not_known,
                Grade::Wrong => &mut totals.wrong,
                Grade::Lie => &mut totals.lies,
                Grade::NotPlayed => &mut totals.not_played,
                Grade::NotApplicable => &mut totals.not_applicable,
            };
            *count += 1;
            if !matches!(situation.grade, Grade::NotPlayed | Grade::NotApplicable) {
                totals.played += 1;
            }
        }
        totals
    }
}

/// What one source of evidence decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SourceRecord {
    /// As in `why`.
    pub source: String,
    /// Situations that it decided rightly.
    pub right: u32,
    /// Situations that it decided wrongly, and that were inferred.
    pub wrong: u32,
    /// Situations that it decided wrongly, and that were asserted.
    pub lies: u32,
}

/// Times in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Latency {
    pub samples: u32,
    pub p50: u64,
    pub p99: u64,
}
