//! The process's environment: how front ends make their [`Context`]. Variables are read at the front, and nowhere below.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_base::private::is_private;
use dogwatch_base::program;
use dogwatch_core::id::is_id;
use dogwatch_store::{StateDir, StoreError, read_regular};
use dogwatch_tmux::{Server, Socket};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::context::{self, Caller};
use crate::{Context, Error};

/// More than the system's own small files have.
const MOST_SYSTEM_FILE: u64 = 1024 * 1024;

/// Names of our own secrets in the environment.
pub fn private_variables() -> Vec<OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| is_private(name)).collect()
}

/// Everything the use cases need to know of their surroundings.
pub fn context(socket: Option<&str>, state_dir: Option<PathBuf>) -> Result<Context, Error> {
    let home = path_variable("HOME");
    let told = socket.map(ToOwned::to_owned).or_else(|| std::env::var("DOGWATCH_TMUX").ok());
    let socket: Socket = match told.filter(|value| !value.is_empty()) {
        Some(value) => value.parse().unwrap_or_default(),
        None => Socket::Default,
    };
    let socket_path = context::socket_path(
        &socket,
        std::env::var("TMUX").ok().as_deref(),
        path_variable("TMUX_TMPDIR").as_deref(),
        rustix::process::getuid().as_raw(),
    );
    let config =
        path_variable("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
    let mut tmux = Server::new(socket);
    let state = self::state_dir(state_dir)?;
    tmux.connect_lock = context::connect_lock_files(&socket_path, state.root());
    tmux.path = Some(socket_path.clone());
    tmux.withheld = private_variables();
    if !tmux.withheld.is_empty() {
        keep_environment_private();
    }
    Ok(Context {
        state,
        tmux,
        socket: socket_path,
        dogwatch: program::own_path().map_err(Error::io("find dogwatch's own binary"))?,
        profiles: config.as_ref().map(|dir| dir.join("dogwatch/agents")),
        config: config.map(|dir| dir.join("dogwatch/config.toml")),
        path: std::env::var_os("PATH").unwrap_or_default(),
        home,
        agent_roots: ["CLAUDE_CONFIG_DIR", "CODEX_HOME"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), path_variable(name)?)))
            .collect(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        caller: Caller { user: user(), terminal: terminal(), session: own_session() },
    })
}

/// The state directory: as told, else as the environment says.
pub fn state_dir(told: Option<PathBuf>) -> Result<StateDir, StoreError> {
    let told = told.or_else(|| path_variable("DOGWATCH_STATE_DIR"));
    let xdg = path_variable("XDG_STATE_HOME");
    StateDir::open(&StateDir::locate(told, xdg, path_variable("HOME"))?)
}

/// The local time. jiff would look for the zone's name through all of the zone database, which takes over
/// a millisecond; the zone itself is in one file.
pub fn local_time() -> Zoned {
    let zone = || {
        if std::env::var_os("TZ").is_some() {
            return None;
        }
        let zone = read_regular(Path::new("/etc/localtime"), MOST_SYSTEM_FILE)
            .logged_unless_missing("read a file")?;
        TimeZone::tzif("local", &zone).ok()
    };
    match zone() {
        Some(zone) => Timestamp::now().to_zoned(zone),
        None => Zoned::now(),
    }
}

/// Keeps other processes of the same user, agents among them, from reading the variables of this one. Without it nothing is
/// worse than before, so a failure is passed over.
fn keep_environment_private() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .logged("keep other processes from reading our memory");
    }
}

/// This machine's name.
pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The session this process was started in, if any: hooks have it from their agent. What cannot be an id is ignored.
pub fn own_session() -> Option<String> {
    std::env::var("DOGWATCH_SESSION").ok().filter(|id| is_id(id))
}

pub fn user() -> String {
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let user = user.filter(|user| !user.is_empty());
    user.unwrap_or_else(|| format!("user {}", rustix::process::getuid().as_raw()))
}

/// Name of the terminal that this process was started from.
fn terminal() -> Option<String> {
    let name = rustix::termios::ttyname(std::io::stdin(), Vec::new()).ok()?;
    let name = name.to_string_lossy();
    Some(name.strip_prefix("/dev/").unwrap_or(&name).to_owned())
}

/// A variable that is set to nothing counts as not set.
pub fn path_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
