//! Teams: the agents of one window, their status and their tasks.

pub mod agent;
pub mod pane;
pub mod session_file;
pub mod task;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use dogwatch_core::roles;
use dogwatch_core::session_file::{PaneRow, SessionFile, Task, TaskStatus};
use dogwatch_store::Which;
use dogwatch_tmux::{PaneId, WindowView};
use jiff::Timestamp;

use crate::error::TeamError;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::team::pane::{master_of, server_of, window_of};
use crate::team::session_file::TeamFile;
use crate::{Context, Error};

/// A window with agents in it.
#[derive(Debug, Clone)]
pub struct Team {
    pub window: String,
    pub master: PaneId,
    /// The team's session file, if there is one, and why it could not be read.
    pub file: Option<PathBuf>,
    pub problem: Option<String>,
    /// The master first, then in the order of the window, then members whose panes are gone.
    pub members: Vec<Member>,
}

#[derive(Debug, Clone)]
pub struct Member {
    pub pane: String,
    pub role: Option<String>,
    /// Its status; `None` if no agent is in the pane.
    pub status: Option<SessionStatus>,
    /// Its current task, or the last one.
    pub task: Option<Task>,
    pub lifecycle: Option<PaneRow>,
}

/// The team in the window of a pane.
pub fn team(context: &Context, pane: PaneId, file: Option<&TeamFile>) -> Result<Team, Error> {
    let view = window_of(context, pane)?;
    let master = master_of(context, pane)?;
    let mut statuses = StatusReader::new(context)?.all(Timestamp::now())?;
    statuses.retain(|one| is_member(one, &view, master));
    let named = statuses.iter().find_map(|one| {
        let session = &one.seen.session;
        Some(TeamFile::at(&session.project, session.membership.as_ref()?.session_file.clone()))
    });
    let file = named.filter(|file| file.path().exists()).or_else(|| file.cloned());
    let (text, problem) = match file.as_ref().map(TeamFile::read) {
        Some(Ok(text)) => (Some(text), None),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, None),
    };
    let first = [master.to_string()];
    let here = view.panes.iter().map(|pane| pane.id.to_string());
    let others = statuses.iter().filter_map(|one| one.seen.session.pane.clone());
    let mut panes: Vec<String> = Vec::new();
    for pane in first.into_iter().chain(here).chain(others) {
        if !panes.contains(&pane) {
            panes.push(pane);
        }
    }
    let member = |pane: String| {
        let at = statuses.iter().position(|one| one.seen.session.pane.as_deref() == Some(&pane));
        let status = at.map(|at| statuses.swap_remove(at));
        let is_master = pane == master.to_string();
        (status.is_some() || is_master).then(|| member(pane, status, is_master, text.as_ref()))
    };
    let members = panes.into_iter().filter_map(member).collect();
    let path = file.map(|file| file.path().to_owned());
    Ok(Team { window: view.id.to_string(), master, file: path, problem, members })
}

/// The masters of the project's teams that have members.
pub fn masters(context: &Context, project: &Path) -> Result<Vec<PaneId>, Error> {
    let mut found: Vec<PaneId> = Vec::new();
    let mut asked = HashSet::new();
    for session in context.store()?.sessions(&context.socket, Which::current(Timestamp::now()))? {
        let is_of_project = session.project == Path::new(&*project.to_string_lossy());
        let master = session
            .membership
            .filter(|_| is_of_project)
            .and_then(|membership| membership.master.parse().ok());
        let is_new =
            |master: &PaneId| asked.insert((*master, session.server.map(|s| (s.pid, s.start))));
        let Some(master) = master.filter(is_new).filter(|master| !found.contains(master)) else {
            continue;
        };
        match window_of(context, master) {
            Ok(view) if session.server == Some(server_of(&view)) => found.push(master),
            Ok(_) | Err(Error::Team(TeamError::NoSuchPane { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Whether a session is in the window, or was in it before its pane closed.
fn is_member(one: &SessionStatus, view: &WindowView, master: PaneId) -> bool {
    let session = &one.seen.session;
    if let Some(pane) = one.seen.pane_id() {
        return view.pane(pane).is_some();
    }
    let is_led = session
        .membership
        .as_ref()
        .is_some_and(|membership| membership.master == master.to_string());
    is_led && session.server == Some(server_of(view))
}

fn member(
    pane: String,
    status: Option<SessionStatus>,
    is_master: bool,
    text: Option<&SessionFile>,
) -> Member {
    let membership = status.as_ref().and_then(|one| one.seen.session.membership.as_ref());
    let listed = text.and_then(|text| text.agent(&pane)).map(|row| row.role);
    let role = membership
        .map(|membership| membership.role.clone())
        .or(listed.filter(|role| !role.is_empty()))
        .or_else(|| is_master.then(|| roles::MASTER.to_owned()));
    let tasks = text.map(SessionFile::tasks).unwrap_or_default();
    let mut mine = tasks.into_iter().filter(|task| task.pane.as_deref() == Some(&pane));
    let first = mine.next();
    let task = mine.fold(first, |best, task| {
        let is_at = |task: &Task| task.status == Some(TaskStatus::InProgress);
        match best {
            Some(best) if is_at(&best) && !is_at(&task) => Some(best),
            _ => Some(task),
        }
    });
    let lifecycle = text.and_then(|text| text.pane(&pane));
    Member { pane, role, status, task, lifecycle }
}
