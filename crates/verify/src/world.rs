//! A private world for one play: home, project, state directory, tmux server, model double. Dropping it ends everything in it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_engine::actions::kill;
use dogwatch_engine::context::Caller;
use dogwatch_engine::observe::{processes, snapshot};
use dogwatch_engine::{Context, Error};
use dogwatch_store::StateDir;
use dogwatch_tmux::{Command, PaneList, Server, Socket};
use jiff::Timestamp;
use model_double::homes::{Agent, Environment, Place};
use model_double::{ModelDouble, Scenario};

use crate::laboratory::Task;

/// How long what is ended may take to be gone.
const LEAVING: Duration = Duration::from_secs(5);
const SCENARIO: &str = include_str!("../../../lab/scenarios/basic.toml");

pub(crate) struct World {
    pub(crate) agent: Agent,
    pub(crate) program: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) work: PathBuf,
    pub(crate) context: Context,
    pub(crate) double: ModelDouble,
    /// The whole environment of the agent.
    pub(crate) environment: Environment,
}

impl World {
    pub(crate) fn make(task: &Task, agent: Agent, name: &str) -> Result<Self, Error> {
        let folder = task.folder.join(name);
        let (home, work) = (folder.join("home"), folder.join("work"));
        for path in [&home, &work] {
            fs::create_dir_all(path).map_err(Error::io("create a directory"))?;
        }
        let scenario = Scenario::parse("basic.toml", SCENARIO)
            .map_err(|error| Error::io("read the scenario")(std::io::Error::other(error)))?;
        let double = ModelDouble::start(scenario).map_err(Error::io("start the model double"))?;
        let place = Place { home: &home, project: &work, url: &double.url() };
        let mut environment =
            agent.write_home(place).map_err(Error::io("write the agent's private home"))?;
        let path = task.search_path();
        environment.insert("PATH".to_owned(), path.to_string_lossy().into_owned());
        let socket = folder.join("tmux");
        let mut tmux = Server::new(Socket::Path(socket.clone()));
        tmux.config = Some("/dev/null".into());
        tmux.connect_lock = vec![folder.join("lock")];
        let context = Context {
            state: StateDir::open(&folder.join("state"))?,
            tmux,
            socket,
            dogwatch: std::env::current_exe().map_err(Error::io("find dogwatch's own binary"))?,
            profiles: None,
            config: None,
            path,
            home: Some(home),
            agent_roots: Vec::new(),
            host: String::new(),
            caller: Caller::default(),
        };
        let program = task.program.clone();
        Ok(Self { agent, program, folder, work, context, double, environment })
    }

    /// The environment as `spawn` takes it.
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        self.environment.iter().map(|(key, value)| (key.into(), value.into())).collect()
    }

    /// A script that becomes a shell with the agent's environment.
    pub(crate) fn shell_script(&self, more: &[(&str, &str)]) -> Result<PathBuf, Error> {
        let own = self.environment.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let exports = own.chain(more.iter().copied()).map(|(key, value)| {
            let value = value.replace('\'', r"'\''");
            format!("export {key}='{value}'\n")
        });
        let script =
            format!("{}cd '{}'\nexec /bin/sh\n", exports.collect::<String>(), self.work.display());
        let path = self.folder.join("shell");
        fs::write(&path, script).map_err(Error::io("write a script"))?;
        Ok(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }
}

/// Writes a file for the agent to find.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::io("create a directory"))?;
    }
    fs::write(path, text).map_err(Error::io("write a file"))
}

impl Drop for World {
    fn drop(&mut self) {
        for seen in snapshot::look_at_current(&self.context)
            .logged("look at the sessions")
            .unwrap_or_default()
        {
            kill::kill(&self.context, &seen, true, Timestamp::now()).logged("end a session");
        }
        let tmux = &self.context.tmux;
        let server = tmux
            .run(&PaneList::commands())
            .logged("ask tmux")
            .and_then(|replies| PaneList::parse(&replies).ok());
        let server = server.and_then(|list| i32::try_from(list.server_pid).ok());
        let server = server.and_then(processes::identify);
        tmux.run_one(Command::new("kill-server")).logged("ask tmux");
        if let Some(server) = server {
            processes::wait_gone(server, LEAVING);
        }
    }
}
