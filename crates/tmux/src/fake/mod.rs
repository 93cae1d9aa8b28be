//! A tmux server in memory for tests: sessions, panes, screens, buffers and the commands that
//! dogwatch uses. No process is started and nothing is drawn; a test sets what a pane shows, and may react to input.
//!
//! It takes the same words as a `tmux` process, so chains, marks, targets and error messages are tested with it. It has no
//! control mode. `tests/it/fake.rs` compares its answers with a real tmux.

mod commands;
mod format;
mod words;

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::{Client, Error, Output, PaneId, Server, Socket, Transport};

/// Input to the program in a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Pasted in one piece.
    Paste(String),
    /// Typed as text.
    Text(String),
    /// A key by its name.
    Key(String),
}

/// One pane. Tests may change all of it.
#[derive(Debug, Clone)]
pub struct FakePane {
    pub id: PaneId,
    pub session: String,
    pub session_no: u32,
    pub window: u32,
    pub pid: i32,
    pub dead: bool,
    pub dead_status: Option<i32>,
    pub title: String,
    pub screen: String,
    pub width: u16,
    pub height: u16,
    pub in_mode: bool,
    /// Number of clients attached to its session.
    pub attached: u32,
    /// Unix seconds.
    pub activity: u64,
    /// The command that it was created with.
    pub runs: Vec<String>,
    pub current_path: PathBuf,
    pub options: BTreeMap<String, String>,
    /// All input so far.
    pub typed: Vec<Input>,
}

type Program = Box<dyn FnMut(&mut FakePane, &Input) + Send>;
type Start = Box<dyn FnMut(&mut FakePane) + Send>;

#[derive(Default)]
struct State {
    /// `None` while no server runs.
    pid: Option<u32>,
    start: u64,
    version: String,
    panes: Vec<FakePane>,
    environments: BTreeMap<String, BTreeMap<String, String>>,
    buffers: BTreeMap<String, Vec<u8>>,
    programs: BTreeMap<u32, Program>,
    on_start: Option<Start>,
    next_pane: u32,
    next_session: u32,
    next_window: u32,
    ran: Vec<String>,
    refusals: VecDeque<(String, String)>,
    hangs: bool,
    /// Panes whose process ends just before a command of this name.
    dying: Vec<(String, PaneId)>,
}

/// The fake server, shared by all [`Server`]s from [`FakeTmux::server`].
#[derive(Clone)]
pub struct FakeTmux {
    state: Arc<Mutex<State>>,
}

impl std::fmt::Debug for FakeTmux {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FakeTmux").field("panes", &self.lock().panes).finish_non_exhaustive()
    }
}

