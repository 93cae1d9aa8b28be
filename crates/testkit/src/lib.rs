//! Shared test code. Not part of a released program.
//!
//! - [`TestEnv`]: home, state directory, work directory and tmux server of one test; [`PrivateTmux`]: only the server.
//! - [`eventually`] and similar: wait for a condition, never for a fixed time.
//! - [`process`]: processes as the kernel reports them.
//! - [`Project`] and [`story`]: a repository with a workflow; and a workflow for tests that kill it repeatedly.
//! - [`McpClient`]: a client of `dogwatch mcp`.
//! - [`skip`]: how a test reports that it did not run.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![expect(clippy::print_stderr, reason = "the test runner shows it")]

mod env;
mod isolate;
mod mcp;
mod output;
mod private_tmux;
pub mod process;
mod project;
pub mod skip;
pub mod story;
mod wait;

pub use env::{Spawned, TestEnv, dogwatch, is_root};
pub use isolate::{free_port, isolate};
pub use mcp::McpClient;
pub use output::CommandOutput;
pub use private_tmux::{Exit, PrivateTmux, is_since, name, new_session, print};
pub use project::Project;
pub use wait::{PATIENCE, eventually, eventually_or, wait_until, wait_within};
