//! Collects environments that no runner will take any more: they may hold API keys.

use std::time::UNIX_EPOCH;

use dogwatch_core::handover::{Facts, Server, is_abandoned};
use dogwatch_store::{Pending, Session, Store};
use dogwatch_tmux::Glance;

use crate::Context;

/// Removes what is abandoned, by what tmux answered just now, if it was asked. As a rule there is nothing to look at.
pub(crate) fn handovers(
    context: &Context,
    store: &Store,
    answer: Option<Result<&Glance, &dogwatch_tmux::Error>>,
) {
    for pending in context.state.handovers() {
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
        let _ = std::fs::remove_file(context.state.session(&id).path().join("environment"));
    }
}

fn server(
    context: &Context,
    session: &Session,
    pending: &Pending,
    answer: Option<Result<&Glance, &dogwatch_tmux::Error>>,
) -> Server {
    let glance = match answer {
        _ if session.socket != context.socket => return Server::MayCome,
        Some(Ok(glance)) => glance,
        Some(Err(error)) if error.is_no_server() => return Server::Gone,
        Some(Err(_)) | None => return Server::MayCome,
    };
    let made = pending.made.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    if glance.server_start > made {
        return Server::Gone;
    }
    let pane = session.pane.as_deref().and_then(|pane| pane.parse().ok());
    let is_there = |id| glance.panes.iter().any(|pane| pane.pane_id == id && !pane.dead);
    if pane.is_some_and(|id| !is_there(id)) { Server::PaneGone } else { Server::MayCome }
}