impl Default for FakeTmux {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeTmux {
    /// No server runs yet; the first `new-session` starts it.
    pub fn new() -> Self {
        let state = State { version: "3.4".to_owned(), start: 1_800_000_000, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// The server for the code under test.
    pub fn server(&self, socket: impl Into<PathBuf>) -> Server {
        Server::new(Socket::Path(socket.into())).with_transport(Arc::new(self.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a session with one pane, as a person would, and starts the server if necessary.
    pub fn session(&self, name: &str) -> PaneId {
        let mut state = self.lock();
        state.run_server();
        let session_no = state.take_session_no();
        state.make_pane(name, session_no, None, vec!["sh".to_owned()])
    }

    /// Changes a pane; `None` if it is gone.
    pub fn change<T>(&self, pane: PaneId, change: impl FnOnce(&mut FakePane) -> T) -> Option<T> {
        self.lock().panes.iter_mut().find(|one| one.id == pane).map(change)
    }

    /// A copy of a pane's current state.
    pub fn pane(&self, pane: PaneId) -> Option<FakePane> {
        self.lock().panes.iter().find(|one| one.id == pane).cloned()
    }

    pub fn panes(&self) -> Vec<FakePane> {
        self.lock().panes.clone()
    }

    /// Sets the screen of a pane.
    pub fn show(&self, pane: PaneId, screen: &str) {
        self.change(pane, |pane| {
            screen.clone_into(&mut pane.screen);
            pane.activity += 1;
        });
    }

    /// Sets the program in a pane: called for every input.
    pub fn play(&self, pane: PaneId, program: impl FnMut(&mut FakePane, &Input) + Send + 'static) {
        self.lock().programs.insert(pane.0, Box::new(program));
    }

    /// Called for every pane that a command creates.
    pub fn on_start(&self, start: impl FnMut(&mut FakePane) + Send + 'static) {
        self.lock().on_start = Some(Box::new(start));
    }

    /// Removes a pane without a command.
    pub fn close(&self, pane: PaneId) {
        let mut state = self.lock();
        state.panes.retain(|one| one.id != pane);
        state.end_if_empty();
    }

    /// The next command of this name fails with this message.
    pub fn refuse(&self, command: &str, message: &str) {
        self.lock().refusals.push_back((command.to_owned(), message.to_owned()));
    }

    /// The process of the pane ends just before the next command of this name.
    pub fn die_at(&self, command: &str, pane: PaneId) {
        self.lock().dying.push((command.to_owned(), pane));
    }

    /// With `true` no client gets an answer any more; `false` ends that.
    pub fn hang(&self, hangs: bool) {
        self.lock().hangs = hangs;
    }

    /// Ends the server with all its panes.
    pub fn end(&self) {
        self.lock().end();
    }

    pub fn set_version(&self, version: &str) {
        version.clone_into(&mut self.lock().version);
    }

    /// Its pid and start time, if it runs.
    pub fn identity(&self) -> Option<(u32, u64)> {
        let state = self.lock();
        Some((state.pid?, state.start))
    }

    /// Names of the executed commands, in order; without the marks between replies.
    pub fn ran(&self) -> Vec<String> {
        self.lock().ran.clone()
    }

    /// The same since the last call.
    pub fn take_ran(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().ran)
    }
}

impl State {
    fn run_server(&mut self) {
        if self.pid.is_none() {
            // A live process, so that process checks find it.
            self.pid = Some(std::process::id());
            self.start += 1;
        }
    }

    fn end(&mut self) {
        self.pid = None;
        self.panes.clear();
        self.buffers.clear();
        self.environments.clear();
        (self.next_pane, self.next_session, self.next_window) = (0, 0, 0);
    }

    fn end_if_empty(&mut self) {
        if self.panes.is_empty() {
            self.end();
        }
    }

    fn take_session_no(&mut self) -> u32 {
        self.next_session += 1;
        self.next_session - 1
    }

    fn make_pane(
        &mut self,
        session: &str,
        session_no: u32,
        window: Option<u32>,
        runs: Vec<String>,
    ) -> PaneId {
        let id = PaneId(self.next_pane);
        self.next_pane += 1;
        let window = window.unwrap_or_else(|| {
            self.next_window += 1;
            self.next_window - 1
        });
        let mut pane = FakePane {
            id,
            session: session.to_owned(),
            session_no,
            window,
            pid: i32::try_from(std::process::id()).unwrap_or(0),
            dead: false,
            dead_status: None,
            title: String::new(),
            screen: String::new(),
            width: 200,
            height: 50,
            in_mode: false,
            attached: 0,
            activity: self.start,
            runs,
            current_path: PathBuf::from("/"),
            options: BTreeMap::new(),
            typed: Vec::new(),
        };
        if let Some(start) = &mut self.on_start {
            start(&mut pane);
        }
        self.panes.push(pane);
        id
    }

    fn typed(&mut self, pane: usize, input: Input) {
        let pane = &mut self.panes[pane];
        if let Some(program) = self.programs.get_mut(&pane.id.0) {
            program(pane, &input);
        }
        pane.typed.push(input);
    }
}

impl Transport for FakeTmux {
    fn start(
        &self,
        server: &Server,
        words: &[OsString],
        stdin: Option<Vec<u8>>,
        _: Instant,
    ) -> Result<Box<dyn Client>, Error> {
        let mut state = self.lock();
        let output = (!state.hangs).then(|| state.client(words, stdin, server.may_start));
        Ok(Box::new(Answered { output }))
    }

    fn has_control_mode(&self) -> bool {
        false
    }
}

/// A client that has its answer already, or never gets one.
#[derive(Debug)]
struct Answered {
    output: Option<Output>,
}

impl Client for Answered {
    fn make_room(&self) {}

    fn finish(self: Box<Self>) -> io::Result<Option<Output>> {
        Ok(self.output)
    }
}

fn ended(code: i32, stdout: Vec<u8>, stderr: &str) -> Output {
    let stderr = if stderr.is_empty() { String::new() } else { format!("{stderr}\n") };
    // In the form of `wait`: the code is in the second byte.
    Output { status: ExitStatus::from_raw(code << 8), stdout, stderr: stderr.into_bytes() }
}
