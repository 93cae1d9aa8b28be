//! An agent that cannot take what it was given for our sake is started once more, without.
//!
//! An end is noticed by the runner. A dialog is noticed by a process that the runner starts, because the runner's own children are
//! all collected by the thread that waits for the agent: it looks at the screen for the first seconds, notes what it saw, and ends the
//! agent. Versions that were verified open no such dialog, so for them there is none.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_base::program;
use dogwatch_core::record::Exit;
use dogwatch_core::startup::{Fallback, Reduced};
use dogwatch_store::{SessionFolder, StateDir, Store};
use dogwatch_tmux::CaptureOptions;
use jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::observe::capture::HISTORY;
use crate::observe::{binaries, processes};

/// How long a dialog is looked for.
const WATCHED: Duration = Duration::from_secs(20);
/// How often.
const LOOK_EVERY: Duration = Duration::from_millis(700);
/// How long an agent with such a dialog gets to end by itself.
const TERM_GRACE: Duration = Duration::from_millis(1500);
/// An agent that was started again and still runs after that time takes what it was given now.
const SURVIVED: Duration = Duration::from_secs(5);
/// What a full-screen program may have left of its modes: mouse, pasting, keyboard, the other screen, a hidden cursor.
const RESET: &str = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1004l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[0m";

/// The first start of the agent, as long as it may have to be repeated.
#[derive(Debug)]
pub(super) struct FirstStart {
    pub(super) fallback: Fallback,
    begun: Instant,
}

impl FirstStart {
    /// `None` if there is nothing that could be left out.
    pub(super) fn begin(state: &StateDir, folder: &SessionFolder, id: &str) -> Option<Self> {
        let fallback = folder.fallback()?;
        if !fallback.extras.verified && !fallback.extras.files.is_empty() {
            start_watcher(state, id);
        }
        Some(Self { fallback, begun: Instant::now() })
    }

    /// Why the agent has to be started again, now that it ended.
    pub(super) fn refused(
        &self,
        state: &StateDir,
        folder: &SessionFolder,
        id: &str,
        exit: Exit,
    ) -> Option<Reduced> {
        if folder.stopping(super::STOPPING).is_some() || has_told(state, id) {
            return None;
        }
        if let Some(seen) = folder.reduced() {
            return Some(seen);
        }
        let screen = screen().unwrap_or_default();
        let because = self.fallback.extras.blamed_for_exit(exit, self.begun.elapsed(), &screen)?;
        let reduced = Reduced { because };
        folder.write_reduced(&reduced).logged("note what an agent is started without");
        Some(reduced)
    }

    /// The environment without what is there for our sake.
    pub(super) fn without_extras(
        &self,
        mut environment: Vec<(OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let unset = &self.fallback.extras.unset;
        environment.retain(|(name, _)| !unset.iter().any(|gone| name == gone.as_str()));
        environment
    }
}

/// What a person reads in the pane.
pub(super) fn announcement(reduced: &Reduced) -> String {
    format!("{RESET}\r\n[dogwatch] starting the agent again without hooks: {}\r\n", reduced.because)
}

/// A hook that told something proves that the agent took it, and may have taken its prompt.
fn has_told(state: &StateDir, id: &str) -> bool {
    let signals = Store::open(state).and_then(|mut store| store.signals(id));
    signals.logged("read signals").is_some_and(|signals| !signals.is_empty())
}

/// What is on the screen of the pane that we run in.
fn screen() -> Option<String> {
    let (server, pane) = super::own_pane()?;
    let options = CaptureOptions { lines: Some(HISTORY), ansi: false, joined: true };
    let screen = server.capture(pane, options).logged("capture a screen")?;
    Some(String::from_utf8_lossy(screen.bytes()).into_owned())
}

/// Starts [`watch_start`] in a process of its own, in a process group of its own and without the terminal.
pub(super) fn start_watcher(state: &StateDir, id: &str) {
    let Some(dogwatch) = program::own().logged("find our own program") else { return };
    let mut command = Command::new(dogwatch);
    command.arg("--state-dir").arg(state.root()).args(["run", "--startup", id]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The thread that waits for the agent collects it.
    command.process_group(0).spawn().logged("start a thread or a program");
}

/// Watches the start of a session's agent: until it is clear that it takes what it was given, or does not.
pub fn watch_start(state: &StateDir, id: &str) {
    let folder = state.session(id);
    let Some(fallback) = folder.fallback() else { return };
    if let Some(reduced) = folder.reduced() {
        remember(state, &folder, &fallback, &reduced);
        return;
    }
    let until = Instant::now() + WATCHED;
    while Instant::now() < until && folder.ended().is_none() && !has_told(state, id) {
        let because = screen().and_then(|screen| fallback.extras.blamed_in_dialog(&screen));
        if let Some(because) = because {
            // Before the agent ends: the runner looks for it then.
            if folder.write_reduced(&Reduced { because }).logged("note a dialog").is_some() {
                end_agent(&folder);
            }
            return;
        }
        // sleep: a dialog is on the screen when it is, and nothing else tells of it
        thread::sleep(LOOK_EVERY);
    }
}

/// Ends the agent as it is: what it does at its end must not be cut short, but it must not take long either.
fn end_agent(folder: &SessionFolder) {
    let Some(agent) = folder.started().map(|started| started.agent) else { return };
    let Some(group) = Pid::from_raw(agent.pid) else { return };
    let is_there = || processes::identify(agent.pid).is_some_and(|now| now == agent);
    if is_there() {
        kill_process_group(group, Signal::TERM).logged("signal a process group");
    }
    let until = Instant::now() + TERM_GRACE;
    while is_there() && Instant::now() < until {
        // sleep: the runner collects the agent, so only its process tells us that it is gone
        thread::sleep(Duration::from_millis(50));
    }
    if is_there() {
        kill_process_group(group, Signal::KILL).logged("signal a process group");
    }
}

/// Remembers that the program cannot take what it was given, once it is clear that without that it runs.
fn remember(state: &StateDir, folder: &SessionFolder, fallback: &Fallback, reduced: &Reduced) {
    // sleep: that it runs on is the proof
    thread::sleep(SURVIVED);
    let extras = &fallback.extras;
    if let Some(program) = extras.program.as_ref().filter(|_| folder.ended().is_none()) {
        let version = extras.version.clone();
        binaries::refused(state, program, version, &reduced.because, Timestamp::now());
    }
}
