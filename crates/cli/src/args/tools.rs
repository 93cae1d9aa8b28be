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
pub(crate) struct Doctor {
    #[arg(from_global)]
    pub(crate) json: bool,
}

/// List the supported agents and which are installed
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch agents
  dogwatch agents --json")]
pub(crate) struct Agents {
    #[arg(from_global)]
    pub(crate) json: bool,
}

/// Show dogwatch with three scripted agents on a private tmux server
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

#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    pub(crate) session: SessionId,
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
    /// Play a scripted agent
    Actor {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}
