use std::time::{Duration, Instant};

use dogwatch_core::ending::{self, How};
use dogwatch_core::profile::Press;
use dogwatch_core::record::{Cause, Ended, Exit, ProcessIdent};
use dogwatch_core::registry::InPane;
use dogwatch_tmux::{CaptureOptions, Command, PaneId};
use jiff::Timestamp;
use rustix::process::Signal;

use crate::act::close_panes;
use crate::act::spawn::HISTORY;
use crate::sense::{agents, foreign, processes};
use crate::snapshot::Seen;
use crate::{Context, Error};

/// How long leftovers get after each signal.
const SWEEP_GRACE: Duration = Duration::from_millis(800);

/// How a session was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Killed {
    /// The step that did it.
    pub by: By,
    /// How the agent ended; `None` if it was lost before and nobody knows.
    pub ended: Option<Ended>,
    /// Why the store could not be told; the session has ended all the same.
    pub not_noted: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// It had ended before.
    Nobody,
    /// Keys that the agent takes for "leave".
    ItsOwnExit,
    Term,
    Kill,
}

impl By {
    pub fn word(self) -> &'static str {
        match self {
            Self::Nobody => "already_ended",
            Self::ItsOwnExit => "own_exit",
            Self::Term => "term",
            Self::Kill => "kill",
        }
    }
}

/// Ends a session and everything it started: politely unless `at_once`, each step only if the one
/// before was not enough. Its pane is closed, its output stays readable.
pub fn kill(
    context: &Context,
    seen: &Seen,
    at_once: bool,
    now: Timestamp,
) -> Result<Killed, Error> {
    let session = &seen.session;
    let folder = context.state.session(&session.id);
    let mut store = context.store()?;
    // An end must not depend on whether it can be noted: the disk may be full.
    let _ = store.note(&session.id, "kill_requested", now);
    let who = context.caller.words(&store);
    if session.ended.is_none() {
        let _ = folder.write_stopping(&who);
    }

    let agent = session.started.as_ref().map(|started| started.agent);
    let was_alive = agent.is_some_and(processes::is_alive);
    let by = end(context, seen, at_once);
    // The agent itself had; only its runner was still busy with what it left.
    let by = if session.ended.is_some() { By::Nobody } else { by };
    let left = sweep(&session.id);
    let mut ended = session.ended.clone().or_else(|| folder.ended());
    // The runner was told to be polite, and had to be firm in the end.
    let killed = ended.as_ref().is_some_and(|e| e.exit == Exit::Signal(Signal::KILL.as_raw()));
    let by = if by == By::Term && killed { By::Kill } else { by };
    let is_gone = agent.is_some_and(|agent| !processes::is_alive(agent));
    if ended.is_none() && by == By::Kill && was_alive && is_gone {
        // The runner could not write it down, so we do: we sent the signal and saw the agent go.
        let record = Ended {
            at: Timestamp::now(),
            exit: Exit::Signal(Signal::KILL.as_raw()),
            cause: Cause::Request,
            error: None,
            by: Some(who),
        };
        let _ = folder.write_ended(&record);
        ended = Some(record);
    }
    if let Some(pane) = seen.pane_id() {
        close_pane(context, seen, pane)?;
    }
    if !left.is_empty() {
        let reason = format!("processes {left:?} do not go away, even after KILL");
        return Err(Error::NotEnded { name: session.name.clone(), reason });
    }
    let noted = ended.as_ref().map_or(Ok(()), |ended| store.ended(&session.id, ended));
    let noted = noted.and_then(|()| store.put_away(&session.id, now));
    Ok(Killed { by, ended, not_noted: noted.err().map(|error| error.to_string()) })
}

