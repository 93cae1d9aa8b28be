//! The client, which spans connections.

use std::io::{PipeWriter, pipe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::Note;
use super::link::{Link, Outlet, anchor_name, go_to_anchor};
use super::pending::{Answer, Pending, Shape};
use super::supervisor::Supervisor;
use crate::connect_lock::{ConnectLock, is_announced};
use crate::quote::line;
use crate::{ANCHOR_PREFIX, Command, Error, Reply, Server, SessionName};

/// Short limit for requests that clean up: their failure must not delay the caller.
const CLEANING: Duration = Duration::from_secs(1);

/// A control client. Dropping it closes the connection and removes the anchor session.
#[derive(Debug)]
pub struct Control {
    shared: Arc<Shared>,
    /// Closed to wake the supervisor.
    alive: Option<PipeWriter>,
    supervisor: Option<JoinHandle<()>>,
}

/// What callers and the supervising thread share. Lock order: `outlet`, then `pending`.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) server: Server,
    pub(super) anchor: SessionName,
    /// `None` without a connection. Locked while a request is queued and written, so that
    /// lines and expected replies have the same order.
    outlet: Mutex<Option<Outlet>>,
    pending: Mutex<Pending>,
    closing: AtomicBool,
}

impl Control {
    /// Connects to a running server. The receiver gets all [`Note`]s until the client is dropped;
    /// unread ones accumulate, so drop it if they are not wanted.
    pub fn open(server: &Server) -> Result<(Self, Receiver<Note>), Error> {
        let io = |action| move |source: std::io::Error| Error::Io { action, source: source.into() };
        let (closing, alive) = pipe().map_err(io("make a pipe"))?;
        let anchor = anchor_name()?;
        let Link { outlet, inlet } = Link::open(server, &anchor, &closing)?;
        let shared = Arc::new(Shared {
            server: server.clone(),
            anchor,
            outlet: Mutex::new(Some(outlet)),
            pending: Mutex::default(),
            closing: AtomicBool::new(false),
        });
        let (notes, receiver) = channel();
        let supervisor = Supervisor { shared: Arc::clone(&shared), closing, notes };
        let supervisor = thread::Builder::new()
            .name("tmux-control".into())
            .spawn(move || supervisor.run(inlet))
            .map_err(io("start a thread"))?;
        let control = Self { shared, alive: Some(alive), supervisor: Some(supervisor) };
        control.shared.sweep();
        Ok((control, receiver))
    }

    /// Sends all commands in one write and waits for all replies. An error of one command does not
    /// affect the others.
    pub fn request(&self, commands: &[Command]) -> Result<Vec<Result<Reply, Error>>, Error> {
        let announced = commands.iter().any(|command| is_announced(command.name()));
        let _lock = announced.then(|| ConnectLock::wait(&self.shared.server.connect_lock));
        self.shared.request(commands, self.shared.server.deadline)
    }

    /// One command.
    pub fn request_one(&self, command: Command) -> Result<Reply, Error> {
        let mut answers = self.request(&[command])?;
        answers.pop().unwrap_or(Err(Error::Disconnected))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Release);
        // Until the client is gone: tmux announces its exit as well.
        let _lock = ConnectLock::wait(&self.shared.server.connect_lock);
        let kill = Command::new("kill-session").target(&self.shared.anchor);
        let answered = self.shared.request(std::slice::from_ref(&kill), CLEANING).is_ok();
        drop(self.alive.take());
        if let Some(supervisor) = self.supervisor.take() {
            let _ = supervisor.join();
        }
        if !answered {
            // If it was detached just now, the anchor still exists.
            let running = self.shared.server.running_only();
            let server = Server { deadline: CLEANING, connect_lock: Vec::new(), ..running };
            server.run_one(kill).logged("ask tmux");
        }
    }
}

impl Shared {
    fn request(
        &self,
        commands: &[Command],
        patience: Duration,
    ) -> Result<Vec<Result<Reply, Error>>, Error> {
        if commands.is_empty() {
            return Ok(vec![]);
        }
        let lines = commands.iter().map(line).collect::<Result<Vec<_>, _>>()?;
        let deadline = Instant::now() + patience;
        let (caller, answers) = channel();
        let shapes = commands.iter().map(Shape::of).collect();
        self.send(&lines, shapes, Some(caller), deadline)?;
        let left = deadline.saturating_duration_since(Instant::now());
        let answers = answers.recv_timeout(left).map_err(|error| match error {
            RecvTimeoutError::Disconnected => Error::Disconnected,
            RecvTimeoutError::Timeout => {
                let shown: Vec<_> = commands.iter().map(Command::to_string).collect();
                Error::Timeout { command: shown.join(" ; "), after: patience }
            }
        })?;
        Ok(commands
            .iter()
            .zip(answers)
            .map(|(command, answer)| self.judge(command, answer))
            .collect())
    }

