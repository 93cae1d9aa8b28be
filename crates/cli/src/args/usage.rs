//! Tokens and costs.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum, ValueHint};
use dogwatch_protocol::usage::By;
use jiff::Timestamp;

use super::since;

/// Show tokens and costs of all agents
///
/// Reads the transcripts that Claude Code, Codex, Gemini CLI and opencode keep, whoever started them, and counts every answer
/// once: in resumed, forked and compacted conversations too. Costs are list prices (docs/usage.md); `≥` marks a sum in which
/// models without a known price are missing. A `[[price]]` in config.toml adds or replaces a price.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch usage
  dogwatch usage --by project --since 7d
  dogwatch usage --by session --since 18:00
  dogwatch usage --by hour --since 2026-11-16
  dogwatch usage --by model --csv > usage.csv
  dogwatch usage --by day --svg usage.svg
  dogwatch usage --json | jq .total.cost_usd")]
pub(crate) struct UsageArgs {
    /// What a row stands for
    #[arg(long, value_enum, default_value = "day")]
    pub(crate) by: ByWord,
    /// Only usage since this time (18:00, 2026-11-15, 2026-11-15T12:00) or within this duration (90m, 7d)
    ///
    /// From the quarter of an hour that it falls in.
    #[arg(long, value_name = "TIME|DURATION", value_parser = since)]
    pub(crate) since: Option<Timestamp>,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Write a bar chart to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["json", "csv"])]
    pub(crate) svg: Option<PathBuf>,
}

/// Show budgets, and how much of each is used
///
/// Budgets are `[[budget]]` tables in config.toml (docs/usage.md). One that is used up is an event, `budget`; with `action = "hold"`
/// further prompts are refused until you lift it.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch budget
  dogwatch budget --json
  dogwatch budget lift")]
pub(crate) struct Budget {
    #[command(subcommand)]
    pub(crate) verb: Option<BudgetVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BudgetVerb {
    Lift(BudgetLift),
}

/// Let prompts through although a budget is used up
///
/// Until the period of the budget ends, or its limit is changed.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch budget lift
  dogwatch budget lift api")]
pub(crate) struct BudgetLift {
    /// Name, id or pane (%3) of the session that is held [default: all budgets]
    pub(crate) session: Option<String>,
}

/// [`By`], as a word of the command line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByWord(pub(crate) By);

impl ValueEnum for ByWord {
    fn value_variants<'a>() -> &'a [Self] {
        &const {
            let mut all = [Self(By::Day); By::ALL.len()];
            let mut n = 0;
            while n < all.len() {
                all[n] = Self(By::ALL[n]);
                n += 1;
            }
            all
        }
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.as_str()))
    }
}
