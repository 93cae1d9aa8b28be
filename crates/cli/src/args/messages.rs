//! Messages to agents and answers to their dialogs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;

use super::duration;

/// Send a message to an agent and confirm that it arrived
///
/// Pastes the text, submits it as a separate step, and looks for it in the agent's hooks or transcript. Never types into
/// a dialog, never adds to a text that is already in the input box, and never submits anything else. Exit code 0 means
/// that the agent has provably received the message.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch send api 'Now write the tests'
  git diff | dogwatch send review - --timeout 10m
  dogwatch send api --when now 'Stop: use the other branch'
  dogwatch send api --slash '/rename api-agent'

Exit codes: 0 delivered, 1 failed or typed but not submitted, 4 refused (open dialog, draft in the input box), 124 queued (timeout)")]
pub(crate) struct Send {
    /// Name, id or pane (%3) of the session
    pub(crate) target: String,
    /// Message; `-` reads standard input
    #[arg(allow_hyphen_values = true, conflicts_with = "file")]
    pub(crate) text: Option<String>,
    /// Read the message from a file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// When to type the message
    #[arg(long, value_enum, default_value_t = SendWhen::Idle)]
    pub(crate) when: SendWhen,
    /// Type the text as a slash command of the agent
    #[arg(long)]
    pub(crate) slash: bool,
    /// Send a message to your own session when the work is done, failed, waits or is limited (for agents)
    #[arg(long, conflicts_with = "slash")]
    pub(crate) notify_me: bool,
    /// How long to wait until the agent is ready [default: no limit; with --notify-me 3s, then it stays queued]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SendWhen {
    /// When the agent is at its prompt and nothing is running
    Idle,
    /// Even while the agent is working; the agent queues the message or reacts to it
    Now,
}

/// Answer an agent's open dialog
///
/// Selects the option step by step, and only in the dialog that was read: if another dialog is open by then, nothing is
/// pressed. `dogwatch status --json` shows question, options and the dialog's id.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch answer api yes
  dogwatch answer api 2
  dogwatch answer api 'PostgreSQL' --dialog 7f3a90c1")]
pub(crate) struct Answer {
    /// Name, id or pane (%3) of the session
    pub(crate) target: String,
    /// Number of the option, its text, or the beginning of its text
    pub(crate) choice: String,
    /// Answer only the dialog with this id (`dialog` in `status --json`)
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
}

/// List sent messages and their delivery status
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch messages
  dogwatch messages api --pending --json
  dogwatch messages --cancel 01a1df96-f67d-769d-a213-5fb2842c5c0e")]
pub(crate) struct Messages {
    /// Name, id or pane (%3) of a session [default: all]
    pub(crate) target: Option<String>,
    /// Only messages that are not delivered yet
    #[arg(long)]
    pub(crate) pending: bool,
    /// Show only the newest N messages
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) last: u32,
    /// Cancel a message that was not typed yet
    #[arg(long, value_name = "ID")]
    pub(crate) cancel: Option<String>,
}
