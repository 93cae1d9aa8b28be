//! The report of what sessions did.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};

/// Report what sessions did, with the exit codes of their tests
///
/// Tests and builds are listed with the exit codes that the agent recorded, beside what it said of them. What an agent said
/// is listed only if a run and its result are recorded before it. Time that no record covers is `not observed`. Every number
/// names its source: an entry of the journal (`dogwatch events`), a line of a transcript, a commit. Secrets are masked.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch report
  dogwatch report --since 2h api
  dogwatch report --since 2026-11-15 --html report.html
  dogwatch report --json | jq '.sessions[].claims[] | select(.verdict == \"contradicted\")'")]
pub(crate) struct ReportArgs {
    /// Names, ids or panes (%3) of sessions [default: all that ran in the period]
    pub(crate) sessions: Vec<String>,
    /// Beginning of the period: a time of day (the last time it was that late), a duration, or a date
    #[arg(long, value_name = "TIME", default_value = "18:00")]
    pub(crate) since: String,
    /// Write one self-contained HTML page to this file; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}
