//! Setup, help and commands that only programs call.

use std::ffi::OsString;

use clap::{Args as ClapArgs, Subcommand};
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
