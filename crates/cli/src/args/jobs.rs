//! Work for agents.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};

use super::duration;

/// Give work to an agent, and follow it to its end
///
/// A job is a prompt for a session. It is delivered with proof, as `send` does, and followed by evidence: queued, delivered,
/// running, then done with the agent's last words, failed or cancelled. It is kept whatever becomes of the process that
/// submitted it; the next look finds out how far it has come.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch job submit api 'Write the tests' --wait
  git diff | dogwatch job submit review - --json
  dogwatch job ls
  dogwatch job wait 01a1df96 --timeout 30m
  dogwatch job cancel 01a1df96

Exit codes of submit and wait: 0 done (submit without --wait: delivered), 1 failed, 4 cancelled, 124 not done in time")]
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

impl Job {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.verb {
            JobVerb::Submit(a) => a.json,
            JobVerb::Ls(a) => a.json,
            JobVerb::Show(a) => a.json,
            JobVerb::Wait(a) => a.json,
            JobVerb::Cancel(a) => a.json,
        }
    }
}

/// File a job and deliver its prompt
#[derive(Debug, ClapArgs)]
pub(crate) struct JobSubmit {
    /// Name, id or pane (%3) of the session
    pub(crate) target: String,
    /// The prompt; - reads standard input
    #[arg(allow_hyphen_values = true, conflicts_with = "file")]
    pub(crate) prompt: Option<String>,
    /// Read the prompt from a file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Wait until it is over, and print the result
    #[arg(long)]
    pub(crate) wait: bool,
    /// How long to wait in all; without it, as long as it takes
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// List jobs
#[derive(Debug, ClapArgs)]
pub(crate) struct JobLs {
    /// Name, id or pane (%3) of a session [default: all]
    pub(crate) target: Option<String>,
    /// How many of the newest
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) last: u32,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show a job with its prompt and its result
#[derive(Debug, ClapArgs)]
pub(crate) struct JobShow {
    /// Id of the job, or its first eight letters
    pub(crate) id: String,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Wait until a job is over, and print the result
///
/// If whoever submitted it was killed before the prompt was delivered, it is delivered now.
#[derive(Debug, ClapArgs)]
pub(crate) struct JobWait {
    /// Id of the job, or its first eight letters
    pub(crate) id: String,
    /// How long to wait; without it, as long as it takes
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Take a job's prompt back, or interrupt the agent at it
#[derive(Debug, ClapArgs)]
pub(crate) struct JobCancel {
    /// Id of the job, or its first eight letters
    pub(crate) id: String,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
