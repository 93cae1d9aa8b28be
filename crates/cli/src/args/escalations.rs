//! Escalations: questions to a person.

use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};

use super::duration;

/// List and answer open questions
///
/// Agents and runs raise an escalation when they need a person. It stays open until it is answered. The first answer counts; it is stored with its time and author.
#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  dogwatch escalations                                 # list open escalations
  dogwatch escalations show 7
  dogwatch escalations answer 7 --option 2 --note 'I merged it by hand'
  dogwatch escalations wait 7 --timeout 1h --json

Exit codes: 0 done, 2 no such option, 3 no such escalation, 4 already settled, 124 timeout"
)]
pub(crate) struct Escalations {
    #[command(subcommand)]
    pub(crate) verb: Option<EscalationVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EscalationVerb {
    Ls(EscalationLs),
    Show(EscalationShow),
    Answer(EscalationAnswer),
    Wait(EscalationWait),
    Raise(Box<EscalationRaise>),
}

/// List open escalations
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch escalations ls
  dogwatch escalations ls --all --json")]
pub(crate) struct EscalationLs {
    /// Include settled escalations
    #[arg(long, short)]
    pub(crate) all: bool,
}

/// Show an escalation and its options
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch escalations show 7")]
pub(crate) struct EscalationShow {
    /// Number or id of the escalation
    pub(crate) id: String,
}

/// Answer an escalation
///
/// Without --option, on a terminal, dogwatch shows the escalation and asks for the number.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch escalations answer 7
  dogwatch escalations answer 7 --option 2 --note 'I merged it by hand'
  dogwatch escalations answer 7 --option retry")]
pub(crate) struct EscalationAnswer {
    /// Number or id of the escalation
    pub(crate) id: String,
    /// Number of the option, or its action (`retry`)
    #[arg(long, short, value_name = "N|ACTION")]
    pub(crate) option: Option<String>,
    /// Comment, stored with the answer
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Author of the answer [default: this user, or the agent that runs this command]
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) by: Option<String>,
}

/// Wait until an escalation is settled and print the answer
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch escalations wait 7
  dogwatch escalations wait 7 --timeout 1h --json")]
pub(crate) struct EscalationWait {
    /// Number or id of the escalation
    pub(crate) id: String,
    /// How long to wait [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

/// Raise an escalation
///
/// For scripts and agents. With the --key of an open escalation, returns that one instead of raising a new one.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch escalations raise commit_failed 'hook: tests fail' --story 1.2 --key 1.2/commit
  dogwatch escalations raise output_unclear 'no verdict' --session dev --deadline 1h --default 1")]
pub(crate) struct EscalationRaise {
    /// Reason: review_loop, output_unclear, spawn_failed, commit_failed, unexpected, dependency_conflict,
    /// dev_failed, session_incomplete, budget or asked
    pub(crate) trigger: String,
    /// Description of the problem
    pub(crate) problem: String,
    /// Key that identifies the escalation [default: always a new one]
    #[arg(long)]
    pub(crate) key: Option<String>,
    /// Run that it belongs to
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// Story that it is about
    #[arg(long)]
    pub(crate) story: Option<String>,
    /// Step of the story
    #[arg(long)]
    pub(crate) step: Option<String>,
    /// Name or id of the session that it is about
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// Other work depends on this (dev_failed)
    #[arg(long)]
    pub(crate) blocking: bool,
    /// Retries left (dev_failed)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) retries_left: u32,
    /// When the default answer applies
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "default")]
    pub(crate) deadline: Option<Duration>,
    /// Number of the default answer
    #[arg(long, value_name = "N", requires = "deadline")]
    pub(crate) default: Option<u32>,
}
