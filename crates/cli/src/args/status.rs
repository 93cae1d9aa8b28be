//! What agents are doing, and the evidence for it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueHint};
use dogwatch_core::attention::Quorum;

use super::duration;

/// Show what each agent is doing
///
/// States: working, waiting (for a person), idle, limited, error, stuck and others. They are derived from exit records,
/// the agent's own report, hooks, transcript, screen and processes. If that evidence is not enough, the state is
/// `unknown`. `dogwatch why` shows the evidence. Sessions that wait for a person come first, the longest wait at the top.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch status
  dogwatch status --watch
  dogwatch status --waiting
  dogwatch status --state error,stuck --agent claude
  dogwatch status --tag urgent
  dogwatch status fix --json")]
pub(crate) struct StatusArgs {
    /// Names, ids or panes (%3) of sessions [default: all]
    pub(crate) sessions: Vec<String>,
    /// Redraw the table on every change, sessions that need a person first
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) watch: bool,
    /// Only sessions that wait for a person
    #[arg(long, conflicts_with = "states")]
    pub(crate) waiting: bool,
    /// Only sessions in these states
    #[arg(long = "state", value_name = "STATE,…", value_delimiter = ',')]
    pub(crate) states: Vec<String>,
    /// Only sessions of these agents
    #[arg(long = "agent", value_name = "AGENT,…", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// Only sessions that have all of these tags
    #[arg(long = "tag", value_name = "TAG,…", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,
    /// Only sessions of the project that this directory belongs to
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "project_only")]
    pub(crate) project: Option<PathBuf>,
    /// Only sessions of the current directory's project
    #[arg(long)]
    pub(crate) project_only: bool,
    /// Include archived sessions, and those that ended more than a day ago or are not among the last 100
    #[arg(long, short, conflicts_with_all = ["sessions", "watch"])]
    pub(crate) all: bool,
    /// Only archived sessions: archived by `archive`, or ended by `kill`
    #[arg(long, conflicts_with_all = ["sessions", "watch", "all"])]
    pub(crate) archived: bool,
}

/// Explain a session's status
///
/// Shows what each source of evidence says and which one decided.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch why api
  dogwatch why api --json")]
pub(crate) struct Why {
    /// Name, id or pane (%3) of the session
    pub(crate) session: String,
}

/// Stream status changes
///
/// Prints the current status of each session, then one line per change until Ctrl-C; with names, until all of them have
/// ended. Includes agents that dogwatch did not start. With a broker in config.toml and no names, also publishes the
/// changes, like `dogwatch relay`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch watch
  dogwatch watch api tests
  dogwatch watch --json | jq -c 'select(.state == \"waiting\")'")]
pub(crate) struct Watch {
    /// Names, ids or panes (%3) of sessions [default: all]
    pub(crate) sessions: Vec<String>,
}

/// Wait until sessions reach a state
///
/// Waits for all named sessions, or with `--any` or `--count` for the first ones that get there. Exit codes: 0 reached,
/// 4 no longer possible because too many sessions have ended, 124 timeout.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch wait fix --for idle,waiting --timeout 10m
  dogwatch wait --any --for waiting
  dogwatch wait a b c d --count 2 --for idle
  dogwatch wait build --for exited && make install")]
pub(crate) struct Wait {
    /// Names, ids or panes (%3) of sessions [default with --any or --count: all, also those started later]
    #[arg(required_unless_present_any = ["any", "count"])]
    pub(crate) sessions: Vec<String>,
    /// States to wait for: starting, working, waiting, limited, idle, error, exited, stopped, crashed, stuck, lost, unknown
    #[arg(long = "for", value_name = "STATE,…", required = true, value_delimiter = ',')]
    pub(crate) states: Vec<String>,
    /// Wait until one of them has reached one of the states
    #[arg(long, conflicts_with_all = ["count", "all"])]
    pub(crate) any: bool,
    /// Wait until all of them have [default]
    #[arg(long, conflicts_with = "count")]
    pub(crate) all: bool,
    /// Wait until N of them have
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: Option<u32>,
    /// How long to wait [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

impl Wait {
    pub(crate) fn quorum(&self) -> Quorum {
        match (self.any, self.count) {
            (true, _) => Quorum::AtLeast(1),
            (false, Some(count)) => Quorum::AtLeast(usize::try_from(count).unwrap_or(usize::MAX)),
            (false, None) => Quorum::All,
        }
    }
}

/// Inspect how dogwatch reads agents
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch debug screen --agent claude --screen screen.ansi --width 200 --height 50")]
pub(crate) struct Debug {
    #[command(subcommand)]
    pub(crate) command: DebugCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DebugCommand {
    Screen(DebugScreen),
}

/// Show what dogwatch reads from one captured screen
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch capture fix --ansi > screen.ansi
  dogwatch debug screen --agent claude --screen screen.ansi --width 200 --height 50
  dogwatch debug screen --report ~/.local/state/dogwatch/records/fix-261115-121741")]
pub(crate) struct DebugScreen {
    /// Folder written by `dogwatch bug-report`, which holds agent, screen, size and title
    #[arg(long, alias = "record", value_name = "DIR", value_hint = ValueHint::DirPath,
        conflicts_with_all = ["agent", "screen", "width", "height", "title"])]
    pub(crate) report: Option<PathBuf>,
    /// Agent that the screen belongs to
    #[arg(long, required_unless_present = "report")]
    pub(crate) agent: Option<String>,
    /// File with the captured screen, with or without escape codes
    #[arg(long, value_name = "FILE", required_unless_present = "report", value_hint = ValueHint::FilePath)]
    pub(crate) screen: Option<PathBuf>,
    /// The screen has escape codes [default: detected]
    #[arg(long)]
    pub(crate) ansi: bool,
    /// Columns of the pane
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) width: u16,
    /// Rows of the pane; lines above them are history
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) height: u16,
    /// Title of the pane
    #[arg(long)]
    pub(crate) title: Option<String>,
}

/// Save the evidence about a session to a folder for a bug report
///
/// Contains screen, pane, status with reasons, hook signals, the end of the transcript and the agent's own state file.
/// Keys, passwords, e-mail addresses, the home directory and the names of user and host are masked without moving
/// anything on the screen. Everything else that the agent wrote and read is included: review the folder before you send
/// it. Prints the folder.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch bug-report fix
  dogwatch bug-report fix --out ~/wrong-state && tar czf wrong-state.tgz -C ~ wrong-state
  dogwatch debug screen --report ~/wrong-state")]
pub(crate) struct BugReport {
    /// Name, id or pane (%3) of the session
    pub(crate) session: String,
    /// Folder to create; numbered if it exists [default: records/NAME-TIME in the state directory]
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}
