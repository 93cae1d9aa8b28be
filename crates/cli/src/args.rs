//! The command line. The doc comments in these files are the help texts.

mod escalations;
#[cfg(test)]
mod examples;
mod fleet;
mod jobs;
mod messages;
mod monitor;
mod overview;
mod registry;
mod sessions;
mod status;
mod story;
mod team;
mod tools;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};

pub(crate) use escalations::*;
pub(crate) use fleet::*;
pub(crate) use jobs::*;
pub(crate) use messages::*;
pub(crate) use monitor::*;
pub(crate) use registry::*;
pub(crate) use sessions::*;
pub(crate) use status::*;
pub(crate) use story::*;
pub(crate) use team::*;
pub(crate) use tools::*;

/// Supervise AI coding agents in tmux and report what each one is really doing
///
/// Every command works without a daemon, an account or a network.
#[derive(Debug, Parser)]
#[command(name = "dogwatch", version, max_term_width = 100, after_help = overview::AFTER)]
pub(crate) struct Args {
    /// tmux server: a name (tmux -L) or a path (tmux -S) [env: DOGWATCH_TMUX] [default: tmux's default]
    #[arg(long, global = true, value_name = "NAME|PATH")]
    pub(crate) socket: Option<String>,

    /// State directory [env: DOGWATCH_STATE_DIR] [default: ~/.local/state/dogwatch]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state_dir: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// Like [`Parser::parse_from`], in half the time: of some forty commands only the called one is built.
    pub(crate) fn read(words: Vec<OsString>) -> Self {
        let mut matches = Self::command_for(&words).get_matches_from(words);
        Self::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.exit())
    }

    fn command_for(words: &[OsString]) -> clap::Command {
        let mut command = Self::command();
        if wants_overview(words) {
            command.build();
            command = overview::grouped(command);
        }
        command
    }
}

/// The list of commands shows the help text of each, so all of them must have been built.
fn wants_overview(words: &[OsString]) -> bool {
    words.len() < 2 || words.iter().any(|word| word == "-h" || word == "--help" || word == "help")
}

// Attributes that are needed when another command is called stay here: name, aliases, hidden or not.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Spawn(Box<Spawn>),
    #[command(visible_alias = "list")]
    Ls(Ls),
    Status(StatusArgs),
    Why(Why),
    Wait(Wait),
    Watch(Watch),
    Events(Events),
    Relay(Relay),
    Fleet(Fleet),
    Broker(Broker),
    Send(Send),
    Answer(Answer),
    Messages(Messages),
    Job(Job),
    Escalations(Escalations),
    Create(Box<Create>),
    Resume(Resume),
    Delete(Delete),
    Adopt(Adopt),
    Registry(RegistryArgs),
    Reconcile(Reconcile),
    Monitor(MonitorArgs),
    Team(Team),
    Pane(Pane),
    Agent(Agent),
    Task(Task),
    Story(Box<Story>),
    Debug(Debug),
    /// Former name of `debug screen`
    #[command(hide = true)]
    Judge(DebugScreen),
    #[command(alias = "record")]
    BugReport(BugReport),
    Capture(Capture),
    Attach(Attach),
    Kill(Kill),
    KillAll(KillAll),
    Exists(Exists),
    Gc(Gc),
    Doctor(Doctor),
    Agents(Agents),
    Demo(Demo),
    /// Run a session in its pane (called by tmux)
    #[command(hide = true)]
    Run(Run),
    /// Deliver the queued messages of a session (called by its runner)
    #[command(hide = true)]
    Deliver(Deliver),
    /// Run scripted agents for tests
    #[command(hide = true)]
    Lab(Lab),
}

impl Command {
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::Spawn(a) => a.json,
            Self::Ls(a) => a.json,
            Self::Status(a) => a.json,
            Self::Why(a) => a.json,
            Self::Wait(a) => a.json,
            Self::Watch(a) => a.json,
            Self::Events(a) => a.json,
            Self::Fleet(a) => a.wants_json(),
            Self::Send(a) => a.json,
            Self::Answer(a) => a.json,
            Self::Messages(a) => a.json,
            Self::Job(a) => a.wants_json(),
            Self::Escalations(a) => a.wants_json(),
            Self::Create(a) => a.json,
            Self::Resume(a) => a.json,
            Self::Delete(a) => a.json,
            Self::Adopt(a) => a.json,
            Self::Registry(a) => a.list().json,
            Self::Reconcile(a) => a.emit_diff,
            Self::Monitor(a) => a.json,
            Self::Team(a) => a.json,
            Self::Pane(a) => a.wants_json(),
            Self::Agent(a) => a.wants_json(),
            Self::Task(a) => a.wants_json(),
            Self::Story(a) => a.wants_json(),
            Self::Debug(a) => a.wants_json(),
            Self::Judge(a) => a.json,
            Self::BugReport(a) => a.json,
            Self::Capture(a) => a.json,
            Self::Kill(a) => a.json,
            Self::KillAll(a) => a.json,
            Self::Exists(a) => a.json,
            Self::Gc(a) => a.json,
            Self::Doctor(a) => a.json,
            Self::Agents(a) => a.json,
            Self::Relay(_)
            | Self::Broker(_)
            | Self::Attach(_)
            | Self::Demo(_)
            | Self::Run(_)
            | Self::Deliver(_)
            | Self::Lab(_) => false,
        }
    }
}

/// A duration as people write it.
fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Duration::from_secs(seconds.into()));
    }
    let span: jiff::SignedDuration = text
        .parse::<jiff::Span>()
        .and_then(|span| span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()))
        .map_err(|_| "not a duration; write for example 90s, 30m, 12h or 7d".to_owned())?;
    Duration::try_from(span).map_err(|_| "a duration cannot be negative".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn durations() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("7d"), Ok(Duration::from_hours(7 * 24)));
        assert!(duration("soon").is_err() && duration("-1h").is_err());
    }
}