/// Takes the steps of the plan until the runner is gone.
fn end(context: &Context, seen: &Seen, at_once: bool) -> By {
    let Some(runner) = seen.living_runner() else {
        // Without a runner there is nobody to tell: what it left behind is swept up.
        let family = processes::family_of(&seen.session.id, None);
        return if family.is_empty() { By::Nobody } else { By::Kill };
    };
    let tell = |signal| processes::signal(runner.pid, signal);
    let has_ended = seen.session.ended.is_some();
    let own_exit = if has_ended { vec![] } else { own_exit(context, &seen.session.agent) };
    for step in ending::plan(&own_exit, at_once) {
        let by = match &step.how {
            How::Keys(keys) => {
                let Some(pane) = seen.pane_id() else { continue };
                if !press(context, pane, keys) {
                    continue;
                }
                By::ItsOwnExit
            }
            How::TellRunner => {
                tell(Signal::TERM);
                By::Term
            }
            How::TellRunnerNow => {
                tell(Signal::QUIT);
                By::Kill
            }
            How::KillFamily => {
                let family = processes::family_of(&seen.session.id, Some(runner.pid));
                processes::signal_all(&family, Signal::KILL);
                tell(Signal::KILL);
                By::Kill
            }
        };
        if processes::wait_gone(runner, step.wait) {
            return by;
        }
    }
    By::Kill
}

/// Ends an agent that others started, in its pane, and closes the pane.
pub fn end_foreign(context: &Context, pane: PaneId, agent: &InPane) -> Result<By, Error> {
    let mut by = By::Kill;
    if let InPane::Runs(agent) = agent {
        let rows = context.tmux.panes()?;
        let rows = rows.iter().filter(|row| row.pane_id == pane);
        let process = foreign::agents_in(context, rows).pop().and_then(|found| found.started);
        if let Some(process) = process.map(|started| started.agent) {
            by = end_process(context, pane, process, &own_exit(context, agent));
        }
    }
    close_panes::close_one(context, pane)?;
    Ok(by)
}

/// The same steps as for one of ours, but nobody stands in between: signals go to the agent itself.
fn end_process(context: &Context, pane: PaneId, process: ProcessIdent, own_exit: &[Press]) -> By {
    for step in ending::plan(own_exit, false) {
        let by = match &step.how {
            How::Keys(keys) => {
                if !press(context, pane, keys) {
                    continue;
                }
                By::ItsOwnExit
            }
            How::TellRunner => {
                processes::signal(process.pid, Signal::TERM);
                By::Term
            }
            How::TellRunnerNow | How::KillFamily => {
                processes::signal(process.pid, Signal::KILL);
                By::Kill
            }
        };
        if processes::wait_gone(process, step.wait) {
            return by;
        }
    }
    By::Kill
}

/// The agent's own way out. A profile that was removed since must not stand in the way of an end.
fn own_exit(context: &Context, agent: &str) -> Vec<Press> {
    agents::profile(context, agent).map(|profile| profile.ending).unwrap_or_default()
}

/// Presses keys in a pane; copy mode would swallow them, so it is left before.
fn press(context: &Context, pane: PaneId, keys: &[String]) -> bool {
    let leave_mode = Command::new("copy-mode").flag('q').target(pane);
    let press = Command::new("send-keys").target(pane).args(keys);
    context.tmux.run(&[leave_mode, press]).is_ok()
}

/// Ends what carries the session's tag and is still there, by TERM and then KILL; returns what did not go.
pub(crate) fn sweep(session: &str) -> Vec<i32> {
    for signal in [Signal::TERM, Signal::KILL, Signal::KILL] {
        let family = processes::family_of(session, None);
        // With their start times, so that a pid that is given out again meanwhile is left alone.
        let family: Vec<_> = family.into_iter().filter_map(processes::identify).collect();
        if family.is_empty() {
            break;
        }
        for process in family.iter().filter(|process| processes::is_alive(**process)) {
            processes::signal(process.pid, signal);
        }
        let deadline = Instant::now() + SWEEP_GRACE;
        for process in family {
            processes::wait_gone(process, deadline.saturating_duration_since(Instant::now()));
        }
    }
    processes::family_of(session, None)
}

/// Closes the pane, and with its last pane the tmux session; a person's other panes stay.
fn close_pane(context: &Context, seen: &Seen, pane: PaneId) -> Result<(), Error> {
    let folder = context.state.session(&seen.session.id);
    if folder.screen().is_none() {
        let options = CaptureOptions { lines: Some(HISTORY), ansi: true, joined: false };
        if let Ok(screen) = context.tmux.capture(pane, options) {
            // Nice to have: an end must not fail because its last screen could not be kept.
            let _ = folder.keep_screen(screen.bytes());
        }
    }
    close_panes::close_one(context, pane)
}
