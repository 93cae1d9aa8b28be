//! What the process was told from outside, read once and only here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dogwatch_core::id::is_id;
use dogwatch_core::private::{MQTT_PASSWORD, is_private};
use dogwatch_core::registry::NamePattern;
use dogwatch_engine::actions::bug_report::Surroundings;
use dogwatch_engine::context::Caller;
use dogwatch_engine::registry::Roll;
use dogwatch_engine::registry::observe::Manner;
use dogwatch_engine::team::session_file::Whereabouts;
use dogwatch_engine::{Context, Error, config, context};
use dogwatch_store::{
    LocalBroker, Mqtt, MqttError, RegistryFile, StateDir, StoreError,
    Surroundings as ConfigSurroundings, read_regular,
};
use dogwatch_tmux::{PaneId, Server, Socket};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::args::RollArgs;

/// More than the system's own small files have.
const MOST_SYSTEM_FILE: u64 = 1024 * 1024;

/// Names of our own secrets in the environment.
pub(crate) fn private_variables() -> Vec<OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| is_private(name)).collect()
}

/// Everything the use cases need to know of their surroundings.
pub(crate) fn context(socket: Option<&str>, state_dir: Option<PathBuf>) -> Result<Context, Error> {
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
    tmux.gate = context::gate(&socket_path, state.root());
    tmux.path = Some(socket_path.clone());
    tmux.withheld = private_variables();
    if !tmux.withheld.is_empty() {
        keep_environment_private();
    }
    Ok(Context {
        state,
        tmux,
        socket: socket_path,
        dogwatch: std::env::current_exe().map_err(Error::io("find dogwatch's own binary"))?,
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
pub(crate) fn state_dir(told: Option<PathBuf>) -> Result<StateDir, StoreError> {
    let told = told.or_else(|| path_variable("DOGWATCH_STATE_DIR"));
    let xdg = path_variable("XDG_STATE_HOME");
    StateDir::open(&StateDir::locate(told, xdg, path_variable("HOME"))?)
}

/// Where Claude Code keeps the user's settings.
pub(crate) fn claude_config() -> Option<PathBuf> {
    path_variable("CLAUDE_CONFIG_DIR").or_else(|| path_variable("HOME").map(|h| h.join(".claude")))
}

/// The registry that is meant, and how it is looked at.
pub(crate) fn roll<'c>(
    context: &'c Context,
    args: &RollArgs,
    with_status: bool,
) -> Result<Roll<'c>, Error> {
    let told = args.registry.clone().or_else(|| path_variable("DOGWATCH_REGISTRY"));
    let path = match told {
        Some(path) => current_dir()?.join(path),
        None => RegistryFile::default_path(&context.state),
    };
    let named = std::env::var("DOGWATCH_REGISTRY_PATTERN").ok().filter(|text| !text.is_empty());
    let pattern = match (&args.pattern, named) {
        (Some(pattern), _) => pattern.clone(),
        (None, Some(text)) => NamePattern::parse(&text).map_err(|problem| Error::BadArgument {
            problem: format!("DOGWATCH_REGISTRY_PATTERN: {problem}"),
        })?,
        (None, None) => NamePattern::default(),
    };
    Ok(Roll::new(context, RegistryFile::new(path), Manner { pattern, with_status }))
}

/// The project of the current folder.
pub(crate) fn project() -> Result<PathBuf, Error> {
    Ok(project_of(&current_dir()?))
}

pub(crate) fn project_of(cwd: &Path) -> PathBuf {
    dogwatch_engine::observe::project::root(path_variable("PROJECT_ROOT").as_deref(), cwd)
}

pub(crate) fn current_dir() -> Result<PathBuf, Error> {
    std::env::current_dir().map_err(Error::io("find the current folder"))
}

/// The local time. jiff would look for the zone's name through all of the zone database, which takes over
/// a millisecond; the zone itself is in one file.
pub(crate) fn local_time() -> Zoned {
    let zone = || {
        if std::env::var_os("TZ").is_some() {
            return None;
        }
        let zone = read_regular(Path::new("/etc/localtime"), MOST_SYSTEM_FILE).ok()?;
        TimeZone::tzif("local", &zone).ok()
    };
    match zone() {
        Some(zone) => Timestamp::now().to_zoned(zone),
        None => Zoned::now(),
    }
}

/// What tells who the user is and where, and what else here is private.
pub(crate) fn surroundings() -> Surroundings {
    let host = host();
    let machine = read_regular(Path::new("/etc/machine-id"), MOST_SYSTEM_FILE).unwrap_or_default();
    let machine = String::from_utf8_lossy(&machine);
    let short = host.split('.').next().unwrap_or_default().to_owned();
    let lossy = |text: OsString| text.to_string_lossy().into_owned();
    Surroundings {
        names: vec![host, short, machine.trim().to_owned()],
        variables: std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value))).collect(),
    }
}

