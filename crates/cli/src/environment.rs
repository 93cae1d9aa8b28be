//! The process's environment, read once and only here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_base::private::MQTT_PASSWORD;
use dogwatch_core::registry::NamePattern;
use dogwatch_engine::actions::bug_report::Surroundings;
pub(crate) use dogwatch_engine::environment::{
    context, host, local_time, own_session, private_variables, state_dir,
};
use dogwatch_engine::environment::{path_variable, user};
use dogwatch_engine::registry::ManagedRegistry;
use dogwatch_engine::registry::observe::ObserveOptions;
use dogwatch_engine::team::session_file::Whereabouts;
use dogwatch_engine::{Context, Error, config};
use dogwatch_store::{
    LocalBroker, Mqtt, MqttError, RegistryFile, Surroundings as ConfigSurroundings, read_regular,
};
use dogwatch_tmux::PaneId;

use crate::args::WhichRegistry;
use crate::usage::UsageError;

/// More than the system's own small files have.
const MOST_SYSTEM_FILE: u64 = 1024 * 1024;

/// Where Claude Code keeps the user's settings.
pub(crate) fn claude_config() -> Option<PathBuf> {
    path_variable("CLAUDE_CONFIG_DIR").or_else(|| path_variable("HOME").map(|h| h.join(".claude")))
}

/// The selected registry, and how to read it.
pub(crate) fn managed_registry<'c>(
    context: &'c Context,
    args: &WhichRegistry,
    with_status: bool,
) -> Result<ManagedRegistry<'c>, Error> {
    let told = args.registry.clone().or_else(|| path_variable("DOGWATCH_REGISTRY"));
    let path = match told {
        Some(path) => current_dir()?.join(path),
        None => RegistryFile::default_path(&context.state),
    };
    let named = std::env::var("DOGWATCH_REGISTRY_PATTERN").ok().filter(|text| !text.is_empty());
    let pattern = match (&args.pattern, named) {
        (Some(pattern), _) => pattern.clone(),
        (None, Some(text)) => {
            NamePattern::parse(&text).map_err(|problem| UsageError::BadPattern { problem })?
        }
        (None, None) => NamePattern::default(),
    };
    Ok(ManagedRegistry::new(
        context,
        RegistryFile::new(path),
        ObserveOptions { pattern, with_status },
    ))
}

/// The project of the current folder.
pub(crate) fn project() -> Result<PathBuf, Error> {
    Ok(project_of(&current_dir()?))
}

/// The project of a folder that a person named.
pub(crate) fn project_given(folder: &Path) -> Result<PathBuf, Error> {
    let folder = folder
        .canonicalize()
        .map_err(Error::io(format!("read the directory {}", folder.display())))?;
    Ok(project_of(&folder))
}

pub(crate) fn project_of(cwd: &Path) -> PathBuf {
    dogwatch_engine::observe::project::root(path_variable("PROJECT_ROOT").as_deref(), cwd)
}

pub(crate) fn current_dir() -> Result<PathBuf, Error> {
    std::env::current_dir().map_err(Error::io("read the current directory"))
}

/// What tells who the user is and where, and what else here is private.
pub(crate) fn surroundings() -> Surroundings {
    let host = host();
    let machine = read_regular(Path::new("/etc/machine-id"), MOST_SYSTEM_FILE)
        .logged_unless_missing("read a file")
        .unwrap_or_default();
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

/// The broker, which must be set up.
pub(crate) fn broker(context: &Context) -> Result<Mqtt, Error> {
    let path = context.config.clone().unwrap_or_default();
    Ok(mqtt(context)?.ok_or(MqttError::NoBroker { path })?)
}

/// The agent of that session.
pub(crate) fn own_agent() -> Option<String> {
    std::env::var("AI_AGENT").ok().filter(|agent| !agent.is_empty())
}

/// Variables that agents set for their hooks, and not for what their tools run.
const OF_HOOKS: [&str; 4] =
    ["CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE", "CLAUDE_PLUGIN_ROOT", "GEMINI_PROJECT_DIR"];

/// Whether an agent runs this process as a hook.
pub(crate) fn is_in_hook() -> bool {
    OF_HOOKS.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Who runs this process: a user, or an agent of ours on their behalf.
pub(crate) fn who(context: &Context) -> String {
    let session = own_session().and_then(|id| {
        context.store().logged("open the database")?.by_id(&id).logged("read a session")?
    });
    session.map_or_else(user, |session| format!("agent {}", session.name))
}

/// The pane that this process runs in, if it is one of the server that is meant.
pub(crate) fn own_pane(context: &Context) -> Option<PaneId> {
    let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    tmux_around().filter(|socket| resolve(socket) == resolve(&context.socket))?;
    std::env::var("TMUX_PANE").ok()?.parse().ok()
}

/// The pane that this process runs in, of whichever server.
pub(crate) fn own_pane_id() -> Option<PaneId> {
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

/// Whether colours are wanted: `NO_COLOR` is not set, and the terminal has some.
pub(crate) fn has_colours() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

pub(crate) fn home() -> Option<PathBuf> {
    path_variable("HOME").filter(|home| home.is_absolute())
}