    fn judge(&self, command: &Command, answer: Answer) -> Result<Reply, Error> {
        if answer.ok {
            return Ok(answer.body);
        }
        let message = answer.body.text().trim().to_owned();
        Err(self.server.explain(command.to_string(), message, None))
    }

    fn send(
        &self,
        lines: &[Vec<u8>],
        shapes: Vec<Shape>,
        caller: Option<Sender<Vec<Answer>>>,
        deadline: Instant,
    ) -> Result<(), Error> {
        let mut outlet = lock(&self.outlet);
        let open = outlet.as_mut().ok_or(Error::Disconnected)?;
        lock(&self.pending).expect(shapes, caller);
        open.write(&lines.concat(), deadline).map_err(|_| {
            // Closing our end makes tmux close its own, which the supervisor notices.
            *outlet = None;
            Error::Disconnected
        })
    }

    pub(super) fn answer(&self, answer: Answer) {
        lock(&self.pending).answer(answer);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    pub(super) fn connect(&self, outlet: Outlet) {
        *lock(&self.outlet) = Some(outlet);
    }

    pub(super) fn disconnect(&self) {
        let mut outlet = lock(&self.outlet);
        *outlet = None;
        lock(&self.pending).abandon();
    }

    /// Returns to the anchor if the client was moved, or the anchor was killed under `detach-on-destroy off`.
    pub(super) fn stay_anchored(&self, session: &str) -> Result<(), Error> {
        if session == self.anchor.as_str() {
            return Ok(());
        }
        self.send(
            &[line(&go_to_anchor(&self.anchor))?],
            vec![Shape::One],
            None,
            Instant::now() + self.server.deadline,
        )
    }

    /// Removes the anchors of watchers that were killed. The anchor of a watcher that is just reconnecting
    /// may be among them; it will be created again.
    fn sweep(&self) {
        // First: of one whose anchor is removed, tmux lists no client.
        self.end_left_clients();
        let list = Command::new("list-sessions").option('F', "#{session_attached} #{session_name}");
        let Some(Ok(sessions)) =
            self.request(&[list], CLEANING).logged("ask tmux").and_then(|mut all| all.pop())
        else {
            return;
        };
        let stale: Vec<_> = sessions
            .text()
            .lines()
            .filter_map(|line| line.strip_prefix("0 "))
            .filter(|name| name.starts_with(ANCHOR_PREFIX))
            .filter_map(|name| SessionName::new(name).ok())
            .map(|name| Command::new("kill-session").target(&name))
            .collect();
        let _lock = (!stale.is_empty()).then(|| ConnectLock::wait(&self.server.connect_lock));
        self.request(&stale, CLEANING).logged("ask tmux");
    }

    /// Ends the clients of watchers that were killed before anybody guarded them: with output pending, tmux never closes them, so that
    /// their anchors stay attached. Those are removed by the next sweep.
    fn end_left_clients(&self) {
        let format = "#{client_control_mode} #{client_pid} #{session_name}";
        let list = Command::new("list-clients").option('F', format);
        let Some(Ok(clients)) =
            self.request(&[list], CLEANING).logged("ask tmux").and_then(|mut all| all.pop())
        else {
            return;
        };
        for pid in clients.text().lines().filter_map(left_client) {
            kill_process(pid, Signal::KILL).logged("end a process");
        }
    }
}

/// The process of a control client at the anchor of a process that is gone.
fn left_client(line: &str) -> Option<Pid> {
    let (client, name) = line.strip_prefix("1 ")?.split_once(' ')?;
    let (maker, _) = name.strip_prefix(ANCHOR_PREFIX)?.strip_prefix('-')?.split_once('-')?;
    let pid = |text: &str| Pid::from_raw(text.parse().ok()?);
    let maker = pid(maker)?;
    let is_gone = test_kill_process(maker) == Err(Errno::SRCH);
    is_gone.then(|| pid(client)).flatten()
}

/// Ignores poisoning: these values are changed in single steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
