//! Sessions: starting them, looking at them, ending them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueHint};

use super::duration;

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
    /// Keep the prompt off the agent's command line, which every user can read: the agent is told to read it from a file
    #[arg(long, requires = "agent")]
    pub(crate) private_prompt: bool,
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
#[command(after_help = "\
Examples:
  dogwatch ls
  dogwatch ls --project-only --json")]
pub(crate) struct Ls {
    /// Only sessions of the project of the current folder
    #[arg(long)]
    pub(crate) project_only: bool,
    /// Also sessions that ended more than a day ago, or before the last 100, and those that were ended or cleaned up
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Print a JSON object
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
    /// Do not ask; required if standard input is not a terminal
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
