//! Looking after the registry for somebody.

use std::time::Duration;

use clap::Args as ClapArgs;

use super::{RollArgs, duration};

/// Look after the registry, and report to a Kanban card or to people
///
/// Does what `reconcile` does all the time, and tells of each new difference once: as a comment on a card of Hermes Kanban, or by the
/// ways that `[[notify]]` tables with `on = ["drift"]` name. The card is claimed, hears every five minutes that all is well, and is
/// blocked when a comment by somebody else says `stop` or `stop monitoring`. Started again after a crash or a reboot, it goes on with
/// the card that it had, and tells nothing twice.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch monitor --kanban t_3c9409ac
  dogwatch monitor --kanban t_3c9409ac --board ops --interval 10s
  dogwatch monitor                                    # tell people, as config.toml says

Exit codes: 0 stopped, 3 no such card, 4 the card is taken or no longer ours, 7 hermes was not found")]
pub(crate) struct MonitorArgs {
    /// The card to report to
    #[arg(long, value_name = "TASK")]
    pub(crate) kanban: Option<String>,
    /// The board that it is on [default: hermes's own choice]
    #[arg(long, value_name = "SLUG", requires = "kanban")]
    pub(crate) board: Option<String>,
    /// Who our comments are by
    #[arg(long, value_name = "NAME", default_value = "dogwatch", requires = "kanban")]
    pub(crate) author: String,
    /// The program that Hermes Kanban is spoken to by
    #[arg(long, value_name = "PROGRAM", default_value = "hermes", requires = "kanban")]
    pub(crate) hermes: String,
    #[command(flatten)]
    pub(crate) roll: RollArgs,
    /// How often to look when nobody says anything [default: 30s, 60s with more than 5 sessions]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) interval: Option<Duration>,
    /// How often to say that all is well
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    pub(crate) heartbeat: Duration,
    /// Print a JSON object for all that is reported
    #[arg(long)]
    pub(crate) json: bool,
}
