use dogwatch_base::log::Logged as _;
use dogwatch_core::record::{Cause, Ended, Exit, ProcessIdent};
use dogwatch_core::registry::InPane;
use dogwatch_core::shutdown::{How, plan};
use dogwatch_tmux::{CaptureOptions, PaneId};
use jiff::Timestamp;
use rustix::process::Signal;

use crate::actions::{close_panes, shutdown};
use crate::error::SessionError;
use crate::observe::capture::HISTORY;
use crate::observe::processes::is_alive;
use crate::observe::snapshot::SessionSnapshot;
use crate::observe::{processes, unmanaged};
use crate::{Context, Error};

/// How a session was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Killed {
    /// The step that did it.
    pub by: By,
    /// How the agent ended; `None` if it was lost before: unknown.
    pub ended: Option<Ended>,
    /// Why it could not be recorded; the session has ended all the same.
    pub not_noted: Option<String>,
}

pub use dogwatch_protocol::session::KilledBy as By;

/// Ends a session and everything it started: politely unless `at_once`, each step only if the one
/// before was not enough. Its pane is closed, its output stays readable.
pub fn kill(
    context: &Context,
    seen: &SessionSnapshot,
    at_once: bool,
    now: Timestamp,
) -> Result<Killed, Error> {
    let mut ended = kill_all(context, std::slice::from_ref(seen), at_once, now)?;
    ended.pop().unwrap_or_else(|| {
        let (name, reason) = (seen.session.name.clone(), "no signal was sent".to_owned());
        Err(SessionError::NotEnded { name, reason }.into())
    })
}

/// The same for many, side by side: each may take seconds to leave politely. How each ended, in their order.
pub fn kill_all(
    context: &Context,
    seen: &[SessionSnapshot],
    at_once: bool,
    now: Timestamp,
) -> Result<Vec<Result<Killed, Error>>, Error> {
    let mut store = context.store()?;
    let who = context.caller.words(&store);
    for one in seen {
        // An end must not depend on whether it can be noted: the disk may be full.
        store.note(&one.session.id, "kill_requested", now).logged("note an event");
    }
    let was_alive: Vec<bool> = seen.iter().map(|one| agent(one).is_some_and(is_alive)).collect();
    let by = shutdown::end_all(context, seen, at_once, |one| {
        if one.session.ended().is_none() {
            context
                .state
                .session(&one.session.id)
                .write_stopping(&who)
                .logged("note that a session is to end");
        }
    });
    let ids: Vec<&str> = seen.iter().map(|one| one.session.id.as_str()).collect();
    let left = shutdown::sweep_all(&ids);
    let mut ends = Vec::new();
    for ((one, by), was_alive) in seen.iter().zip(by).zip(was_alive) {
        ends.push(settle(context, one, by, was_alive, &who));
        keep_screen(context, one);
    }
    let panes: Vec<PaneId> = seen.iter().filter_map(SessionSnapshot::pane_id).collect();
    let mut closed = close_panes::close_each(&context.tmux, &panes).into_iter();
    let mut killed = Vec::new();
    for ((one, (by, ended)), left) in seen.iter().zip(ends).zip(left) {
        let closed = one.pane_id().and_then(|_| closed.next()).unwrap_or(Ok(()));
        killed.push(closed.and_then(|()| {
            let session = &one.session;
            if !left.is_empty() {
                let reason = format!("processes {left:?} are still running after KILL");
                return Err(SessionError::NotEnded { name: session.name.clone(), reason }.into());
            }
            let noted = ended.as_ref().map_or(Ok(()), |ended| store.ended(&session.id, ended));
            let noted = noted.and_then(|()| store.archive(&session.id, now));
            Ok(Killed { by, ended, not_noted: noted.err().map(|error| error.to_string()) })
        }));
    }
    Ok(killed)
}

/// Archives a session that is over: its pane is closed, and what it shows is kept.
pub(crate) fn put_away(
    context: &Context,
    seen: &SessionSnapshot,
    now: Timestamp,
) -> Result<(), Error> {
    keep_screen(context, seen);
    if let Some(pane) = seen.pane_id() {
        close_panes::close_one(&context.tmux, pane)?;
    }
    Ok(context.store()?.archive(&seen.session.id, now)?)
}

fn agent(seen: &SessionSnapshot) -> Option<ProcessIdent> {
    seen.session.started().map(|started| started.agent)
}

/// How the agent ended, and which step did it. Where the runner could not write that down, we do.
fn settle(
    context: &Context,
    seen: &SessionSnapshot,
    by: By,
    was_alive: bool,
    who: &str,
) -> (By, Option<Ended>) {
    let session = &seen.session;
    let folder = context.state.session(&session.id);
    // The agent itself had; only its runner was still busy with what it left.
    let by = if session.ended().is_some() { By::AlreadyEnded } else { by };
    let ended = session.ended().cloned().or_else(|| folder.ended());
    // The runner sent SIGTERM first, and had to send SIGKILL in the end.
    let killed = ended.as_ref().is_some_and(|e| e.exit == Exit::Signal(Signal::KILL.as_raw()));
    let by = if by == By::Term && killed { By::Kill } else { by };
    let is_gone = agent(seen).is_some_and(|agent| !is_alive(agent));
    if ended.is_some() || by != By::Kill || !was_alive || !is_gone {
        return (by, ended);
    }
    // We sent the signal and saw the agent go.
    let record = Ended {
        at: Timestamp::now(),
        exit: Exit::Signal(Signal::KILL.as_raw()),
        cause: Cause::Request,
        error: None,
        by: Some(who.to_owned()),
        hangup: None,
    };
    folder.write_ended(&record).logged("write how a session ended");
    (by, Some(record))
}

/// Ends an agent that others started, in its pane, and closes the pane.
pub fn end_foreign(context: &Context, pane: PaneId, agent: &InPane) -> Result<By, Error> {
    let mut by = By::Kill;
    if let InPane::Runs(agent) = agent {
        let rows = context.tmux.panes()?;
        let rows = rows.iter().filter(|row| row.pane_id == pane);
        let process = unmanaged::agents_in(context, rows).pop();
        let process = process.and_then(|found| Some(found.started()?.agent));
        if let Some(process) = process {
            by = end_process(context, pane, process, agent);
        }
    }
    close_panes::close_one(&context.tmux, pane)?;
    Ok(by)
}

/// The same steps as for one of ours, but without a runner: signals go to the agent itself.
fn end_process(context: &Context, pane: PaneId, process: ProcessIdent, agent: &str) -> By {
    for step in plan(&shutdown::own_exit(context, agent), false) {
        let by = match &step.how {
            How::Keys(keys) => {
                if !shutdown::press(context, pane, agent, keys) {
                    continue;
                }
                By::OwnExit
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

/// Ends what carries the session's tag and is still there, by TERM and then KILL; returns what did not go.
pub(crate) fn sweep(session: &str) -> Vec<i32> {
    shutdown::sweep_all(&[session]).pop().unwrap_or_default()
}

/// Keeps what the pane shows, if its runner did not.
fn keep_screen(context: &Context, seen: &SessionSnapshot) {
    let folder = context.state.session(&seen.session.id);
    let Some(pane) = seen.pane_id().filter(|_| folder.screen().is_none()) else { return };
    let options = CaptureOptions { lines: Some(HISTORY), ansi: true, joined: false };
    if let Some(screen) = context.tmux.capture(pane, options).logged("capture a screen") {
        // Nice to have: an end must not fail because its last screen could not be kept.
        folder.keep_screen(screen.bytes()).logged("keep a screen");
    }
}
