use std::os::unix::process::CommandExt as _;
use std::process::Command;

use dogwatch_core::exit_code;
use dogwatch_engine::observe::processes;
use dogwatch_engine::{Context, Error, config};
use dogwatch_mcp::Options;

use crate::environment;

/// Variables that tell which session, server and state directory are meant.
const OF_A_SESSION: [&str; 4] = ["DOGWATCH_SESSION", "DOGWATCH_STATE_DIR", "TMUX", "DOGWATCH_TMUX"];
/// How far up a client is looked for: it may start servers by a launcher.
const GENERATIONS: usize = 4;
/// Set once the environment is complete.
const COMPLETED: &str = "DOGWATCH_MCP_ENVIRONMENT";

/// Serves an MCP client on standard input and output.
pub(crate) fn mcp(context: Context) -> Result<u8, Error> {
    let options = Options {
        policy: config::read(&context)?.mcp.policy(),
        cwd: environment::current_dir()?,
        env: std::env::vars_os().filter(|(name, _)| name != COMPLETED).collect(),
        clock: environment::local_time,
    };
    dogwatch_mcp::serve(context, options).map(|()| exit_code::OK)
}

/// Some clients (codex) start MCP servers with a handful of variables: then neither the session nor the tmux server is known, and agents
/// would be started without the user's settings. Takes what is missing from the environment of the client, which is a process of the same
/// user, by starting this program again in its own place. Does nothing if nothing is missing.
pub(crate) fn complete_environment() {
    if std::env::var_os(COMPLETED).is_some() {
        return;
    }
    let is_missing = |name: &str| std::env::var_os(name).is_none_or(|value| value.is_empty());
    let mut pid = processes::parent(std::process::id().try_into().unwrap_or(0));
    for _ in 0..GENERATIONS {
        let Some(client) = pid.filter(|pid| *pid > 1) else { return };
        let found = processes::environment(client);
        let tells = |(name, value): &(String, String)| {
            OF_A_SESSION.contains(&name.as_str()) && !value.is_empty() && is_missing(name)
        };
        if found.iter().any(tells) {
            let missing = found.into_iter().filter(|(name, _)| std::env::var_os(name).is_none());
            let Ok(program) = std::env::current_exe() else { return };
            let mut again = Command::new(program);
            again.args(std::env::args_os().skip(1)).envs(missing).env(COMPLETED, "1");
            // Returns only if it fails; then what is there must do.
            drop(again.exec());
            return;
        }
        pid = processes::parent(client);
    }
}
