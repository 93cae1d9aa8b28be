//! Usage limits.

use clap::{Args as ClapArgs, Subcommand};
use dogwatch_core::limits::WhenLimited;

/// Show accounts, their usage limits and reset times
///
/// What to do at a limit is set by `spawn --when-limited`, by `limits set`, or for all sessions by `when_limited` below `[limits]` in the
/// configuration.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch limits
  dogwatch limits --json
  dogwatch limits set api wait
  dogwatch limits pause")]
pub(crate) struct Limits {
    #[command(subcommand)]
    pub(crate) verb: Option<LimitsVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LimitsVerb {
    Set(LimitsSet),
    Pause(LimitsPause),
    Resume(LimitsResume),
}

/// Set what to do when a session meets a usage limit
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch limits set api wait
  dogwatch limits set api switch:sonnet
  dogwatch limits set api notify")]
pub(crate) struct LimitsSet {
    /// Name, id or pane (%3) of the session
    pub(crate) session: String,
    /// notify, wait, switch:MODEL or fallback:AGENT
    #[arg(value_name = "POLICY", value_parser = WhenLimited::parse)]
    pub(crate) policy: WhenLimited,
}

/// Stop all automatic continuation, until `limits resume`
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch limits pause")]
pub(crate) struct LimitsPause {}

/// Allow automatic continuation again; what is due is continued now
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch limits resume")]
pub(crate) struct LimitsResume {}