/// The broker, if one is set up.
pub(crate) fn mqtt(context: &Context) -> Result<Option<Mqtt>, Error> {
    let Some(table) = config::read(context)?.mqtt else { return Ok(None) };
    let password = std::env::var(MQTT_PASSWORD).ok().filter(|word| !word.is_empty());
    let around = ConfigSurroundings {
        file: context.config.as_deref().unwrap_or(Path::new("")),
        machine: &host(),
        password: password.as_deref(),
        local: LocalBroker::of(&context.state),
    };
    Ok(Some(Mqtt::resolve(&table, &around)?))
}

/// Keeps other processes of the same user, agents among them, from reading the variables of this one. Without it nothing is
/// worse than before, so a failure is passed over.
fn keep_environment_private() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// The broker, which must be set up.
pub(crate) fn broker(context: &Context) -> Result<Mqtt, Error> {
    let path = context.config.clone().unwrap_or_default();
    Ok(mqtt(context)?.ok_or(MqttError::NoBroker { path })?)
}

/// This machine's name.
pub(crate) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The session this process was started in, if any: hooks have it from their agent. What cannot be an id is nobody's.
pub(crate) fn own_session() -> Option<String> {
    std::env::var("DOGWATCH_SESSION").ok().filter(|id| is_id(id))
}

/// The agent of that session.
pub(crate) fn own_agent() -> Option<String> {
    std::env::var("AI_AGENT").ok().filter(|agent| !agent.is_empty())
}

/// Who runs this process: a user, or an agent of ours on their behalf.
pub(crate) fn who(context: &Context) -> String {
    let session = own_session().and_then(|id| context.store().ok()?.by_id(&id).ok()?);
    session.map_or_else(user, |session| format!("agent {}", session.name))
}

fn user() -> String {
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

/// The pane that this process runs in, if it is one of the server that is meant.
pub(crate) fn own_pane(context: &Context) -> Option<PaneId> {
    let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    tmux_around().filter(|socket| resolve(socket) == resolve(&context.socket))?;
    std::env::var("TMUX_PANE").ok()?.parse().ok()
}

/// What is known of where the session file of a project is.
pub(crate) fn whereabouts(told: Option<&Path>, project: PathBuf) -> Result<Whereabouts, Error> {
    let here = current_dir()?;
    let file = told.map(Path::to_owned).or_else(|| path_variable("DOGWATCH_SESSION_FILE"));
    let bmad_session = std::env::var("BMAD_SESSION_ID").ok().filter(|id| !id.is_empty());
    Ok(Whereabouts { file: file.map(|file| here.join(file)), bmad_session, project })
}

/// The role that this process was started in, if any.
pub(crate) fn own_role() -> Option<String> {
    std::env::var("DOGWATCH_ROLE").ok().filter(|role| !role.is_empty())
}

/// The pane of whoever started this process's agent, if any.
pub(crate) fn own_spawner() -> Option<String> {
    std::env::var("DOGWATCH_SPAWNER_PANE").ok().filter(|pane| !pane.is_empty())
}

/// Socket of the tmux server whose pane this process runs in, if it does.
pub(crate) fn tmux_around() -> Option<PathBuf> {
    let value = std::env::var("TMUX").ok()?;
    value.split(',').next().filter(|path| !path.is_empty()).map(PathBuf::from)
}

pub(crate) fn home() -> Option<PathBuf> {
    path_variable("HOME").filter(|home| home.is_absolute())
}

/// A variable that is set to nothing counts as not set.
fn path_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
