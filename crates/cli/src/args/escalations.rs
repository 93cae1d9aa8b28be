//! Questions to people.

use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};

use super::duration;

/// Decide what agents and runs ask of a person
///
/// A question is kept until it is answered, whoever asked it and whatever happens meanwhile. Anybody may answer, once: the
/// first answer counts, and is written down with its time and who gave it.
#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  dogwatch escalations                                 # what is open
  dogwatch escalations show 7
  dogwatch escalations answer 7 --option 2 --note 'I merged it by hand'
  dogwatch escalations wait 7 --timeout 1h --json

Exit codes: 0 done, 2 no such option, 3 no such escalation, 4 settled already, 124 not answered in time"
)]
pub(crate) struct Escalations {
    #[command(subcommand)]
    pub(crate) verb: Option<EscalationVerb>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EscalationVerb {
    Ls(EscalationLs),
    Show(EscalationShow),
    Answer(EscalationAnswer),
    Wait(EscalationWait),
    Raise(Box<EscalationRaise>),
}

impl Escalations {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.verb {
            None => self.json,
            Some(EscalationVerb::Ls(a)) => a.json,
            Some(EscalationVerb::Show(a)) => a.json,
            Some(EscalationVerb::Answer(a)) => a.json,
            Some(EscalationVerb::Wait(a)) => a.json,
            Some(EscalationVerb::Raise(a)) => a.json,
        }
    }
}

/// List what is open
#[derive(Debug, ClapArgs)]
pub(crate) struct EscalationLs {
    /// Also what was settled
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the situation and the numbered options
#[derive(Debug, ClapArgs)]
pub(crate) struct EscalationShow {
    /// Number or id
    pub(crate) id: String,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Choose an option
///
/// Without --option, on a terminal, the situation is shown and the number asked for.
#[derive(Debug, ClapArgs)]
pub(crate) struct EscalationAnswer {
    /// Number or id
    pub(crate) id: String,
    /// Number of the option, or the word of what it does (`retry`)
    #[arg(long, short, value_name = "N|WORD")]
    pub(crate) option: Option<String>,
    /// A word about it, kept with the answer
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Who answers [default: this user, or the agent that runs this]
    #[arg(long = "as", value_name = "WHO")]
    pub(crate) by: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Wait until it is settled, and print how
#[derive(Debug, ClapArgs)]
pub(crate) struct EscalationWait {
    /// Number or id
    pub(crate) id: String,
    /// How long to wait; without it, as long as it takes
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Ask a person
///
/// For scripts and agents. Raised again with the same --key while it is open, it is the same question.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch escalations raise commit_failed 'hook: tests fail' --story 1.2 --key 1.2/commit
  dogwatch escalations raise output_unclear 'no verdict' --session dev --deadline 1h --default 1")]
pub(crate) struct EscalationRaise {
    /// What has happened: review_loop, output_unclear, spawn_failed, commit_failed, unexpected, dependency_conflict,
    /// dev_failed, session_incomplete or budget
    pub(crate) trigger: String,
    /// What went wrong
    pub(crate) problem: String,
    /// What it is known by [default: a new question each time]
    #[arg(long)]
    pub(crate) key: Option<String>,
    /// Run that it came up in
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
    /// Other work cannot be done before this is (dev_failed)
    #[arg(long)]
    pub(crate) blocking: bool,
    /// How many retries are left (dev_failed)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) retries_left: u32,
    /// When it answers itself
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "default")]
    pub(crate) deadline: Option<Duration>,
    /// Number of the option that counts then
    #[arg(long, value_name = "N", requires = "deadline")]
    pub(crate) default: Option<u32>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
