//! The command line. The doc comments here are the help.

mod team;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueHint};

pub(crate) use team::*;

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
  dogwatch spawn claude 'Fix the failing test'             start an agent
  dogwatch spawn --name build -- make -j4                  or any command
  dogwatch status                                          what each is doing
  dogwatch why NAME                                        and why we think so
  dogwatch wait NAME --for idle,waiting                    wait until it is done, or needs you
  dogwatch watch                                           every change, as it happens
  dogwatch send NAME 'Now write the tests'                 a message, with proof
  dogwatch pane spawn --role dev --task 'Write the parser' an agent beside you, in a team
  dogwatch capture NAME --lines 100                        what it shows, also after it has ended
  dogwatch record NAME                                     all of it in a folder, for a bug report
  dogwatch kill NAME                                       end it, with everything it started
  dogwatch demo                                            see it work, with scripted agents

Exit codes: 0 done or yes, 1 failed or no, 2 wrong usage, 3 no such session, 4 conflict,
5 tmux, 6 state or store, 7 agent, 124 timeout.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Spawn(Box<Spawn>),
    Ls(Ls),
    Status(StatusArgs),
    Why(Why),
    Wait(Wait),
    Watch(Watch),
    Send(Send),
    Answer(Answer),
    Messages(Messages),
    Team(Team),
    Pane(Pane),
    Agent(Agent),
    Task(Task),
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
    /// Take a signal from an agent's hook (called by agents, not by people)
    #[command(hide = true)]
    Hook(Hook),
    /// Run a session in its pane (called by tmux, not by people)
    #[command(hide = true)]
    Run(Run),
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
            Self::Send(a) => a.json,
            Self::Answer(a) => a.json,
            Self::Messages(a) => a.json,
            Self::Team(a) => a.json,
            Self::Pane(a) => a.wants_json(),
            Self::Agent(a) => a.wants_json(),
            Self::Task(a) => a.wants_json(),
            Self::Judge(a) => a.json,
            Self::Record(a) => a.json,
            Self::Capture(a) => a.json,
            Self::Kill(a) => a.json,
            Self::KillAll(a) => a.json,
            Self::Exists(a) => a.json,
            Self::Gc(a) => a.json,
            Self::Doctor(a) => a.json,
            Self::Agents(a) => a.json,
            Self::Attach(_) | Self::Demo(_) | Self::Hook(_) | Self::Run(_) | Self::Lab(_) => false,
        }
    }
}

/// Start an agent, or any command, in a tmux session of its own
///
/// Returns once the program certainly runs, and prints the session's name. The agent gets the environment
/// of the caller. Its prompt travels in a file that only you can read, never through a shell.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch spawn claude --prompt 'Review the last commit'
  dogwatch spawn codex --prompt-file task.md --cwd ../service --model gpt-5.5
  git diff | dogwatch spawn claude -
  dogwatch spawn claude --step dev --epic 1 --story 1.2
  dogwatch spawn claude -- --permission-mode plan
  dogwatch spawn --name tests --env CI=1 -- cargo test")]
pub(crate) struct Spawn {
    /// Agent to start (`dogwatch agents` lists them); left out, the command after `--` is run
    pub(crate) agent: Option<String>,
    /// Prompt to give it, the same as --prompt; `-` reads standard input
    #[arg(value_name = "PROMPT", allow_hyphen_values = false)]
    pub(crate) words: Option<String>,
    /// Prompt to give it; `-` reads standard input
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true, conflicts_with_all = ["prompt_file", "words"])]
    pub(crate) prompt: Option<String>,
    /// File with the prompt; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "words", value_hint = ValueHint::FilePath)]
    pub(crate) prompt_file: Option<PathBuf>,
    /// Name of the session
    #[arg(long, short, conflicts_with_all = ["step", "epic", "story", "cycle"])]
    pub(crate) name: Option<String>,
    /// Step of a story run: names the session after project, time, epic, story and step
    #[arg(long, requires = "story")]
    pub(crate) step: Option<String>,
    /// Epic of the story
    #[arg(long, requires = "step")]
    pub(crate) epic: Option<String>,
    /// Story, such as 1.2
    #[arg(long, requires = "step")]
    pub(crate) story: Option<String>,
    /// Cycle of a repeated step, such as a review
    #[arg(long, requires = "step")]
    pub(crate) cycle: Option<String>,
    /// Folder to start in [default: the current one]
    #[arg(long, short = 'C', value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Environment variable for the session; may be repeated
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// Model for the agent
    #[arg(long, short, requires = "agent")]
    pub(crate) model: Option<String>,
    /// Let the agent act without asking for permission
    #[arg(long, requires = "agent")]
    pub(crate) unattended: bool,
    /// Print a JSON object instead of the name
    #[arg(long)]
    pub(crate) json: bool,
    /// Further arguments for the agent, or the command to run
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}

