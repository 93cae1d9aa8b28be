//! Rules that answer requests for permission.

use clap::{Args as ClapArgs, Subcommand};
use jiff::Timestamp;

use super::since;

/// Show the rules that answer requests for permission
///
/// Write rules as [[rule]] tables in config.toml. Without any, dogwatch answers no permission prompt.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch rules
  dogwatch rules rehearse --since 12h
  dogwatch rules explain api
  dogwatch rules pause")]
pub(crate) struct Rules {
    #[command(subcommand)]
    pub(crate) verb: Option<RulesVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesVerb {
    Rehearse(RulesRehearse),
    Explain(RulesExplain),
    /// Stop all rules from answering, until `rules resume`
    #[command(after_help = "\
Examples:
  dogwatch rules pause")]
    Pause,
    /// Let rules answer again
    #[command(after_help = "\
Examples:
  dogwatch rules resume")]
    Resume,
}

/// Show what the rules of today say to the requests of the past
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch rules rehearse
  dogwatch rules rehearse --since 2h --json")]
pub(crate) struct RulesRehearse {
    /// Only requests since this time (18:00, 2026-11-15, 2026-11-15T12:00) or within this duration (90s, 2h, 7d)
    #[arg(long, value_name = "TIME|DURATION", value_parser = since)]
    pub(crate) since: Option<Timestamp>,
}

/// Say what the rules answer to one request, and why
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch rules explain api
  dogwatch rules explain 1042")]
pub(crate) struct RulesExplain {
    /// A session, for its last request; or the number of a request
    #[arg(value_name = "SESSION|NUMBER")]
    pub(crate) target: String,
}
