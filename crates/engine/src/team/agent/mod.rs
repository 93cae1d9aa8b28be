//! What a team member does from inside its pane: registers, claims tasks, and completes them.

mod complete;
mod register;

use std::collections::HashSet;

use dogwatch_base::log::Logged as _;
use dogwatch_core::id::is_id;
use dogwatch_core::roles;
use dogwatch_core::session_file::{Claimed, FileProblem, SessionFile, TaskId};
use dogwatch_store::{Claim, Server, Session, Store, Which};
use dogwatch_tmux::{PaneId, PaneRow};
use jiff::Timestamp;

pub use complete::{Completed, Completion, SpawnerNotice, complete};
pub use register::{Registered, claim, register};

use crate::error::{SessionError, TeamError};
use crate::observe::snapshot;
use crate::observe::tmux_snapshot::TmuxSnapshot;
use crate::observe::unmanaged;
use crate::team::session_file::TeamFile;
use crate::{Context, Error};

/// The caller, as far as its environment identifies it.
#[derive(Debug, Clone)]
pub struct Caller {
    pub pane: PaneId,
    pub role: Option<String>,
    pub spawner: Option<String>,
    pub conversation: Option<String>,
}

/// A member of a team, and the other panes.
#[derive(Debug)]
struct Member {
    row: PaneRow,
    role: String,
    session: Option<Session>,
    panes: Vec<PaneRow>,
    store: Store,
}

impl Member {
    fn find(context: &Context, caller: &Caller) -> Result<Self, Error> {
        let panes = context.tmux.panes()?;
        let gone = || Error::Team(TeamError::NoSuchPane { target: caller.pane.to_string() });
        let row = panes.iter().find(|row| row.pane_id == caller.pane).cloned().ok_or_else(gone)?;
        let store = context.store()?;
        let session = session_in(context, &store, caller.pane)?;
        let membership = session.as_ref().and_then(|session| session.membership.as_ref());
        let role = caller.role.as_deref().or(membership.map(|membership| membership.role.as_str()));
        let role = role.ok_or(TeamError::NoRole)?;
        let role = roles::role(role).map_err(TeamError::from)?;
        Ok(Self { row, role, session, panes, store })
    }

    fn pane(&self) -> String {
        self.row.pane_id.to_string()
    }

    fn server(&self) -> Server {
        server_of(&self.row)
    }

    /// The agent's own id of its conversation: from its hooks, else from its start. Without one, dogwatch's own id finds
    /// the conversation again.
    fn conversation(&mut self, given: Option<&str>) -> Option<String> {
        if let Some(given) = given {
            return Some(given.to_owned());
        }
        let session = self.session.as_ref()?;
        let signals =
            self.store.signals(&session.id).logged("read a session's signals").unwrap_or_default();
        let heard = signals.iter().rev().find_map(|signal| {
            let payload: serde_json::Value =
                serde_json::from_str(&signal.payload).logged("read JSON")?;
            payload["session_id"].as_str().filter(|id| is_id(id)).map(ToOwned::to_owned)
        });
        let is_ours = session.origin.is_managed();
        heard
            .or_else(|| session.conversation.clone())
            .or_else(|| is_ours.then(|| session.id.to_string()))
    }

    /// Claims a task, and records the claim in the database, where no editor can change it.
    fn claim(&mut self, file: &TeamFile, change: Change<'_>) -> Result<Claimed, Error> {
        let (pane, role, server) = (self.pane(), self.role.clone(), self.server());
        let claimed = file.edit(|text| {
            change(text).map_err(|problem| file.problem(problem))?;
            // Under the lock, so that every claim is known.
            let (mine, held) = self.claims(file)?;
            text.claim(&pane, &role, mine, &held).map_err(|problem| file.problem(problem))
        })?;
        if let Claimed::Got(task) | Claimed::Has(task) = &claimed {
            let claim = Claim { task: task.id.0, pane, server };
            self.store.claim(file.path(), &claim, Timestamp::now())?;
        }
        Ok(claimed)
    }

    /// The task this member last claimed, and those that other live members hold.
    fn claims(&self, file: &TeamFile) -> Result<(Option<TaskId>, HashSet<TaskId>), Error> {
        let (pane, server) = (self.pane(), self.server());
        let mut mine = None;
        let mut held = HashSet::new();
        for claim in self.store.claims(file.path())? {
            let task = TaskId(claim.task);
            if claim.pane == pane && claim.server == server {
                mine = Some(task);
            } else if self.lives(&claim) {
                held.insert(task);
            }
        }
        Ok((mine, held))
    }

    fn lives(&self, claim: &Claim) -> bool {
        self.panes.iter().any(|row| {
            !row.dead && server_of(row) == claim.server && row.pane_id.to_string() == claim.pane
        })
    }
}

/// A change to the file in the same edit, before the claim.
type Change<'c> = &'c mut dyn FnMut(&mut SessionFile) -> Result<(), FileProblem>;

pub(crate) fn server_of(row: &PaneRow) -> Server {
    Server { pid: i64::from(row.server_pid), start: row.server_start.cast_signed() }
}

/// The session in a pane: a managed one, or an unmanaged agent.
fn session_in(context: &Context, store: &Store, pane: PaneId) -> Result<Option<Session>, Error> {
    let target = pane.to_string();
    match snapshot::find(context, &target) {
        Ok(seen) if seen.pane.is_some() => return Ok(Some(seen.session)),
        Ok(_)
        | Err(Error::Session(SessionError::NoSuchSession { .. } | SessionError::NotOurs { .. })) => {
        }
        Err(error) => return Err(error),
    }
    let ours = store.sessions(&context.socket, Which::current(Timestamp::now()))?;
    let snapshot = TmuxSnapshot::by_process(&context.tmux, &[])?;
    let others = unmanaged::agents(context, &snapshot, ours.iter());
    Ok(others.into_iter().find(|session| unmanaged::is_meant(session, &target)))
}
