//! Talking to agents.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;

use super::duration;

/// Send a message to an agent, and prove that it arrived
///
/// The text is pasted as it is, submitted as a step of its own, and looked for in what the agent says of itself. Nothing is put
/// into a dialog or beside a text that somebody else has typed, and nothing is submitted that is not ours. Exit code 0 only if it is
/// proven that the agent has taken the message.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch send api 'Now write the tests'
  git diff | dogwatch send review - --timeout 10m
  dogwatch send api --when now 'Stop: use the other branch'
  dogwatch send api --slash '/rename api-agent'

Exit codes: 0 delivered, 1 failed or typed and not submitted, 4 refused (a dialog, a draft), 124 queued (not taken in time)")]
pub(crate) struct Send {
    /// Name, id or pane (%3) of the session
    pub(crate) target: String,
    /// The message; - reads standard input
    #[arg(allow_hyphen_values = true, conflicts_with = "file")]
    pub(crate) text: Option<String>,
    /// Read the message from a file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// When it may be put into the agent's box
    #[arg(long, value_enum, default_value_t = SendWhen::Idle)]
    pub(crate) when: SendWhen,
    /// It is a slash command of the agent's own: type it
    #[arg(long)]
    pub(crate) slash: bool,
    /// How long to wait for the agent to be ready; without it, as long as it takes
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SendWhen {
    /// Once it is at its prompt with nothing running
    Idle,
    /// Also while it works: it queues the message, or is steered by it
    Now,
}

/// Answer the dialog that an agent has open
///
/// The option is chosen step by step, and only on the dialog that was seen: if another one is there by now, nothing is pressed.
/// `dogwatch status --json` shows question, options and the mark of the dialog.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch answer api yes
  dogwatch answer api 2
  dogwatch answer api 'PostgreSQL' --dialog 7f3a90c1")]
pub(crate) struct Answer {
    /// Name, id or pane (%3) of the session
    pub(crate) target: String,
    /// Number of the option, its text, or how its text begins
    pub(crate) choice: String,
    /// Only this dialog, by the mark that `status --json` showed
    #[arg(long, value_name = "MARK")]
    pub(crate) dialog: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// List messages that were sent, and what became of them
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch messages
  dogwatch messages api --pending --json
  dogwatch messages --cancel 01a1df96-f67d-769d-a213-5fb2842c5c0e")]
pub(crate) struct Messages {
    /// Name, id or pane (%3) of a session [default: all]
    pub(crate) target: Option<String>,
    /// Only those that are still to be delivered
    #[arg(long)]
    pub(crate) pending: bool,
    /// How many of the newest
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) last: u32,
    /// Take a message back that was not put into the agent's box yet
    #[arg(long, value_name = "ID")]
    pub(crate) cancel: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
