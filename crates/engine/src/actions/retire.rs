//! Dead panes of sessions that have left the lists. tmux looks at every pane it has whenever anything happens, so a thousand of them
//! slow down every start of a session; what they showed is in the sessions' folders.

use std::collections::HashSet;
use std::path::Path;

use dogwatch_base::log::Logged as _;
use dogwatch_protocol::id::SessionId;
use dogwatch_store::{Session, StateDir, Store, Which};
use dogwatch_tmux::{CaptureOptions, ListedPane, PaneId, PaneList, Server};
use jiff::Timestamp;

use crate::Error;
use crate::actions::close_panes;
use crate::observe::capture::HISTORY;

/// One session in so many looks after dead panes when it ends.
const ONE_IN: u8 = 16;

/// Whether the session with this id is one of those that look. By chance: ids are random at their end.
pub(crate) fn is_turn_of(id: &str) -> bool {
    id.bytes().last().is_some_and(|digit| digit % ONE_IN == 0)
}

/// Closes dead panes of sessions that lists no longer show, if there are more than `most` dead panes. Panes that a
/// person is attached to stay, and so do those in a team's window.
pub(crate) fn dead_panes(
    server: &Server,
    state: &StateDir,
    store: &Store,
    socket: &Path,
    most: u32,
) -> Result<(), Error> {
    let list =
        PaneList::parse(&server.run(&PaneList::commands())?).map_err(dogwatch_tmux::Error::from)?;
    let dead: Vec<&ListedPane> =
        list.panes.iter().filter(|pane| pane.dead && pane.attached == 0).collect();
    if dead.len() <= usize::try_from(most).unwrap_or(usize::MAX) {
        return Ok(());
    }
    let current = store.sessions(socket, Which::current(Timestamp::now()))?;
    let current: HashSet<SessionId> = current.into_iter().map(|session| session.id).collect();
    let mut retired = Vec::new();
    for pane in dead {
        let in_it = store.in_pane(socket, &pane.pane_id.to_string())?;
        let of_it = in_it.into_iter().find(|session| is_of(session, &list, pane));
        if let Some(session) = of_it.filter(|s| s.membership.is_none() && !current.contains(&s.id))
            && has_screen(server, state, &session, pane.pane_id)
        {
            retired.push(pane.pane_id);
        }
    }
    close_panes::close_each(server, &retired).into_iter().collect()
}

/// Whether the pane is the one that the session, which is over, ran in: ids start again with each server.
fn is_of(session: &Session, list: &PaneList, pane: &ListedPane) -> bool {
    let (pid, start) = (i64::from(list.server_pid), list.server_start.cast_signed());
    let is_here = session.server.is_some_and(|server| server.pid == pid && server.start == start);
    let is_runner = session.started().is_some_and(|started| started.runner.pid == pane.pid);
    session.is_over() && is_here && is_runner
}

/// Whether what it showed is kept; if not, it is now.
fn has_screen(server: &Server, state: &StateDir, session: &Session, pane: PaneId) -> bool {
    let folder = state.session(&session.id);
    let keep = || {
        let options = CaptureOptions { lines: Some(HISTORY), ansi: true, joined: false };
        folder
            .keep_screen(server.capture(pane, options).logged("capture a screen")?.bytes())
            .logged("keep a screen")
    };
    folder.path().join("screen").exists() || keep().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_many_look() {
        let turns = (0..256).filter(|n| is_turn_of(&format!("01a1-{n:012x}"))).count();
        assert!((16..=64).contains(&turns), "{turns}");
    }
}
