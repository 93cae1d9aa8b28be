//! The command line. The doc comments here are the help.

mod escalations;
#[cfg(test)]
mod examples;
mod fleet;
mod jobs;
mod messages;
mod monitor;
mod roll;
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
pub(crate) use roll::*;
pub(crate) use sessions::*;
pub(crate) use status::*;
pub(crate) use story::*;
pub(crate) use team::*;
pub(crate) use tools::*;

/// Keeps watch over AI coding agents in tmux, and tells the truth about them
///
/// Every command works on its own, with no daemon, no account and no network.
#[derive(Debug, Parser)]
#[command(name = "dogwatch", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// tmux server to use: a name (tmux -L) or a path (tmux -S) [env: DOGWATCH_TMUX] [default:
    /// tmux's own choice]
    #[arg(long, global = true, value_name = "NAME|PATH")]
    pub(crate) socket: Option<String>,

    /// Folder for dogwatch's state [env: DOGWATCH_STATE_DIR] [default: ~/.local/state/dogwatch]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state_dir: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  dogwatch spawn claude 'Fix the failing test'              # start an agent
  dogwatch spawn --name build -- make -j4                   # or any command
  dogwatch status                                           # what each is doing
  dogwatch why NAME                                         # and why we think so
  dogwatch wait NAME --for idle,waiting                     # wait until it is done, or needs you
  dogwatch watch                                            # every change, as it happens
  dogwatch events --follow                                  # what happened, and what happens
  dogwatch fleet                                            # the sessions of all hosts
  dogwatch send NAME 'Now write the tests'                  # a message, with proof
  dogwatch job submit NAME 'Write the tests' --wait         # work, followed to its end and its result
  dogwatch escalations                                      # what waits for your decision
  dogwatch pane spawn --role dev --task 'Write the parser'  # an agent beside you, in a team
  dogwatch create claude                                    # an agent on the registry, to be resumed
  dogwatch reconcile --once                                 # what differs between registry and tmux
  dogwatch story run --epic 1                               # whole stories, unattended
  dogwatch capture NAME --lines 100                         # what it shows, also after it has ended
  dogwatch record NAME                                      # all of it in a folder, for a bug report
  dogwatch kill NAME                                        # end it, with everything it started
  dogwatch demo                                             # see it work, with scripted agents

Exit codes: 0 done or yes, 1 failed or no, 2 wrong usage, 3 no such session, 4 conflict,
5 tmux, 6 state or store, 7 agent, 124 timeout.";

impl Args {
    /// As [`Parser::parse_from`], in half the time: of some forty commands only the one that is called is built.
    pub(crate) fn read(words: Vec<OsString>) -> Self {
        let mut matches = Self::command_for(&words).get_matches_from(words);
        Self::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.exit())
    }

    fn command_for(words: &[OsString]) -> clap::Command {
        let mut command = Self::command();
        if wants_overview(words) {
            command.build();
        }
        command
    }
}

/// The list of commands shows what each says of itself, so all of them must have been built.
fn wants_overview(words: &[OsString]) -> bool {
    words.len() < 2 || words.iter().any(|word| word == "-h" || word == "--help" || word == "help")
}

// What must be known of a command that is not the one called stands here: its name, its aliases, and whether it is hidden.
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
    Judge(Judge),
    Record(Record),
    Capture(Capture),
    Attach(Attach),
    Kill(Kill),
    KillAll(KillAll),
    Exists(Exists),
    Gc(Gc),
    Doctor(Doctor),
    Agents(Agents),
    Demo(Demo),
    /// Run a session in its pane (called by tmux, not by people)
    #[command(hide = true)]
    Run(Run),
    /// Deliver the messages that wait for a session (called by its runner, not by people)
    #[command(hide = true)]
    Deliver(Deliver),
    /// Tools of the laboratory: scripted agents
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
            Self::Judge(a) => a.json,
            Self::Record(a) => a.json,
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

/// A span of time as people write it.
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
    fn the_overview_tells_what_each_command_does() {
        for words in [&["dogwatch"][..], &["dogwatch", "-h"], &["dogwatch", "help"]] {
            let words: Vec<OsString> = words.iter().map(Into::into).collect();
            let told = Args::command_for(&words).try_get_matches_from(&words).unwrap_err();
            let told = told.to_string();
            for about in ["Start an agent, or any command", "Do whole stories", "[alias: list]"] {
                assert!(told.contains(about), "{words:?}: {told}");
            }
            let hidden = told.lines().any(|line| line.trim_start().starts_with("hook "));
            assert!(!hidden, "{told}");
        }
        assert!(Args::try_parse_from(["dogwatch", "list"]).is_ok());
    }

    #[test]
    fn durations() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("7d"), Ok(Duration::from_hours(7 * 24)));
        assert!(duration("soon").is_err() && duration("-1h").is_err());
    }
}
