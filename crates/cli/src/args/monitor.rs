//! Watching the registry and reporting differences.

use std::time::Duration;

use clap::Args as ClapArgs;

use super::{WhichRegistry, duration};

/// Watch the registry and report each difference once
///
/// Reconciles continuously, like `reconcile`, and reports each new difference once: as a comment on a Hermes Kanban
/// card, or through the `[[notify]]` tables with `on = ["drift"]`. Claims the card, sends it a heartbeat, and stops
/// and blocks it when a comment by another author says `stop` or `stop monitoring`. Restarted after a crash or a
/// reboot, it continues with the same card and reports nothing twice.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch monitor --kanban t_3c9409ac
  dogwatch monitor --kanban t_3c9409ac --board ops --interval 10s
  dogwatch monitor                                    # notify as config.toml says

Exit codes: 0 stopped, 3 no such card, 4 the card is claimed by another worker, 7 hermes not found")]
pub(crate) struct MonitorArgs {
    /// Kanban card to report to
    #[arg(long, value_name = "TASK")]
    pub(crate) kanban: Option<String>,
    /// Kanban board of the card [default: hermes's default]
    #[arg(long, value_name = "SLUG", requires = "kanban")]
    pub(crate) board: Option<String>,
    /// Author of the comments
    #[arg(long, value_name = "NAME", default_value = "dogwatch", requires = "kanban")]
    pub(crate) author: String,
    /// Hermes Kanban program to call
    #[arg(long, value_name = "PROGRAM", default_value = "hermes", requires = "kanban")]
    pub(crate) hermes: String,
    #[command(flatten)]
    pub(crate) which_registry: WhichRegistry,
    /// How often to check when no event arrives [default: 30s, 60s with more than 5 sessions]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) interval: Option<Duration>,
    /// How often to send a heartbeat
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    pub(crate) heartbeat: Duration,
}
