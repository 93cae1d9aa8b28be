use std::env::VarError;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use dogwatch_base::log::Logged as _;
use dogwatch_base::program;
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
/// would be started without the user's settings. Takes what is missing from the environment of the client, by starting this program again
/// in its own place. Does nothing if nothing is missing, or if the client is another user's: `sudo dogwatch mcp` must not obey variables
/// that sudo has taken away.
pub(crate) fn complete_environment() {
    if std::env::var_os(COMPLETED).is_some() {
        return;
    }
    let myself = i32::try_from(std::process::id()).unwrap_or(0);
    let mut pid = processes::parent(myself);
    for _ in 0..GENERATIONS {
        let Some(client) = pid.filter(|pid| *pid > 1) else { return };
        if !processes::have_same_user(myself, client) {
            return;
        }
        if let Some(missing) = missing(processes::environment(client), |name| std::env::var(name)) {
            let Ok(program) = program::own() else { return };
            let mut again = Command::new(program);
            again.args(std::env::args_os().skip(1)).envs(missing).env(COMPLETED, "1");
            // Returns only if it fails; then what is there must do.
            Err::<(), _>(again.exec()).logged("start again with the client's environment");
            return;
        }
        pid = processes::parent(client);
    }
}

/// The variables of the client that we do not have, if one of them tells which session is meant.
fn missing(
    client: Vec<(String, String)>,
    own: impl Fn(&str) -> Result<String, VarError>,
) -> Option<Vec<(String, String)>> {
    let tells = |(name, value): &(String, String)| {
        let is_empty =
            own(name).map_or_else(|error| error == VarError::NotPresent, |own| own.is_empty());
        OF_A_SESSION.contains(&name.as_str()) && !value.is_empty() && is_empty
    };
    let is_told = client.iter().any(tells);
    let is_unset =
        |pair: &(String, String)| own(&pair.0) == Err(VarError::NotPresent) || tells(pair);
    is_told.then(|| client.into_iter().filter(is_unset).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_client_knows_of_its_session_is_taken_and_nothing_is_replaced() {
        let client = || {
            let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
            [("TMUX", "/tmp/x,1,0"), ("HOME", "/other"), ("KEY", "k")].map(pair).to_vec()
        };
        let own = |name: &str| match name {
            "HOME" => Ok("/mine".to_owned()),
            _ => Err(VarError::NotPresent),
        };
        let taken = missing(client(), own).unwrap();
        let names: Vec<&str> = taken.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["TMUX", "KEY"], "HOME is ours");
        let emptied = |name: &str| if name == "KEY" { own(name) } else { Ok(String::new()) };
        assert_eq!(missing(client(), emptied).unwrap().len(), 2, "an empty TMUX is none");
        assert_eq!(missing(client(), |_| Ok("here".to_owned())), None);
        assert_eq!(missing(client()[1..].to_vec(), own), None, "it knows of no session");
    }

    #[test]
    fn processes_of_this_user_are_known() {
        let myself = i32::try_from(std::process::id()).unwrap();
        assert!(processes::have_same_user(myself, myself));
        assert!(!processes::have_same_user(myself, i32::MAX));
    }
}
