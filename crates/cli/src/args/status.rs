//! What agents are doing, and why.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueHint};

use super::duration;

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
    /// Also sessions that ended more than a day ago, or before the last 100, and those that were ended or cleaned up
    #[arg(long, short, conflicts_with_all = ["sessions", "watch"])]
    pub(crate) all: bool,
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
/// Agents that dogwatch did not start are watched as well. With a broker in config.toml and no names, changes are published
/// too, as `dogwatch relay` does.
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
