//! Setup, help and commands that only programs call.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum, ValueHint};
use dogwatch_core::id::SessionId;

/// Check tmux, agents and dogwatch's own files, and suggest fixes
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch doctor
  dogwatch doctor --json")]
pub(crate) struct Doctor {}

/// List the supported agents and which are installed
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch agents
  dogwatch agents --json
  dogwatch agents verify claude")]
pub(crate) struct Agents {
    #[command(subcommand)]
    pub(crate) verb: Option<AgentsVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsVerb {
    Verify(AgentsVerify),
}

/// Check how well the installed version of an agent is recognised
///
/// Runs the agent's own program in a private home against a model on this machine, plays known situations with it (a turn, a
/// dialog, a failure, a crash …) and compares what `status` says with what is true. Uses no credentials and no tokens, and
/// touches nothing of yours. The result is kept for this version: `status` asserts nothing on a source that was wrong, and
/// `doctor` shows it. What was not recognised is recorded for a bug report.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch agents verify
  dogwatch agents verify claude
  dogwatch agents verify codex --program ~/bin/codex-0.120 --all
  dogwatch agents verify --json")]
pub(crate) struct AgentsVerify {
    /// Agent to verify [default: all that are installed]
    pub(crate) agent: Option<String>,
    /// Program to run instead of the one in PATH
    #[arg(long, value_name = "PATH", requires = "agent", value_hint = ValueHint::FilePath)]
    pub(crate) program: Option<PathBuf>,
    /// Play the longer situations too
    #[arg(long)]
    pub(crate) all: bool,
    /// Play only these: turns, dialogs, failures … (the result is not kept)
    #[arg(long, value_name = "PLAY", value_delimiter = ',', hide = true)]
    pub(crate) only: Vec<String>,
    /// Sessions side by side
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) lanes: Option<usize>,
}

/// Show dogwatch with three scripted agents, in a private tmux
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch demo")]
pub(crate) struct Demo {}

/// Print the completion script for a shell
///
/// Completes commands, options, sessions, agents, runs, jobs and roles.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  source <(dogwatch completions bash)                                  # in ~/.bashrc
  source <(dogwatch completions zsh)                                   # in ~/.zshrc, after compinit
  dogwatch completions fish > ~/.config/fish/completions/dogwatch.fish")]
pub(crate) struct Completions {
    /// Shell to complete in
    pub(crate) shell: ShellArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellArg {
    Bash,
    Zsh,
    Fish,
}

impl ShellArg {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
        }
    }
}

/// Serve agents over MCP on standard input and output
///
/// For agents that supervise other agents. Ten tools: sessions, why, spawn, send, job_submit, job_result, since, answer,
/// ask_person, capture. What an agent may do is set in config.toml, below [mcp]; every call is an event (`dogwatch events
/// --kind tool_call`). The agent starts this command by itself.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  claude mcp add dogwatch -- dogwatch mcp
  codex mcp add dogwatch -- dogwatch mcp
  gemini mcp add dogwatch dogwatch mcp
  dogwatch mcp < requests.jsonl")]
pub(crate) struct Mcp {}

/// Install dogwatch's skill for an agent, or remove it
///
/// The skill tells an agent when and how to supervise other agents with dogwatch. A file that dogwatch did not write, or that
/// was changed since, is left alone.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch install-skill claude
  dogwatch install-skill codex --project
  dogwatch install-skill gemini --remove")]
pub(crate) struct InstallSkill {
    /// Agent to install it for
    pub(crate) agent: SkillAgent,
    /// For all projects of this user [default]
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,
    /// For the current directory's project
    #[arg(long)]
    pub(crate) project: bool,
    /// Remove it
    #[arg(long)]
    pub(crate) remove: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SkillAgent {
    Claude,
    Codex,
    Gemini,
}

/// Write the man pages to a directory
///
/// Creates the directory if needed, and prints the files.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch man ~/.local/share/man/man1")]
pub(crate) struct ManPages {
    /// Directory to write to
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}

/// Print the JSON Schema of a command's output, or list all
///
/// Schemas are named after the command; events, files and requests have names of their own.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch schema
  dogwatch schema status
  dogwatch schema event-state > event-state.json")]
pub(crate) struct SchemaArgs {
    /// Name of the schema; without it, all names are listed
    pub(crate) name: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    pub(crate) session: SessionId,

    /// Watch the start of its agent instead
    #[arg(long)]
    pub(crate) startup: bool,
}

/// Show the supervisor of the tmux server
///
/// The supervisor is the one process that delivers messages, follows jobs, continues sessions after usage limits and notifies.
/// It starts with the first session, or with the first command that needs it, and ends with the last: there is nothing to set up.
/// If it is killed, the next one goes on where it was.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch supervisor
  dogwatch supervisor --json
  dogwatch supervisor restart")]
pub(crate) struct SupervisorArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<SupervisorVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SupervisorVerb {
    /// End it and start the next one, which goes on where it was
    #[command(after_help = "\
Examples:
  dogwatch supervisor restart
  dogwatch supervisor restart --json")]
    Restart,
    /// Serve a tmux server (called by runners and commands)
    #[command(hide = true)]
    Serve,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Deliver {
    pub(crate) session: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Lab {
    #[command(subcommand)]
    pub(crate) tool: LabTool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabTool {
    /// Play the situations of `agents verify` (called by it)
    Verify { folder: PathBuf },
    /// Print the version matrix from results of `agents verify --json`
    Matrix {
        /// Document whose section is replaced
        #[arg(long)]
        docs: Option<PathBuf>,
        files: Vec<PathBuf>,
    },
    /// Play a scripted agent
    Actor {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}
