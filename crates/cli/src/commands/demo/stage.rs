use std::path::Path;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_engine::actions::kill;
use dogwatch_engine::actions::spawn::{self, Place, Request, What};
use dogwatch_engine::observe::processes;
use dogwatch_engine::observe::snapshot;
use dogwatch_engine::{Context, Error};
use dogwatch_store::StateDir;
use dogwatch_tmux::{Command, PaneList, Server, Socket};
use jiff::{Timestamp, Zoned};

use super::watched::Watched;

/// How long processes may take to end.
const LEAVING: Duration = Duration::from_secs(5);

/// The private environment of the demo. Dropping it kills the tmux server with everything in it.
pub(super) struct Stage {
    folder: tempfile::TempDir,
    pub(super) context: Context,
}

impl Stage {
    pub(super) fn build() -> Result<Self, Error> {
        let folder = tempfile::Builder::new()
            .prefix("dogwatch-demo-")
            .tempdir()
            .map_err(Error::io("create a directory for the demo"))?;
        let socket = folder.path().join("tmux");
        let mut tmux = Server::new(Socket::Path(socket.clone()));
        tmux.withheld = crate::environment::private_variables();
        // Without the user's own tmux settings.
        tmux.config = Some("/dev/null".into());
        tmux.connect_lock = vec![folder.path().join("lock")];
        let context = Context {
            state: StateDir::open(&folder.path().join("state"))?,
            tmux,
            socket,
            dogwatch: std::env::current_exe().map_err(Error::io("find dogwatch's own binary"))?,
            profiles: None,
            config: None,
            path: std::env::var_os("PATH").unwrap_or_default(),
            home: None,
            agent_roots: Vec::new(),
            host: String::new(),
            caller: dogwatch_engine::context::Caller::default(),
        };
        std::fs::create_dir(folder.path().join("work"))
            .map_err(Error::io("create a work directory"))?;
        Ok(Self { folder, context })
    }

    pub(super) fn raise_curtain(&self) -> Result<Vec<Watched>, Error> {
        let actors = dogwatch_actor::demo::ALL;
        actors.iter().map(|(name, scenario)| self.start(name, scenario)).collect()
    }

    fn start(&self, name: &str, scenario: &str) -> Result<Watched, Error> {
        let path = self.folder.path().join(format!("{name}.toml"));
        std::fs::write(&path, scenario).map_err(Error::io("write a scenario"))?;
        let dogwatch = &self.context.dogwatch;
        let hook = serde_json::to_string(&(dogwatch, "hook", "demo"))
            .logged("write JSON")
            .unwrap_or_default();
        let cwd = self.folder.path().join("work");
        let words = [dogwatch.as_path(), Path::new("lab"), Path::new("actor"), &path];
        let request = Request {
            what: What::Command(words.iter().map(|w| w.as_os_str().to_owned()).collect()),
            prompt: None,
            name: Some(name.to_owned()),
            story: None,
            project: cwd.clone(),
            cwd,
            model: None,
            resume: None,
            unattended: false,
            env: vec![("DOGWATCH_HOOK_COMMAND".into(), hook)],
            caller_env: std::env::vars_os().collect(),
            place: Place::OwnSession,
            tags: Vec::new(),
            membership: None,
            when_limited: None,
            subscriber: None,
        };
        let spawned = spawn::spawn(&self.context, &request, &Zoned::now())?;
        Ok(Watched::new(name, spawned.id.into()))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Runners that are still ending would write into the directory while it is removed.
        for seen in snapshot::look_at_current(&self.context)
            .logged("look at the sessions")
            .unwrap_or_default()
        {
            kill::kill(&self.context, &seen, true, Timestamp::now()).logged("end a session");
        }
        // The server removes its socket on exit: wait for that before removing the directory.
        let tmux = &self.context.tmux;
        let server = tmux
            .run(&PaneList::commands())
            .logged("ask tmux")
            .and_then(|r| PaneList::parse(&r).ok());
        let server = server.and_then(|list| i32::try_from(list.server_pid).ok());
        let server = server.and_then(processes::identify);
        tmux.run_one(Command::new("kill-server")).logged("ask tmux");
        if let Some(server) = server {
            processes::wait_gone(server, LEAVING);
        }
        // A process that was being started may still write into the directory; no event reports its last write.
        let begun = Instant::now();
        while std::fs::remove_dir_all(self.folder.path())
            .is_err_and(|error| error.kind() != std::io::ErrorKind::NotFound)
            && begun.elapsed() < LEAVING
        {
            // sleep: no event reports the last write of a process that is ending.
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
