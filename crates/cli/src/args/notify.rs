//! Notifications.

use clap::{Args as ClapArgs, Subcommand};

/// Test notification channels, and list what was sent
///
/// `[[notify]]` tables in config.toml say what is sent where: docs/notifications.md describes them. The supervisor,
/// which starts with the first session, sends.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch notify test
  dogwatch notify log")]
pub(crate) struct NotifyArgs {
    #[command(subcommand)]
    pub(crate) verb: NotifyVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NotifyVerb {
    Test(NotifyTest),
    Log(NotifyLog),
    /// Publish the notification on standard input to the broker (called by dogwatch)
    #[command(hide = true)]
    Publish(NotifyPublish),
    /// Look at a session and send what is due (called by its runner)
    #[command(hide = true)]
    Follow(NotifyFollow),
}

/// Send a test notification
///
/// Goes to all configured channels, or to those with this name or kind, whatever their rules, quiet hours and filters say.
/// Fails if one of them does.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch notify test
  dogwatch notify test desktop
  dogwatch notify test phone --json")]
pub(crate) struct NotifyTest {
    /// Name or kind of the channel [default: all]
    pub(crate) channel: Option<String>,
}

/// List notifications: when, where, and with what result
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch notify log
  dogwatch notify log --last 200 --failed
  dogwatch notify log --json")]
pub(crate) struct NotifyLog {
    /// How many
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) last: u32,
    /// Only those that failed or are tried again
    #[arg(long)]
    pub(crate) failed: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct NotifyPublish {
    #[arg(long)]
    pub(crate) topic: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct NotifyFollow {
    pub(crate) session: String,
    /// Number of an event that was told and could not be written down
    #[arg(long)]
    pub(crate) told: Option<u64>,
}
