//! Agents as users: dogwatch as an MCP server on standard input and output.
//!
//! Ten tools over the same use cases as the commands. What they return are types of `dogwatch_protocol`; what an agent may do is decided
//! by `dogwatch_core::mcp`; every call is an event in the journal. The runtime lives on the thread of `dogwatch mcp` and nowhere else:
//! use cases block, so they run on threads of their own.

mod act;
mod arguments;
mod brief;
mod call;
mod changes;
mod news;
mod read;
mod resources;
mod server;
mod tools;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::mcp::Policy;
use dogwatch_engine::{Context, Error};
use jiff::Zoned;
use rmcp::ServiceExt as _;

use server::Server;

/// How long calls that act may take to end once the client is gone. What is not finished by then is as after a kill: nothing is lost.
const LEAVING: Duration = Duration::from_secs(5);
/// Most threads for calls that block. Calls beyond wait for their turn.
const MOST_THREADS: usize = 32;

/// What the server needs to know besides the context.
#[derive(Debug)]
pub struct Options {
    pub policy: Policy,
    /// Where agents start unless the call gives another directory.
    pub cwd: PathBuf,
    /// The environment that agents inherit.
    pub env: Vec<(OsString, OsString)>,
    /// The local time, for names of sessions.
    pub clock: fn() -> Zoned,
}

/// Serves one client until it closes its end.
pub fn serve(context: Context, options: Options) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MOST_THREADS)
        .build()
        .map_err(Error::io("start the MCP server"))?;
    let server = Server::new(context, options);
    runtime.block_on(async {
        // A client that goes away before it has said who it is has not been served, and that is no failure of ours.
        let Some(running) = server
            .clone()
            .serve(rmcp::transport::stdio_pipes())
            .await
            .logged("greet the MCP client")
        else {
            return;
        };
        running.waiting().await.logged("serve the MCP client");
    });
    server.leave();
    runtime.shutdown_timeout(LEAVING);
    Ok(())
}
