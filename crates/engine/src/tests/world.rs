//! A state directory, a fake tmux and sessions in it. No process is started: runner and agent of a session are this very test,
//! unless a test says that they are gone.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use dogwatch_core::name::SessionName;
use dogwatch_core::record::{Cause, Ended, Exit, ProcessIdent, Started};
use dogwatch_core::status::Status;
use dogwatch_store::{NewSession, Server, SessionFolder, Signal, StateDir, Store, Wanted};
use dogwatch_tmux::PaneId;
use dogwatch_tmux::fake::{FakePane, FakeTmux, Input};
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;

use crate::context::Caller;
use crate::observe::changes::Waker;
use crate::observe::status::SessionStatus;
use crate::observe::{processes, snapshot, status};
use crate::{Context, Error, summon, supervisor};

/// A process that is no more.
pub(crate) const GONE: ProcessIdent = ProcessIdent { pid: i32::MAX - 7, start: 1 };

pub(crate) struct World {
    pub(crate) context: Context,
    pub(crate) fake: FakeTmux,
    /// Held, so that nothing starts a supervisor, until one serves on a thread of the test.
    lock: Mutex<Option<File>>,
    supervisor: Mutex<Option<Supervisor>>,
    /// A supervisor serves from the first session on.
    is_supervised: bool,
    _folder: TempDir,
}

struct Supervisor {
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: JoinHandle<()>,
}

impl Drop for World {
    fn drop(&mut self) {
        let Some(Supervisor { stop, waker, thread }) = self.supervisor.lock().unwrap().take()
        else {
            return;
        };
        stop.store(true, Ordering::Relaxed);
        waker.wake();
        thread.join().unwrap();
    }
}

