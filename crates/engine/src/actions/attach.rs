use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process;

use dogwatch_core::attention;
use dogwatch_protocol::stream::{Ask, NeedsYou};
use dogwatch_store::Which;
use dogwatch_tmux::{Input, PaneId, Target};
use jiff::Timestamp;

use crate::error::SessionError;
use crate::observe::snapshot::SessionSnapshot;
use crate::observe::status::{self, SessionStatus, StatusReader};
use crate::socket::client;
use crate::{Context, Error};

/// How long the client shows a message, in milliseconds.
const MESSAGE_TIME: &str = "5000";

/// How a terminal is put in front of a session.
#[derive(Debug)]
pub struct Way {
    pub tmux: process::Command,
    /// The client that is there moves over, and the caller's own pane stays behind it.
    pub is_switch: bool,
}

/// Puts the caller's terminal in front of a session: this process becomes the tmux client and does not
/// return. `around` is the socket of the tmux that the caller sits in, if any. Within the session's own
/// server the client that is there moves over; any other is only a terminal.
pub fn attach(
    context: &Context,
    seen: &SessionSnapshot,
    around: Option<&Path>,
) -> Result<(), Error> {
    let mut way = way(context, seen, &From { around, client: None }, None)?;
    Err(Error::io("start tmux")(way.tmux.exec()))
}

/// Where the terminal is that is put in front of a session.
#[derive(Debug, Clone, Copy)]
pub struct From<'a> {
    /// The socket of the tmux that it sits in, if any.
    pub around: Option<&'a Path>,
    /// Its client of that tmux, where tmux cannot know it: in a popup.
    pub client: Option<&'a str>,
}

/// The tmux command that does it, with a message that the client shows for some seconds.
pub fn way(
    context: &Context,
    seen: &SessionSnapshot,
    from: &From<'_>,
    message: Option<(&str, &str)>,
) -> Result<Way, Error> {
    seen.must_be_known()?;
    let name = &seen.session.name;
    let Some(pane) = &seen.pane else {
        let (name, reason) = (name.clone(), seen.life.reason.clone());
        return Err(SessionError::IsOver { name, reason }.into());
    };
    // The pane, so that the agent's window is shown, whichever was last looked at.
    let agent = Target::from(pane.pane_id);
    let mut tmux = process::Command::new(&context.tmux.program);
    dogwatch_base::program::withhold_secrets(&mut tmux);
    tmux.arg("-u").arg("-S").arg(&context.socket);
    // Its process may be gone, or go just now.
    tmux.args(Input::forget_focus(pane.pane_id).words()).arg(";");
    let is_switch = from.around.is_some_and(|socket| is_same(socket, &context.socket));
    if is_switch {
        tmux.arg("switch-client");
        if let Some(client) = from.client {
            tmux.args(["-c", client]);
        }
        // Else tmux knows by `TMUX_PANE` which of its clients asks.
        tmux.args(["-t", agent.as_str()]);
    } else {
        // With `TMUX` set, it would refuse to be put into another tmux.
        tmux.env_remove("TMUX").env_remove("TMUX_PANE");
        tmux.args(["attach-session", "-t", agent.as_str()]);
    }
    if let Some((switched, attached)) = message {
        let message = if is_switch { switched } else { attached };
        tmux.args([";", "display-message", "-d", MESSAGE_TIME, message]);
    }
    Ok(Way { tmux, is_switch })
}

/// The session that needs a person most, seen from the pane that the caller sits in.
pub fn next(context: &Context, here: Option<PaneId>) -> Result<SessionSnapshot, Error> {
    let none = || Error::from(SessionError::NoneNeedsYou);
    let ask = Ask::Next { pane: here.map(|pane| pane.to_string()) };
    if let Some(NeedsYou { session }) = client::ask(context, ask) {
        return status::shown(context, &session.ok_or_else(none)?);
    }
    let now = Timestamp::now();
    let all = StatusReader::new(context)?.all_of(Which::current(now), now)?;
    let all: Vec<&SessionStatus> = all.iter().collect();
    needs_you(&all, here).map(|one| one.seen.clone()).ok_or_else(none)
}

/// The one of these that needs a person most.
pub(crate) fn needs_you<'a>(
    all: &[&'a SessionStatus],
    here: Option<PaneId>,
) -> Option<&'a SessionStatus> {
    let pane_of = |one: &SessionStatus| one.seen.pane.as_ref().map(|pane| pane.pane_id);
    let on_display = all.iter().position(|one| here.is_some() && pane_of(one) == here);
    let sessions: Vec<_> = all
        .iter()
        .map(|one| (&one.verdict.status, one.verdict.since, one.seen.pane.is_some()))
        .collect();
    attention::next(&sessions, on_display).map(|at| all[at])
}

fn is_same(one: &Path, other: &Path) -> bool {
    let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    resolve(one) == resolve(other)
}
