//! The runner: the command of every pane, and the agent's parent.
//!
//! It does for the agent what a shell does for its foreground job, so that typing, Ctrl-C, Ctrl-Z and
//! resizing work as if the agent had been started by hand, and it is the one process that can know for
//! certain how the agent ended. What it does next is decided by [`dogwatch_core::runner`]; this
//! module performs it.
//!
//! A signal to the runner is an order: `HUP` (the terminal is gone), `TERM` (end the agent, politely
//! first), `QUIT` (at once).

mod events;
mod job;
#[expect(
    unsafe_code,
    reason = "signals are ignored and memory is given back through the C library only"
)]
mod kernel;
mod startup;
mod terminal;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_base::log::{self, Logged as _, Place};
use dogwatch_core::launch::OF_THE_PANE;
use dogwatch_core::liveness;
use dogwatch_core::record::{Cause, Ended, Exit, Hangup, ProcessIdent, Started};
use dogwatch_core::runner::{Effect, Event, Notice, Order, Runner};
use dogwatch_store::{MOST_OVER, SessionFolder, StateDir, Store, StoreError};
use dogwatch_tmux::{CaptureOptions, PaneId, Server, Socket};
use jiff::Timestamp;

use crate::actions::retire;
use crate::observe::capture::HISTORY;
use crate::observe::{messages, processes};
use crate::summon;
use events::{Happened, Waiter};
use job::Job;
use startup::FirstStart;
pub use startup::watch_start;

/// How long tmux may take to read what the agent wrote last.
const SETTLE_PATIENCE: Duration = Duration::from_secs(2);
/// How long tmux may take to hand over the last screen.
const SCREEN_PATIENCE: Duration = Duration::from_secs(3);

/// After so long, what was needed at the beginning is given back.
const SETTLED: Duration = Duration::from_secs(5);
/// Threads that wait need little.
const STACK: usize = 256 * 1024;

/// A `kill` that began longer ago has nothing to do with an end now.
const STOPPING: Duration = Duration::from_mins(1);

/// Runs the session with this id to its end; returns the status to exit with.
pub fn run(state: &StateDir, id: &str) -> Result<u8, StoreError> {
    let folder = state.session(id);
    let argv = folder.argv().inspect_err(|_| {
        if !folder.path().exists() {
            leave_unwanted_session(id);
        }
    })?;
    let server = server();
    let mut record = Record { state, folder: &folder, id, server, hangup: None };
    let environment = match folder.take_environment() {
        Ok(environment) => with_pane_variables(environment),
        // It was collected: `spawn` had ended, and tmux took over a minute to start us.
        Err(error) => {
            return Ok(record.not_launched(126, format!("cannot read its environment: {error}")));
        }
    };
    log_as_asked(state, &environment);

    let (sender, happened) = mpsc::channel();
    // Before the agent exists, so that no order can fall between.
    let listening = events::listen_for_orders(sender.clone());
    let waiter = match listening.and_then(|()| Waiter::start(sender.clone())) {
        Ok(waiter) => waiter,
        Err(error) => return Ok(record.no_thread(&error)),
    };
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .logged("become the parent of orphans");

    let job = match Job::start(&argv, &environment) {
        Ok(job) => job,
        Err(error) => return Ok(record.launch_failed(&argv, &error)),
    };
    waiter.watch_agent(job.pid);
    record.started(&job);
    let first = FirstStart::begin(state, &folder, id);
    supervise(state, &environment);

    let mut driver = Driver {
        first,
        environment,
        runner: Runner::default(),
        job,
        record,
        wake: None,
        sender,
        waiter,
        reader: None,
    };
    let exit = driver.drive(&happened);
    driver.record.retire_panes();
    if let Some(socket) = socket() {
        // For the end of this session, should no supervisor live to see it.
        summon::ensure_in(state, &socket, &driver.environment);
    }
    Ok(exit.status())
}

/// Starts the server's supervisor if there is none, and the next one when it dies, on a thread that sleeps in the kernel until then.
fn supervise(state: &StateDir, environment: &[(OsString, OsString)]) {
    let Some(socket) = socket() else { return };
    let (state, environment) = (state.clone(), environment.to_vec());
    let keep = move || {
        settle_down();
        summon::keep(&state, &socket, &environment);
    };
    let thread = thread::Builder::new().name("supervise".to_owned()).stack_size(STACK).spawn(keep);
    // Without it, other runners and commands start the supervisor.
    thread.logged("start a thread or a program");
}

