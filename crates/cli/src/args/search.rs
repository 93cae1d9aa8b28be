//! Searching.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueHint};
use jiff::Timestamp;

use super::{duration, since};

/// Search titles, prompts, conversations and last screens
///
/// Finds conversations of Claude Code, Codex, Gemini CLI and opencode, whether dogwatch started them or not, and sessions of
/// dogwatch. All words must be in the same message; case and accents do not matter. Before it answers, it adds what is new to
/// its index, for --wait at most.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch search rate limiter
  dogwatch search 'connection refused' --since 7d --agent claude
  dogwatch search login --project . --json
  dogwatch search --index")]
pub(crate) struct Search {
    /// Words to search for
    #[arg(required_unless_present = "index", value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// Most results
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Only conversations of these agents
    #[arg(long = "agent", value_name = "AGENT,…", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// Only conversations of the project that this directory belongs to
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) project: Option<PathBuf>,
    /// Only conversations that went on since this time (18:00, 2026-11-15, 2026-11-15T12:00) or within this duration (2h, 7d)
    #[arg(long, value_name = "TIME|DURATION", value_parser = since)]
    pub(crate) since: Option<Timestamp>,
    /// How long to add new transcripts to the index before answering
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration, conflicts_with = "index")]
    pub(crate) wait: Duration,
    /// Add everything to the index, however long it takes
    #[arg(long)]
    pub(crate) index: bool,
}
