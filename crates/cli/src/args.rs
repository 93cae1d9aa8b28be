//! The command line. The doc comments in these files are the help texts.

mod dashboard;
mod escalations;
#[cfg(test)]
mod examples;
mod fleet;
mod jobs;
mod labels;
mod limits;
mod messages;
mod monitor;
mod notify;
mod overview;
mod registry;
mod report;
mod rules;
mod search;
mod sessions;
mod status;
mod story;
mod team;
mod tools;
mod usage;
mod worktree;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use jiff::{Timestamp, Zoned};

pub(crate) use dashboard::*;
pub(crate) use escalations::*;
#[cfg(test)]
pub(crate) use examples::assert_can_be_pasted;
pub(crate) use fleet::*;
pub(crate) use jobs::*;
pub(crate) use labels::*;
pub(crate) use limits::*;
pub(crate) use messages::*;
pub(crate) use monitor::*;
pub(crate) use notify::*;
pub(crate) use registry::*;
pub(crate) use report::*;
pub(crate) use rules::*;
pub(crate) use search::*;
pub(crate) use sessions::*;
pub(crate) use status::*;
pub(crate) use story::*;
pub(crate) use team::*;
pub(crate) use tools::*;
pub(crate) use usage::*;
pub(crate) use worktree::*;

/// Options of every command come after its own.
const LAST: usize = 900;

/// Supervise AI coding agents in tmux and report what each one is really doing
///
/// Nothing to set up or to leave running; no account and no network needed.
#[derive(Debug, Parser)]
#[command(name = "dogwatch", version, max_term_width = 100, after_help = overview::AFTER)]
pub(crate) struct Args {
    /// tmux server: a name (tmux -L) or a path (tmux -S) [env: DOGWATCH_TMUX] [default: tmux's default]
    #[arg(long, global = true, value_name = "NAME|PATH", display_order = LAST)]
    pub(crate) socket: Option<String>,

    /// State directory [env: DOGWATCH_STATE_DIR] [default: ~/.local/state/dogwatch]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, display_order = LAST)]
    pub(crate) state_dir: Option<PathBuf>,

    /// Print JSON: one object, or one per line of a stream
    #[arg(long, global = true, display_order = LAST)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// Like [`Parser::parse_from`], in half the time: of some forty commands only the called one is built.
    pub(crate) fn read(mut words: Vec<OsString>) -> Self {
        if names_no_command(&words) {
            words.push("top".into());
        }
        let mut matches = Self::command_for(&words).get_matches_from(words);
        let args = Self::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.exit());
        if let Some(name) = args.command.without_json().filter(|_| args.json) {
            let problem = format!("`dogwatch {name}` has no JSON output");
            Self::command().error(ErrorKind::ArgumentConflict, problem).exit();
        }
        args
    }

    /// Whether errors are printed as JSON too.
    pub(crate) fn wants_json(&self) -> bool {
        self.json || matches!(&self.command, Command::Reconcile(args) if args.wants_json())
    }

    /// The whole command line, with all commands built.
    pub(crate) fn whole() -> clap::Command {
        let mut command = Self::command();
        command.build();
        command
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
    Diff(Diff),
    Finish(Finish),
    Pr(Pr),
    Trust(Trust),
    Untrust(Untrust),
    Top(Top),
    Popup(Popup),
    Sidebar(Sidebar),
    TmuxStatus(TmuxStatus),
    Status(StatusArgs),
    Why(Why),
    Wait(Wait),
    Watch(Watch),
    Events(Events),
    Report(ReportArgs),
    Usage(UsageArgs),
    Budget(Budget),
    Relay(Relay),
    Fleet(Fleet),
    Broker(Broker),
    Mcp(Mcp),
    InstallSkill(InstallSkill),
    Send(Send),
    Answer(Answer),
    Rules(Rules),
    Messages(Messages),
    Job(Job),
    Escalations(Escalations),
    Notify(NotifyArgs),
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
    Next(Next),
    Kill(Kill),
    KillAll(KillAll),
    Exists(Exists),
    Search(Search),
    Tag(Tag),
    Limits(Limits),
    Rename(Rename),
    Archive(Archive),
    Unarchive(Unarchive),
    Gc(Gc),
    Doctor(Doctor),
    Supervisor(SupervisorArgs),
    Agents(Agents),
    Demo(Demo),
    Completions(Completions),
    Man(ManPages),
    Schema(SchemaArgs),
    /// Run a session in its pane (called by tmux)
    #[command(hide = true)]
    Run(Run),
    /// Start the supervisor (called by runners of version 0.1)
    #[command(hide = true)]
    Deliver(Deliver),
    /// Run scripted agents for tests
    #[command(hide = true)]
    Lab(Lab),
}

impl Command {
    /// The name of a command that prints no JSON.
    fn without_json(&self) -> Option<&'static str> {
        Some(match self {
            Self::Relay(_) => "relay",
            Self::Broker(_) => "broker",
            Self::Popup(_) => "popup",
            Self::Sidebar(_) => "sidebar",
            Self::TmuxStatus(_) => "tmux-status",
            Self::Attach(_) => "attach",
            Self::Next(_) => "next",
            Self::Demo(_) => "demo",
            Self::Completions(_) => "completions",
            Self::Man(_) => "man",
            Self::Mcp(_) => "mcp",
            Self::Run(_) => "run",
            Self::Deliver(_) => "deliver",
            Self::Lab(_) => "lab",
            _ => return None,
        })
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

/// A time as people write it, or how long ago.
fn since(text: &str) -> Result<Timestamp, String> {
    let ago = || {
        let seconds: u32 = text.parse().ok()?;
        Timestamp::now().checked_sub(jiff::SignedDuration::from_secs(seconds.into())).ok()
    };
    dogwatch_core::since::parse(text, &Zoned::now())
        .or_else(ago)
        .ok_or_else(|| format!("not a time; write for example {}", dogwatch_core::since::FORMS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_takes_the_same_times() {
        for text in ["18:00", "7:30", "2h", "90", "7d", "2026-11-15", "2026-11-15T18:00"] {
            for command in [&["events"][..], &["rules", "rehearse"], &["usage"], &["search", "x"]] {
                let given = ["--since", text];
                let words = ["dogwatch"].iter().chain(command).chain(&given);
                let read = Args::try_parse_from(words);
                assert!(read.is_ok(), "{command:?} {text}: {:?}", read.err());
            }
        }
        assert!(since("soon").is_err() && since("").is_err());
    }

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