/// Gives back, when the session has begun, what only its beginning needed.
fn settle_down() {
    let later = || {
        // sleep: a pace: the agent is started by then, and nothing waits for this
        thread::sleep(SETTLED);
        kernel::let_go_of_code();
    };
    let thread = thread::Builder::new().name("settle".to_owned()).stack_size(STACK).spawn(later);
    thread.logged("start a thread or a program");
}

/// The socket of the tmux server that this pane is on.
fn socket() -> Option<PathBuf> {
    let tmux = std::env::var("TMUX").ok()?;
    tmux.split(',').next().filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The tmux server that this pane is on.
fn server() -> Option<ProcessIdent> {
    let tmux = std::env::var("TMUX").ok()?;
    processes::identify(tmux.split(',').nth(1)?.parse().ok()?)
}

/// `spawn` has given up, and tmux made the session later all the same. Nobody knows of it, so it goes, and we with it.
fn leave_unwanted_session(id: &str) {
    // Set for the whole tmux session by the `spawn` that made it; a pane beside others closes by itself.
    if std::env::var("DOGWATCH_SESSION").is_ok_and(|of| of == id) {
        let Some((server, pane)) = own_pane() else { return };
        let kill = dogwatch_tmux::Command::new("kill-session").target(pane);
        server.run_one(kill).logged("end a session that was given up");
    }
}

/// The pane that we run in, and its server.
fn own_pane() -> Option<(Server, PaneId)> {
    let pane: PaneId = std::env::var("TMUX_PANE").ok()?.parse().ok()?;
    let mut server = Server::new(Socket::Path(socket()?));
    server.deadline = SCREEN_PATIENCE;
    Some((server, pane))
}

/// The session's own environment says whether to log; ours is tmux's.
fn log_as_asked(state: &StateDir, environment: &[(OsString, OsString)]) {
    let own = environment.iter().find(|(name, _)| name == log::VARIABLE);
    if let Some((_, wanted)) = own.filter(|(_, wanted)| !wanted.is_empty()) {
        log::start(wanted, Place::Folder(state.log()));
    }
}

/// The environment that was asked for, with what tmux says of the pane.
fn with_pane_variables(mut environment: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    for key in OF_THE_PANE {
        if let Some(value) = std::env::var_os(key) {
            environment.retain(|(k, _)| k != key);
            environment.push((key.into(), value));
        }
    }
    // tmux's own choice, for whoever has none.
    if let Some(shell) = std::env::var_os("SHELL")
        && !environment.iter().any(|(key, _)| key == "SHELL")
    {
        environment.push(("SHELL".into(), shell));
    }
    environment
}

/// Performs what the pure runner decides.
struct Driver<'a> {
    runner: Runner,
    job: Job,
    record: Record<'a>,
    wake: Option<Instant>,
    sender: mpsc::Sender<Happened>,
    waiter: Waiter,
    /// Reads a line while the runner has the terminal; dropping it stops it.
    reader: Option<events::LineReader>,
    /// The agent may not take what it was given, and be started once more.
    first: Option<FirstStart>,
    environment: Vec<(OsString, OsString)>,
}