/// A session in the store, with its pane.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) id: String,
    pub(crate) pane: PaneId,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let fake = FakeTmux::new();
        let socket = home.join("tmux");
        let context = Context {
            state: StateDir::open(&home.join("state")).unwrap(),
            tmux: fake.server(&socket),
            socket,
            dogwatch: "/no/such/dogwatch".into(),
            profiles: Some(home.join("agents")),
            config: None,
            path: "/usr/bin:/bin".into(),
            home: Some(home),
            agent_roots: Vec::new(),
            host: "desk".into(),
            caller: Caller::default(),
        };
        let lock = summon::take(&context.state.supervisor_lock(&context.socket).unwrap()).unwrap();
        let (lock, supervisor) = (Mutex::new(lock), Mutex::default());
        Self { context, fake, lock, supervisor, is_supervised: false, _folder: folder }
    }

    /// The same with a supervisor. It comes with the first session: one that is two minutes old and half made would be lost.
    pub(crate) fn supervised() -> Self {
        let mut world = Self::new();
        world.is_supervised = true;
        world
    }

    fn supervise(&self) {
        let Some(lock) = self.lock.lock().unwrap().take_if(|_| self.is_supervised) else { return };
        let context = self.context.clone();
        let stop = Arc::new(AtomicBool::new(false));
        let (flag, (sender, begun)) = (Arc::clone(&stop), mpsc::channel());
        let thread = thread::spawn(move || {
            let listen = |waker| {
                sender.send(waker).unwrap();
                Ok(flag)
            };
            supervisor::serve(&context, Some(lock), listen).unwrap();
        });
        let waker = begun.recv().unwrap();
        *self.supervisor.lock().unwrap() = Some(Supervisor { stop, waker, thread });
    }

    pub(crate) fn home(&self) -> &Path {
        self.context.home.as_deref().unwrap()
    }

    pub(crate) fn store(&self) -> Store {
        self.context.store().unwrap()
    }

    /// Remembers a session that is about to be made.
    pub(crate) fn register(&self, name: &str, agent: &str, created: Timestamp) -> String {
        let id = uuid::Uuid::now_v7().to_string();
        let name = SessionName::new(name).unwrap();
        let new = NewSession {
            id: &id,
            agent,
            project: self.home(),
            cwd: self.home(),
            story: None,
            model: None,
            conversation: None,
            command: &[agent.to_owned()],
            socket: &self.context.socket,
            created,
            tags: &[],
            membership: None,
            subscriber: None,
            limits: None,
            prompt: None,
        };
        self.store().register(&new, Wanted::Exactly(&name), &[]).unwrap().unwrap();
        id
    }

    /// A session whose runner has not said anything yet.
    pub(crate) fn placed(&self, name: &str, agent: &str) -> Placed {
        let id = self.register(name, agent, ago(120));
        let pane = self.fake.session(name);
        let (pid, start) = self.fake.identity().unwrap();
        let server = Server { pid: pid.into(), start: start.cast_signed() };
        self.store().placed(&id, &pane.to_string(), server).unwrap();
        Placed { id, pane }
    }

    /// A session whose agent runs.
    pub(crate) fn running(&self, name: &str, agent: &str) -> Placed {
        let placed = self.begun(name, agent);
        self.supervise();
        placed
    }

    fn begun(&self, name: &str, agent: &str) -> Placed {
        let placed = self.placed(name, agent);
        let me = processes::myself().unwrap();
        self.started(&placed, me, me);
        placed
    }

    /// A codex that shows a recorded screen.
    pub(crate) fn codex(&self, name: &str, screen: &str) -> Placed {
        let placed = self.begun(name, "codex");
        self.fake.show(placed.pane, &recorded(screen));
        self.fake.change(placed.pane, |pane| pane.title = "proj".to_owned());
        self.supervise();
        placed
    }

    pub(crate) fn started(&self, placed: &Placed, runner: ProcessIdent, agent: ProcessIdent) {
        let pane = Some(placed.pane.to_string());
        let started = Started { at: ago(100), runner, agent, pane };
        self.store().started(&placed.id, &started).unwrap();
        self.fake.change(placed.pane, |pane| pane.pid = runner.pid);
    }

    pub(crate) fn ended(&self, placed: &Placed, exit: Exit, cause: Cause) {
        let ended =
            Ended { at: Timestamp::now(), exit, cause, error: None, by: None, hangup: None };
        self.store().ended(&placed.id, &ended).unwrap();
        self.fake.change(placed.pane, |pane| pane.dead = true);
    }

    /// The folder of a session, with the files that its maker reserves for the runner.
    pub(crate) fn folder(&self, placed: &Placed) -> SessionFolder {
        let folder = self.context.state.session(&placed.id);
        std::fs::create_dir_all(folder.path()).unwrap();
        for name in ["started", "ended"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        folder
    }

    /// State and reason of a session, as lists tell them.
    pub(crate) fn life(&self, name: &str) -> (String, String) {
        let life = snapshot::find(&self.context, name).unwrap().life;
        (life.state.as_str().to_owned(), life.reason)
    }

    pub(crate) fn status(&self, name: &str) -> Status {
        self.judged(name).unwrap().verdict.status
    }

    pub(crate) fn judged(&self, name: &str) -> Result<SessionStatus, Error> {
        status::one(&self.context, name, Timestamp::now())
    }

    /// What the agent's hook says.
    pub(crate) fn hook(state: &StateDir, session: &str, event: &str, payload: serde_json::Value) {
        let signal = Signal {
            session: session.to_owned(),
            at: Timestamp::now(),
            agent: "codex".to_owned(),
            event: event.to_owned(),
            payload: payload.to_string(),
            spooled: false,
        };
        signal.keep(state, &uuid::Uuid::now_v7().to_string()).unwrap();
        state.tell_news(session);
    }

    /// Plays codex: what is pasted shows up in the box, and Enter sends it, which its hook tells.
    pub(crate) fn play_codex(&self, placed: &Placed) {
        let (state, id) = (self.context.state.clone(), placed.id.clone());
        let mut text = String::new();
        self.fake.play(placed.pane, move |pane: &mut FakePane, input| match input {
            Input::Paste(pasted) | Input::Text(pasted) => {
                text.clone_from(pasted);
                pane.screen = typed(pasted);
            }
            Input::Key(key) if key == "Enter" => {
                pane.screen = recorded("working_thinking");
                let payload = serde_json::json!({ "prompt": text, "session_id": "s" });
                Self::hook(&state, &id, "UserPromptSubmit", payload);
            }
            Input::Key(_) => {}
        });
    }

    /// A message that no supervisor has looked at yet.
    pub(crate) fn post(&self, placed: &Placed, text: &str) {
        let terms = serde_json::json!({ "when": "idle" });
        let (id, session) = (uuid::Uuid::now_v7().to_string(), placed.id.as_str());
        let (slash, sender, posted) = (false, dogwatch_store::NOBODY, Timestamp::now());
        let new = dogwatch_store::NewMessage {
            id: &id,
            session,
            text,
            slash,
            terms: &terms,
            sender,
            posted,
        };
        self.store().post(&new).unwrap();
    }

    pub(crate) fn typed(&self, placed: &Placed) -> Vec<Input> {
        self.fake.pane(placed.pane).unwrap().typed
    }
}

pub(crate) fn ago(seconds: i64) -> Timestamp {
    Timestamp::now() - SignedDuration::from_secs(seconds)
}

/// A screen that was recorded from a real codex.
pub(crate) fn recorded(name: &str) -> String {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../core/testdata/screens"));
    std::fs::read_to_string(folder.join("codex/0.166.0").join(format!("{name}.ansi"))).unwrap()
}

/// Codex at its prompt, with this text in its box.
pub(crate) fn typed(text: &str) -> String {
    recorded("idle_half_typed").replace("half typed text not sent", text)
}
