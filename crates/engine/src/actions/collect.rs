//! Collects environments that no runner will take any more: they may hold API keys.

use std::time::UNIX_EPOCH;

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::handover::{Facts, Server, is_abandoned};
use dogwatch_store::{Pending, Session};
use dogwatch_tmux::PaneList;

use crate::Context;

/// Removes what is abandoned. As a rule there is nothing to look at, and then tmux is not asked.
///
/// Front ends call this before a command, so that a key never stays on disk longer than until the next one.
pub fn handovers(context: &Context) {
    let pending = context.state.handovers();
    if pending.is_empty() {
        return;
    }
    // A database that cannot be opened is reported by the command itself.
    let Some(store) = context.store().logged("open the database") else { return };
    let replies = context.tmux.run(&PaneList::commands());
    let answer = replies.and_then(|replies| Ok(PaneList::parse(&replies)?));
    let answer = answer.as_ref();
    for pending in pending {
        let (registered, server) = match pending.id.as_deref().map(|id| store.by_id(id)) {
            Some(Ok(Some(session))) => (true, server(context, &session, &pending, answer)),
            Some(Ok(None)) => (false, Server::MayCome),
            // Its maker may be about to lock it.
            None => (true, Server::MayCome),
            // It stays for the next command.
            Some(Err(_)) => continue,
        };
        let facts = Facts { held: pending.is_held, registered, server, age: pending.age() };
        if is_abandoned(&facts) {
            // What cannot be removed is tried again by the next command.
            pending.remove();
        }
    }
}

/// Removes environments that version 0.1 left in folders of sessions, where nothing looks for them any more.
pub(crate) fn old_environments(context: &Context) {
    for id in context.state.session_ids() {
        // Most have none; what cannot be removed is tried again by the next `gc`.
        std::fs::remove_file(context.state.session(&id).path().join("environment"))
            .logged_unless_missing("remove a file");
    }
}

fn server(
    context: &Context,
    session: &Session,
    pending: &Pending,
    answer: Result<&PaneList, &dogwatch_tmux::Error>,
) -> Server {
    let list = match answer {
        _ if session.socket != context.socket => return Server::MayCome,
        Ok(list) => list,
        Err(error) if error.is_no_server() => return Server::Gone,
        Err(_) => return Server::MayCome,
    };
    let made = pending.made.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    if list.server_start > made {
        return Server::Gone;
    }
    let pane = session.pane.as_deref().and_then(|pane| pane.parse().ok());
    let is_there = |id| list.panes.iter().any(|pane| pane.pane_id == id && !pane.dead);
    if pane.is_some_and(|id| !is_there(id)) { Server::PaneGone } else { Server::MayCome }
}