impl Driver<'_> {
    fn drive(&mut self, happened: &mpsc::Receiver<Happened>) -> Exit {
        loop {
            let event = match self.next(happened) {
                Happened::Event(event) => event,
                // The agent asks for the terminal and is the only job there is.
                Happened::WantsTerminal => {
                    self.job.put_in_foreground();
                    continue;
                }
                Happened::ChildGone => Event::Left(self.record.family().len()),
            };
            if event == Event::Told(Order::HangUp) {
                self.record.hung_up();
            }
            match event {
                Event::Ended(exit) if self.start_again(exit) => continue,
                // A person, or another program, has a hand in it from now on.
                Event::Ended(_) | Event::Told(_) | Event::Stopped => self.first = None,
                _ => {}
            }
            if matches!(event, Event::Stopped | Event::Continued) {
                // The kernel tells nobody else.
                self.record.state.tell_news(self.record.id);
            }
            if let Some(exit) = self.perform_all(event) {
                return exit;
            }
        }
    }

    /// Starts the agent once more, without what is there for our sake, if that was why it ended.
    fn start_again(&mut self, exit: Exit) -> bool {
        let Some(first) = self.first.take() else { return false };
        // All that it wrote is on the screen before it is read.
        self.job.settle(SETTLE_PATIENCE);
        let Record { state, folder, id, .. } = self.record;
        let Some(reduced) = first.refused(state, folder, id, exit) else { return false };
        let mut out = io::stdout();
        let announced = startup::announcement(&reduced);
        let _ = out.write_all(announced.as_bytes()).and_then(|()| out.flush());
        let environment = first.without_extras(self.environment.clone());
        let Some(job) =
            Job::start(&first.fallback.argv, &environment).logged("start an agent again")
        else {
            return false;
        };
        self.job = job;
        self.waiter.watch_agent(self.job.pid);
        self.record.restarted(&self.job, &reduced.because);
        startup::start_watcher(state, id);
        true
    }

    fn next(&mut self, happened: &mpsc::Receiver<Happened>) -> Happened {
        let woken = Happened::Event(Event::Woken);
        let Some(wake) = self.wake else {
            // The order listener holds a sender as long as we live, so this does not fail.
            return happened.recv().unwrap_or(woken);
        };
        let left = wake.saturating_duration_since(Instant::now());
        match happened.recv_timeout(left) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                self.wake = None;
                woken
            }
        }
    }

    fn perform_all(&mut self, event: Event) -> Option<Exit> {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.runner.step(event) {
                match effect {
                    Effect::CountFamily => events.push(Event::Left(self.record.family().len())),
                    Effect::Leave(exit) => return Some(exit),
                    effect => self.perform(effect),
                }
            }
        }
        None
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::TakeTerminal => self.job.put_in_background(),
            Effect::GiveTerminal => {
                self.reader = None;
                self.job.put_in_foreground();
            }
            Effect::Say(notice) => {
                say(notice);
                self.reader = events::LineReader::start(self.sender.clone());
                if self.reader.is_none() {
                    // What is typed cannot be read, so a stopped agent would stay so: it goes on.
                    let go_on = Happened::Event(Event::Typed("fg".to_owned()));
                    let _ = self.sender.send(go_on);
                }
            }
            Effect::SignalAgent(signal) => self.job.signal(job::kernel_signal(signal)),
            Effect::SignalFamily(signal) => {
                processes::signal_all(&self.record.family(), job::kernel_signal(signal));
            }
            Effect::WakeAfter(after) => self.wake = Some(Instant::now() + after),
            Effect::Record { exit, cause } => {
                self.reader = None;
                // An agent may notice that its terminal is gone, and leave, before we do.
                let is_hangup = cause == Cause::Itself && terminal::is_gone();
                let cause = if is_hangup { Cause::Hangup } else { cause };
                if cause == Cause::Hangup {
                    self.record.hung_up();
                }
                self.record.ended(exit, cause);
                // Without a terminal there is nothing to be kept.
                if cause != Cause::Hangup {
                    self.job.settle(SETTLE_PATIENCE);
                    self.record.keep_screen();
                }
                self.waiter.watch_leftovers();
            }
            Effect::CountFamily | Effect::Leave(_) => {}
        }
    }
}

/// What a person reads in the pane while the agent is stopped.
fn say(notice: Notice) {
    let text = match notice {
        Notice::Stopped => "\n[dogwatch] stopped. fg: continue it; kill: end it.\n",
        Notice::UnknownWord => "[dogwatch] fg: continue it; kill: end it.\n",
    };
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes down what happened. The files are the truth; the database gets a copy and otherwise finds
/// out by itself, so its failures are not ours.
struct Record<'a> {
    state: &'a StateDir,
    folder: &'a SessionFolder,
    id: &'a str,
    /// The tmux server of our pane.
    server: Option<ProcessIdent>,
    hangup: Option<Hangup>,
}

