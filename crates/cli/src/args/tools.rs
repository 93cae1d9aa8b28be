//! What is there, and what only programs call.

use std::ffi::OsString;

use clap::{Args as ClapArgs, Subcommand};
use dogwatch_core::id::SessionId;

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
