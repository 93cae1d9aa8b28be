//! Jobs: prompts that are tracked to their result.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};

use super::duration;

/// Submit a job and track it
///
/// A job is a prompt for a session. dogwatch delivers it like `send` and tracks it: queued, delivered, running, then done
/// (with the agent's last message), failed or cancelled. A job survives the process that submitted it.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch job submit api 'Write the tests' --wait
  git diff | dogwatch job submit review - --json
  dogwatch job ls
  dogwatch job wait 01a1df96 --timeout 30m
  dogwatch job cancel 01a1df96

Exit codes of submit and wait: 0 done (submit without --wait: delivered), 1 failed, 4 cancelled, 124 timeout")]
pub(crate) struct Job {
    #[command(subcommand)]
    pub(crate) verb: JobVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JobVerb {
    Submit(JobSubmit),
    Ls(JobLs),
    Show(JobShow),
    Wait(JobWait),
    Cancel(JobCancel),
}

/// Submit a job and deliver its prompt
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch job submit api 'Write the tests'
  dogwatch job submit api 'Write the tests' --wait --timeout 30m
  git diff | dogwatch job submit review - --json")]
pub(crate) struct JobSubmit {
    /// Name, id or pane (%3) of the session
    pub(crate) target: String,
    /// Prompt; `-` reads standard input
    #[arg(allow_hyphen_values = true, conflicts_with = "file")]
    pub(crate) prompt: Option<String>,
    /// Read the prompt from a file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Wait until the job has ended and print the result
    #[arg(long)]
    pub(crate) wait: bool,
    /// Send a message to your own session when the work is done, failed, waits or is limited (for agents)
    #[arg(long)]
    pub(crate) notify_me: bool,
    /// How long to wait in total [default: no limit; with --notify-me 3s, then the job stays queued]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

/// List jobs
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch job ls
  dogwatch job ls api --last 10 --json")]
pub(crate) struct JobLs {
    /// Name, id or pane (%3) of a session [default: all]
    pub(crate) target: Option<String>,
    /// Show only the newest N jobs
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) last: u32,
}

/// Show a job with its prompt and result
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch job show 01a1df96")]
pub(crate) struct JobShow {
    /// Job id, or its first eight characters
    pub(crate) id: String,
}

/// Wait until a job has ended and print the result
///
/// Delivers the prompt first if the process that submitted the job was killed before it could.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch job wait 01a1df96
  dogwatch job wait 01a1df96 --timeout 30m --json")]
pub(crate) struct JobWait {
    /// Job id, or its first eight characters
    pub(crate) id: String,
    /// How long to wait [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

/// Cancel a job
///
/// Withdraws the prompt if it is not delivered yet, and interrupts the agent if it is working on it.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch job cancel 01a1df96")]
pub(crate) struct JobCancel {
    /// Job id, or its first eight characters
    pub(crate) id: String,
}
