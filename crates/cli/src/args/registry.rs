//! The registry of agent sessions and the commands that change it.

use crate::ui;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueHint};
use dogwatch_core::registry::NamePattern;

use super::duration;

/// Registry file and naming pattern.
#[derive(Debug, ClapArgs)]
pub(crate) struct WhichRegistry {
    /// Registry file [env: DOGWATCH_REGISTRY] [default: agent-sessions.yaml in the state directory]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) registry: Option<PathBuf>,
    /// Naming pattern of sessions that belong in the registry [env: DOGWATCH_REGISTRY_PATTERN] [default:
    /// <workspace>-creator-<agent>]
    #[arg(long, value_name = "PATTERN", value_parser = NamePattern::parse)]
    pub(crate) pattern: Option<NamePattern>,
}

/// Compare the registry with what is running and correct it
///
/// Compares with tmux, processes and conversations on disk. Without --once it runs until Ctrl-C: it checks when tmux or
/// an agent's hook reports a change, and every 30 s (60 s with more than 5 sessions). Each difference is reported once,
/// and again if it was resolved and came back. Never starts, ends or types into a session.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch reconcile --once --emit-diff             # one pass, differences as JSON
  dogwatch reconcile --once --emit-diff --dry-run   # the same without writing
  dogwatch reconcile                                # keep it correct until Ctrl-C
  dogwatch reconcile --interval 10s --json          # one JSON line per pass that found something")]
pub(crate) struct Reconcile {
    #[command(flatten)]
    pub(crate) which_registry: WhichRegistry,
    /// Make one pass and exit
    #[arg(long)]
    pub(crate) once: bool,
    /// Print a JSON object for each pass that found something; with --once always. The same as --json
    #[arg(long)]
    pub(crate) emit_diff: bool,
    /// Show what would change without writing; implies --once
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also record each session's status (last_visible_status), which requires reading its screen
    #[arg(long)]
    pub(crate) status: bool,
    /// Subscribe to an MQTT broker; check at intervals while it cannot be reached
    #[arg(long, conflicts_with_all = ["once", "dry_run"])]
    pub(crate) subscribe: bool,
    /// How often to check when no event arrives
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "once")]
    pub(crate) interval: Option<Duration>,
}

impl Reconcile {
    pub(crate) fn wants_json(&self) -> bool {
        self.emit_diff || ui::prints_json()
    }
}

/// Start an agent session and add it to the registry
///
/// Names the session after its workspace and agent, and prints the name once the agent is running.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch create claude
  dogwatch create codex --workspace api --cwd ../api --role reviewer
  dogwatch create claude --prompt 'Read the README' --unattended
  dogwatch create claude --submit-job 'Fix the failing test'    # track it with `dogwatch job ls`")]
pub(crate) struct Create {
    /// Agent to start (`dogwatch agents` lists them)
    pub(crate) agent: String,
    /// Workspace of the session [default: name of the project folder]
    #[arg(long, short)]
    pub(crate) workspace: Option<String>,
    /// Name of the session [default: from the registry's pattern]
    #[arg(long, short)]
    pub(crate) name: Option<String>,
    /// Role of the session, as a note for people
    #[arg(long)]
    pub(crate) role: Option<String>,
    /// Directory to start in [default: current directory]
    #[arg(long, short = 'C', value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// First prompt for the agent
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt: Option<String>,
    /// Submit a job and deliver its prompt once the agent is ready
    #[arg(long, value_name = "PROMPT", allow_hyphen_values = true)]
    pub(crate) submit_job: Option<String>,
    /// How long to wait until the agent accepts the job [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "submit_job")]
    pub(crate) timeout: Option<Duration>,
    /// Environment variable for the session; repeatable
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// Model for the agent
    #[arg(long, short)]
    pub(crate) model: Option<String>,
    /// Let the agent act without asking for permission
    #[arg(long)]
    pub(crate) unattended: bool,
    #[command(flatten)]
    pub(crate) which_registry: WhichRegistry,
    /// More arguments for the agent
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}

/// Restart sessions of the registry and resume their conversations
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch resume api-creator-claude
  dogwatch resume --all                    # after a reboot: all that were not stopped on purpose
  dogwatch resume --all-lost               # after the tmux server died: all that went with it")]
pub(crate) struct Resume {
    /// Names of sessions in the registry
    #[arg(required_unless_present_any = ["all", "all_lost"], conflicts_with_all = ["all", "all_lost"])]
    pub(crate) names: Vec<String>,
    /// All sessions that were not stopped on purpose
    #[arg(long, conflicts_with = "all_lost")]
    pub(crate) all: bool,
    /// All sessions that are `lost`, also those that are not in the registry; they are added to it
    #[arg(long)]
    pub(crate) all_lost: bool,
    /// Let the agents act without asking for permission
    #[arg(long)]
    pub(crate) unattended: bool,
    #[command(flatten)]
    pub(crate) which_registry: WhichRegistry,
    /// More arguments for the agent
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}

/// End a session of the registry; its conversation is kept
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch delete api-creator-claude
  dogwatch delete api-creator-claude --purge-conversation    # cannot be undone")]
pub(crate) struct Delete {
    /// Name of the session in the registry
    pub(crate) name: String,
    /// Also delete its conversation from disk and the conversation id from the registry
    #[arg(long)]
    pub(crate) purge_conversation: bool,
    #[command(flatten)]
    pub(crate) which_registry: WhichRegistry,
}

/// Add a running session to the registry
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch adopt mine
  dogwatch adopt mine --workspace api --role reviewer")]
pub(crate) struct Adopt {
    /// Name of the tmux session
    pub(crate) name: String,
    /// Agent in the session, if dogwatch cannot detect it
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// Workspace of the session [default: from its name, else its folder]
    #[arg(long, short)]
    pub(crate) workspace: Option<String>,
    /// Role of the session, as a note for people
    #[arg(long)]
    pub(crate) role: Option<String>,
    #[command(flatten)]
    pub(crate) which_registry: WhichRegistry,
}

/// List the registry next to what is running
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch registry
  dogwatch registry ls --json")]
pub(crate) struct RegistryArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<RegistryVerb>,
    #[command(flatten)]
    pub(crate) list: RegistryLs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RegistryVerb {
    /// Same as `registry` without a subcommand
    #[command(after_help = "\
Examples:
  dogwatch registry ls
  dogwatch registry ls --json")]
    Ls(RegistryLs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RegistryLs {
    #[command(flatten)]
    pub(crate) which_registry: WhichRegistry,
}

impl RegistryArgs {
    pub(crate) fn list(&self) -> &RegistryLs {
        match &self.verb {
            Some(RegistryVerb::Ls(list)) => list,
            None => &self.list,
        }
    }
}
