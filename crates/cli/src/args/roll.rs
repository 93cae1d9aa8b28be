//! The registry: the roll of agent sessions, and what is done to it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueHint};
use dogwatch_core::registry::NamePattern;

use super::duration;

/// Which registry, and which names belong in it.
#[derive(Debug, ClapArgs)]
pub(crate) struct RollArgs {
    /// The registry [env: DOGWATCH_REGISTRY] [default: agent-sessions.yaml in the state folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) registry: Option<PathBuf>,
    /// How sessions are named that belong in it [env: DOGWATCH_REGISTRY_PATTERN] [default:
    /// <workspace>-creator-<agent>]
    #[arg(long, value_name = "PATTERN", value_parser = NamePattern::parse)]
    pub(crate) pattern: Option<NamePattern>,
}

/// Hold the registry to what is there: tmux, processes, conversations on disk
///
/// Without --once it goes on until Ctrl-C: at once when tmux or an agent's hook says that something
/// changed, and every 30 s (60 s with more than 5 sessions) in any case. A difference is told once, and
/// again if it went away and came back. It never starts, ends or types into a session.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch reconcile --once --emit-diff             # one pass, differences as JSON
  dogwatch reconcile --once --emit-diff --dry-run   # the same, and nothing is written
  dogwatch reconcile                                # look after it until Ctrl-C
  dogwatch reconcile --interval 10s --json          # a JSON line for every pass with news")]
pub(crate) struct Reconcile {
    #[command(flatten)]
    pub(crate) roll: RollArgs,
    /// One pass, then end
    #[arg(long)]
    pub(crate) once: bool,
    /// Print a JSON object for each pass with news; with --once in any case
    #[arg(long, visible_alias = "json")]
    pub(crate) emit_diff: bool,
    /// Only say what would be done; takes --once for granted
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also write down what each session is doing (last_visible_status): screens are read for it
    #[arg(long)]
    pub(crate) status: bool,
    /// Be told by a broker, and look at intervals while it cannot be reached
    #[arg(long, conflicts_with_all = ["once", "dry_run"])]
    pub(crate) subscribe: bool,
    /// How often to look when nobody says anything
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "once")]
    pub(crate) interval: Option<Duration>,
}

/// Start an agent session and put it on the registry
///
/// It is named after its workspace and agent. Prints the name once the agent certainly runs.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch create claude
  dogwatch create codex --workspace api --cwd ../api --role reviewer
  dogwatch create claude --prompt 'Read the README' --unattended
  dogwatch create claude --submit-job 'Fix the failing test'    # `dogwatch job ls` follows it")]
pub(crate) struct Create {
    /// Agent to start (`dogwatch agents` lists them)
    pub(crate) agent: String,
    /// Workspace it works on [default: the name of the project's folder]
    #[arg(long, short)]
    pub(crate) workspace: Option<String>,
    /// Name of the session [default: after the registry's pattern]
    #[arg(long, short)]
    pub(crate) name: Option<String>,
    /// What it is there for, for people to read
    #[arg(long)]
    pub(crate) role: Option<String>,
    /// Folder to start in [default: the current one]
    #[arg(long, short = 'C', value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// First message to it
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt: Option<String>,
    /// File a job for it, and deliver its prompt once the agent is ready
    #[arg(long, value_name = "PROMPT", allow_hyphen_values = true)]
    pub(crate) submit_job: Option<String>,
    /// How long the agent may take to take the job; without it, as long as it takes
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "submit_job")]
    pub(crate) timeout: Option<Duration>,
    /// Environment variable for the session; may be repeated
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// Model for the agent
    #[arg(long, short)]
    pub(crate) model: Option<String>,
    /// Let the agent act without asking for permission
    #[arg(long)]
    pub(crate) unattended: bool,
    #[command(flatten)]
    pub(crate) roll: RollArgs,
    /// Print a JSON object instead of the name
    #[arg(long)]
    pub(crate) json: bool,
    /// Further arguments for the agent
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}

/// Bring sessions of the registry back, in the conversations they were in
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch resume api-creator-claude
  dogwatch resume --all                    # after a reboot: all that nobody ended on purpose")]
pub(crate) struct Resume {
    /// Names of sessions in the registry
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) names: Vec<String>,
    /// All that went down without anybody ending them
    #[arg(long)]
    pub(crate) all: bool,
    /// Let the agents act without asking for permission
    #[arg(long)]
    pub(crate) unattended: bool,
    #[command(flatten)]
    pub(crate) roll: RollArgs,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Further arguments for the agent
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}

/// End a session of the registry; its conversation stays, and can be resumed
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch delete api-creator-claude
  dogwatch delete api-creator-claude --purge-conversation    # its conversation is gone for good")]
pub(crate) struct Delete {
    /// Name of the session in the registry
    pub(crate) name: String,
    /// Also remove its conversation from the disk, and its id from the registry
    #[arg(long)]
    pub(crate) purge_conversation: bool,
    #[command(flatten)]
    pub(crate) roll: RollArgs,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Put a session on the registry that runs already
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch adopt mine
  dogwatch adopt mine --workspace api --role reviewer")]
pub(crate) struct Adopt {
    /// Name of the tmux session
    pub(crate) name: String,
    /// The agent in it, where that cannot be told
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// Workspace it works on [default: by its name, else its folder]
    #[arg(long, short)]
    pub(crate) workspace: Option<String>,
    /// What it is there for, for people to read
    #[arg(long)]
    pub(crate) role: Option<String>,
    #[command(flatten)]
    pub(crate) roll: RollArgs,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the registry beside what is there
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
    /// The same as `registry` alone
    Ls(RegistryLs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RegistryLs {
    #[command(flatten)]
    pub(crate) roll: RollArgs,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl RegistryArgs {
    pub(crate) fn list(&self) -> &RegistryLs {
        match &self.verb {
            Some(RegistryVerb::Ls(list)) => list,
            None => &self.list,
        }
    }
}