impl Record<'_> {
    fn started(&mut self, job: &Job) {
        let started = self.write_started(job);
        Store::open(self.state)
            .and_then(|mut store| store.started(self.id, &started))
            .logged("note that a session began");
        self.state.tell_news(self.id);
    }

    fn restarted(&mut self, job: &Job, because: &str) {
        let started = self.write_started(job);
        Store::open(self.state)
            .and_then(|mut store| store.restarted(self.id, &started, because))
            .logged("note that an agent was started again");
        self.state.tell_news(self.id);
    }

    fn write_started(&self, job: &Job) -> Started {
        let me = i32::try_from(std::process::id()).unwrap_or(0);
        let ident = |pid| {
            // A child that has ended already has no start time left to ask for.
            processes::identify(pid).unwrap_or(ProcessIdent { pid, start: 0 })
        };
        let started = Started {
            at: Timestamp::now(),
            runner: ident(me),
            agent: ident(job.pid.as_raw_pid()),
            pane: std::env::var("TMUX_PANE").ok(),
        };
        self.folder.write_started(&started).logged("write that a session began");
        started
    }

    /// Notes the loss of the terminal at its first sign: a server that closed it and ends a moment later is one that was alive.
    fn hung_up(&mut self) {
        let server_gone = || self.server.is_some_and(processes::is_leaving);
        self.hangup
            .get_or_insert_with(|| Hangup { at: Timestamp::now(), server_gone: server_gone() });
    }

    fn ended(&mut self, exit: Exit, cause: Cause) {
        let by = self.folder.stopping(STOPPING);
        // Asked to leave by its own keys, it ends by itself.
        let cause = if by.is_some() && cause == Cause::Itself { Cause::Request } else { cause };
        let hangup = self.hangup.filter(|_| cause == Cause::Hangup);
        let ended = Ended { at: Timestamp::now(), exit, cause, error: None, by, hangup };
        self.write(&ended);
    }

    fn launch_failed(&mut self, argv: &[OsString], error: &io::Error) -> u8 {
        let program = argv.first().map(|a| a.to_string_lossy().into_owned()).unwrap_or_default();
        let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
        self.not_launched(code, format!("{program}: {error}"))
    }

    fn no_thread(&mut self, error: &io::Error) -> u8 {
        self.not_launched(126, format!("cannot start a thread to watch the agent: {error}"))
    }

    fn not_launched(&mut self, code: i32, reason: String) -> u8 {
        let ended = Ended {
            at: Timestamp::now(),
            exit: Exit::Code(code),
            cause: Cause::Launch,
            error: Some(reason),
            by: None,
            hangup: None,
        };
        self.write(&ended);
        ended.exit.status()
    }

    fn write(&self, ended: &Ended) {
        self.folder.write_ended(ended).logged("write how a session ended");
        let because = messages::not_delivered(&liveness::how_it_ended(ended));
        // What could not be written down now is settled by whoever lists messages.
        Store::open(self.state)
            .and_then(|mut store| {
                store.ended(self.id, ended)?;
                store.settle_unsent(self.id, &because, ended.at)
            })
            .logged("note how a session ended");
        self.state.tell_news(self.id);
    }

    /// Keeps what is on the screen: our pane still lives as long as we do.
    fn keep_screen(&self) {
        let keep = || {
            let (server, pane) = own_pane()?;
            let options = CaptureOptions { lines: Some(HISTORY), ansi: true, joined: false };
            let screen = server.capture(pane, options).logged("capture a screen")?;
            self.folder.keep_screen(screen.bytes()).logged("keep a screen")
        };
        let _: Option<()> = keep();
    }

    /// Closes dead panes of others, if there are many. Nothing of this session depends on it.
    fn retire_panes(&self) {
        let retire = || {
            if !retire::is_turn_of(self.id) {
                return None;
            }
            let tmux = std::env::var("TMUX").ok()?;
            let store = Store::open(self.state).logged("open the database")?;
            let socket = store.by_id(self.id).logged("read a session")??.socket;
            if store.count_over(&socket).logged("count sessions")? <= MOST_OVER {
                return None;
            }
            let mut server = Server::new(Socket::Path(tmux.split(',').next()?.into()));
            server.deadline = SCREEN_PATIENCE;
            retire::dead_panes(&server, self.state, &store, &socket, MOST_OVER)
                .logged("remove dead panes")
        };
        let _: Option<()> = retire();
    }

    fn family(&self) -> Vec<i32> {
        if !may_have_descendants() {
            return Vec::new();
        }
        let me = i32::try_from(std::process::id()).unwrap_or(0);
        processes::family_of(self.id, Some(me))
    }
}

/// As a subreaper we inherit whatever the agent leaves, so without a child there is no descendant either. That
/// spares most runners a look at all processes of the machine, which adds up when many end at once.
#[cfg(target_os = "linux")]
fn may_have_descendants() -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(rustix::io::Errno::CHILD))
}

#[cfg(not(target_os = "linux"))]
fn may_have_descendants() -> bool {
    true
}
