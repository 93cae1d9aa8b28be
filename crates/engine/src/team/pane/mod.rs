//! Panes of a team: agents beside their master in one window.

mod close;
mod identity;
mod rebalance;
mod spawn;
mod verify;

use dogwatch_store::{Store, Which};
use dogwatch_tmux::{PaneId, WindowView};

pub use close::{Closed, HowClosed, Request as CloseRequest, close};
pub use rebalance::{Balanced, rebalance};
pub use spawn::{Handed, Request as SpawnRequest, SpawnedPane, TaskFor, spawn};
pub use verify::{Expected, Valid, verify};

use crate::error::{SessionError, TeamError};
use crate::observe::snapshot;
use crate::{Context, Error};

/// The pane of a session name, session id or pane id.
pub fn pane_of(context: &Context, target: &str) -> Result<PaneId, Error> {
    if let Ok(pane) = target.parse() {
        return Ok(pane);
    }
    let seen = snapshot::find(context, target)?;
    seen.must_be_known()?;
    seen.pane_id().ok_or(Error::Session(SessionError::IsOver {
        name: seen.session.name,
        reason: seen.life.reason,
    }))
}

/// The master of the window that this pane is in: as its team says, else this pane.
pub fn master_of(context: &Context, pane: PaneId) -> Result<PaneId, Error> {
    let view = window_of(context, pane)?;
    let store = context.store()?;
    Ok(master_in(context, &store, &view)?.unwrap_or(pane))
}

fn master_in(context: &Context, store: &Store, view: &WindowView) -> Result<Option<PaneId>, Error> {
    let sessions = store.sessions(&context.socket, Which::InTeams)?;
    let is_here = |pane: PaneId| view.pane(pane).is_some();
    let here = sessions.iter().filter(|session| {
        let pane = session.pane.as_deref().and_then(|pane| pane.parse().ok());
        let is_same = session.server.is_some_and(|server| server == server_of(view));
        is_same && pane.is_some_and(is_here)
    });
    let masters = here.filter_map(|session| session.membership.as_ref()?.master.parse().ok());
    Ok(masters.into_iter().find(|master| is_here(*master)))
}

pub(crate) fn window_of(context: &Context, pane: PaneId) -> Result<WindowView, Error> {
    let gone = || Error::Team(TeamError::NoSuchPane { target: pane.to_string() });
    match context.tmux.window_of(pane) {
        Ok(view) => Ok(view),
        Err(dogwatch_tmux::Error::NotFound { .. }) => Err(gone()),
        Err(error) if error.is_no_server() => Err(gone()),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn server_of(view: &WindowView) -> dogwatch_store::Server {
    dogwatch_store::Server {
        pid: i64::from(view.server_pid),
        start: view.server_start.cast_signed(),
    }
}