/// List sessions, and whether each lives
#[derive(Debug, ClapArgs)]
#[command(
    visible_alias = "list",
    after_help = "\
Examples:
  dogwatch ls
  dogwatch ls --project-only --json"
)]
pub(crate) struct Ls {
    /// Only sessions of the project of the current folder
    #[arg(long)]
    pub(crate) project_only: bool,
    /// Also those that were ended or cleaned up
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Tell what each agent is doing: working, waiting for a person, idle, limited, failed, stuck …
///
/// From all evidence at hand: exit records, the agent's own word, hooks, transcript, screen and processes. When it does
/// not suffice, the answer is `unknown`; `dogwatch why` explains any answer.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch status
  dogwatch status --watch
  dogwatch status fix --json")]
pub(crate) struct StatusArgs {
    /// Names, ids or panes (%3) of sessions [default: all]
    pub(crate) sessions: Vec<String>,
    /// Draw the table again whenever there is news, what needs a person first
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) watch: bool,
    /// Only sessions of the project of the current folder
    #[arg(long)]
    pub(crate) project_only: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Explain what a session is doing: what every source said, and which decided
#[derive(Debug, ClapArgs)]
pub(crate) struct Why {
    /// Name, id or pane (%3) of the session
    pub(crate) session: String,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Tell of every change of state, as it happens
///
/// First what each session is doing now, then a line for each change, until Ctrl-C; with names, until all of them are over.
/// Agents that dogwatch did not start are watched as well.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch watch
  dogwatch watch api tests
  dogwatch watch --json | jq -c 'select(.state == \"waiting\")'")]
pub(crate) struct Watch {
    /// Names, ids or panes (%3) of sessions [default: all]
    pub(crate) sessions: Vec<String>,
    /// Print a JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

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

/// Block until sessions are in a state
///
/// Returns as soon as it happens. Exit code 0 when it did, 124 on timeout, 4 when it can no longer happen because a
/// session has ended otherwise.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch wait fix --for idle,waiting --timeout 10m
  dogwatch wait build --for exited && make install")]
pub(crate) struct Wait {
    /// Names, ids or panes (%3) of sessions: all of them must be in such a state
    #[arg(required = true)]
    pub(crate) sessions: Vec<String>,
    /// States to wait for: starting, working, waiting, limited, idle, error, exited, crashed, stuck, lost, unknown
    #[arg(long = "for", value_name = "STATE,…", required = true, value_delimiter = ',')]
    pub(crate) states: Vec<String>,
    /// How long at most [default: for ever]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Judge one recorded screen alone, for bug reports and comparisons
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch capture fix --ansi > screen.ansi
  dogwatch judge --agent claude --screen screen.ansi --width 200 --height 50
  dogwatch judge --record ~/.local/state/dogwatch/records/fix-261115-121741")]
pub(crate) struct Judge {
    /// Folder that `dogwatch record` wrote: agent, screen, size and title are those in it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath,
        conflicts_with_all = ["agent", "screen", "width", "height", "title"])]
    pub(crate) record: Option<PathBuf>,
    /// Agent whose screen it is
    #[arg(long, required_unless_present = "record")]
    pub(crate) agent: Option<String>,
    /// File with the screen, with or without colours
    #[arg(long, value_name = "FILE", required_unless_present = "record", value_hint = ValueHint::FilePath)]
    pub(crate) screen: Option<PathBuf>,
    /// The screen has escape codes; recognised without it too
    #[arg(long)]
    pub(crate) ansi: bool,
    /// Columns of the pane
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) width: u16,
    /// Rows of the pane; what is above them is history
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) height: u16,
    /// Title of the pane
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Keep what was seen of a session in a folder, secrets masked, for a bug report
///
/// Screen, pane, verdict with reasons, hook signals, the end of the transcript and the agent's own state file. Keys,
/// passwords, e-mail addresses, the home folder and the names of user and host are masked, without moving anything on
/// the screen. The rest of what the agent wrote and read is in there: look through it before you send it. Prints the folder.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch record fix
  dogwatch record fix --out ~/wrong-state && tar czf wrong-state.tgz -C ~ wrong-state
  dogwatch judge --record ~/wrong-state")]
pub(crate) struct Record {
    /// Name, id or pane (%3) of the session
    pub(crate) session: String,
    /// Folder to make; numbered if it is there already [default: records/NAME-TIME in the state folder]
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print a JSON object instead of the folder
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print what a session shows, also after it has ended
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch capture build
  dogwatch capture build --lines 500 --ansi | less -R")]
pub(crate) struct Capture {
    /// Name, id or pane (%3) of the session
    pub(crate) session: String,
    /// The last N lines instead of the screen
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) lines: Option<u32>,
    /// Keep colours and attributes
    #[arg(long)]
    pub(crate) ansi: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Attach the terminal to a session
#[derive(Debug, ClapArgs)]
pub(crate) struct Attach {
    /// Name, id or pane (%3) of the session
    pub(crate) session: String,
}

/// End a session, with everything it started
///
/// Politely: the agent's own way out, then TERM, then KILL, each only if needed. What it showed stays
/// readable with `dogwatch capture`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch kill build
  dogwatch kill --now build review")]
pub(crate) struct Kill {
    /// Names, ids or panes (%3) of sessions
    #[arg(required = true)]
    pub(crate) sessions: Vec<String>,
    /// Skip the polite part
    #[arg(long)]
    pub(crate) now: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// End all sessions
///
/// Asks before it does when it is run on a terminal.
#[derive(Debug, ClapArgs)]
pub(crate) struct KillAll {
    /// Only sessions of the project of the current folder
    #[arg(long)]
    pub(crate) project_only: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Skip the polite part
    #[arg(long)]
    pub(crate) now: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Tell whether tmux has a session of exactly this name: exit code 0 or 1
#[derive(Debug, ClapArgs)]
pub(crate) struct Exists {
    /// Name of the session
    pub(crate) name: String,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Forget sessions that ended long ago, and clean up what they left
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch gc --dry-run
  dogwatch gc --older-than 1d")]
pub(crate) struct Gc {
    /// How long ago they must have ended
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = duration)]
    pub(crate) older_than: Duration,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check tmux, agents and dogwatch's own state, with a remedy for each fault
#[derive(Debug, ClapArgs)]
pub(crate) struct Doctor {
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the agents that can be started, and what was found of each
#[derive(Debug, ClapArgs)]
pub(crate) struct Agents {
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show dogwatch at work, with three scripted agents in a private tmux server
#[derive(Debug, ClapArgs)]
pub(crate) struct Demo {}

#[derive(Debug, ClapArgs)]
pub(crate) struct Hook {
    pub(crate) agent: String,
    /// The call is a statusline: prove life, and print a line
    #[arg(long)]
    pub(crate) statusline: bool,
    /// The payload, where the agent passes it as an argument; else standard input
    pub(crate) payload: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    pub(crate) session: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Lab {
    #[command(subcommand)]
    pub(crate) tool: LabTool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabTool {
    /// Play a scripted agent
    Actor {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

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
    use clap::CommandFactory;

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
