//! Starting, listing, reading and ending sessions.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueHint};
use dogwatch_core::limits::WhenLimited;

use super::duration;

/// Start an agent or a command in its own tmux session
///
/// Prints the session's name once the program is running. The session inherits the caller's environment. The prompt is
/// passed in a file that only you can read, never through a shell.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch spawn claude --prompt 'Review the last commit'
  dogwatch spawn codex --prompt-file task.md --cwd ../service --model gpt-5.5
  git diff | dogwatch spawn claude -
  dogwatch spawn claude --step dev --epic 1 --story 1.2
  dogwatch spawn claude -- --permission-mode plan
  dogwatch spawn claude 'Fix issue 7' --worktree
  dogwatch spawn codex --worktree fix-login --base main
  dogwatch spawn --name tests --env CI=1 -- cargo test")]
pub(crate) struct Spawn {
    /// Agent to start (`dogwatch agents` lists them); without it, the command after `--`
    pub(crate) agent: Option<String>,
    /// Prompt, same as --prompt; `-` reads standard input
    #[arg(value_name = "PROMPT", allow_hyphen_values = false)]
    pub(crate) words: Option<String>,
    /// Prompt; `-` reads standard input
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true, conflicts_with_all = ["prompt_file", "words"])]
    pub(crate) prompt: Option<String>,
    /// File with the prompt; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "words", value_hint = ValueHint::FilePath)]
    pub(crate) prompt_file: Option<PathBuf>,
    /// Name of the session
    #[arg(long, short, conflicts_with_all = ["step", "epic", "story", "cycle"])]
    pub(crate) name: Option<String>,
    /// Step of a story run; names the session after project, time, epic, story and step
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
    /// Directory to start in [default: current directory]
    #[arg(long, short = 'C', value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Environment variable for the session; repeatable
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// Resume this conversation of the agent, by its id
    #[arg(long, value_name = "ID", requires = "agent")]
    pub(crate) resume: Option<String>,
    /// Model for the agent
    #[arg(long, short, requires = "agent")]
    pub(crate) model: Option<String>,
    /// Keep the prompt off the agent's command line, which every user can read; the agent reads it from a file
    #[arg(long, requires = "agent")]
    pub(crate) private_prompt: bool,
    /// Tag for the session; repeatable
    #[arg(long = "tag", short = 't', value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Let the agent act without asking for permission
    #[arg(long, requires = "agent")]
    pub(crate) unattended: bool,
    /// Make a git worktree and start in it; BRANCH is created if it does not exist [default: dogwatch/NAME]
    #[arg(long, short, value_name = "BRANCH", num_args = 0..=1, default_missing_value = "")]
    pub(crate) worktree: Option<String>,
    /// What a new branch begins at, and what `dogwatch finish` merges into [default: what is checked out]
    #[arg(long, value_name = "REF", requires = "worktree", allow_hyphen_values = true)]
    pub(crate) base: Option<String>,
    /// Start without the project's .dogwatch.toml: nothing is copied, linked, run or allocated
    #[arg(long, requires = "worktree")]
    pub(crate) no_setup: bool,
    /// Send a message to your own session when the work is done, failed, waits or is limited (for agents)
    #[arg(long, requires = "agent")]
    pub(crate) notify_me: bool,
    /// What to do at a usage limit: notify, wait, switch:MODEL or fallback:AGENT [default: when_limited of the configuration]
    #[arg(long, value_name = "POLICY", requires = "agent", value_parser = WhenLimited::parse)]
    pub(crate) when_limited: Option<WhenLimited>,
    /// More arguments for the agent, or the command to run
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}

/// List sessions
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch ls
  dogwatch ls --archived
  dogwatch ls --project-only --json")]
pub(crate) struct Ls {
    /// Only sessions of the current directory's project
    #[arg(long)]
    pub(crate) project_only: bool,
    /// Only sessions that have all of these tags
    #[arg(long = "tag", value_name = "TAG,…", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,
    /// Include archived sessions, and those that ended more than a day ago or are not among the last 100
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Only archived sessions
    #[arg(long, conflicts_with = "all")]
    pub(crate) archived: bool,
}

/// Print a session's screen, even after it has ended
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch capture build
  dogwatch capture build --lines 500 --ansi | less -R")]
pub(crate) struct Capture {
    /// Name, id or pane (%3) of the session
    pub(crate) session: String,
    /// Print the last N lines instead of the screen
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) lines: Option<u32>,
    /// Keep colours and attributes
    #[arg(long)]
    pub(crate) ansi: bool,
}

/// Attach the terminal to a session
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch attach api
  dogwatch attach %3
  dogwatch attach --next")]
pub(crate) struct Attach {
    /// Name, id or pane (%3) of the session
    #[arg(required_unless_present = "next")]
    pub(crate) session: Option<String>,
    /// The session that needs you, like `dogwatch next`
    #[arg(long, conflicts_with = "session")]
    pub(crate) next: bool,
}

/// Attach to the session that has waited for you longest
///
/// Sessions that wait for an answer come first, then those that failed or are stuck. From one of them, it goes on to the
/// next one. Exits with code 3 if no session needs you.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch next
  tmux bind-key N run-shell 'dogwatch next'")]
pub(crate) struct Next {}

/// End a session and everything it started
///
/// Uses the agent's own exit command first, then TERM, then KILL, each only if needed. `dogwatch capture` still prints
/// the last screen afterwards.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch kill build
  dogwatch kill --now build review")]
pub(crate) struct Kill {
    /// Names, ids or panes (%3) of sessions
    #[arg(required = true)]
    pub(crate) sessions: Vec<String>,
    /// Kill immediately
    #[arg(long)]
    pub(crate) now: bool,
}

/// End all sessions
///
/// Asks for confirmation on a terminal.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch kill-all
  dogwatch kill-all --project-only --yes")]
pub(crate) struct KillAll {
    /// Only sessions of the current directory's project
    #[arg(long)]
    pub(crate) project_only: bool,
    /// Skip the confirmation; required if standard input is not a terminal
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Kill immediately
    #[arg(long)]
    pub(crate) now: bool,
}

/// Check whether a tmux session exists: exit code 0 if so, else 1
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch exists api && dogwatch attach api
  dogwatch exists api --json")]
pub(crate) struct Exists {
    /// Exact name of the tmux session
    pub(crate) name: String,
}

/// Remove old ended sessions and their leftovers
///
/// Worktrees are removed only if their work is merged or discarded and nothing in them is uncommitted or ignored by git. A session
/// whose worktree is not finished stays.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch gc --dry-run
  dogwatch gc --older-than 1d")]
pub(crate) struct Gc {
    /// Only sessions that ended longer ago than this
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = duration)]
    pub(crate) older_than: Duration,
    /// Show what would be removed without removing it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also remove worktrees that have files ignored by git
    #[arg(long)]
    pub(crate) ignored: bool,
}
