use std::time::Duration;

use dogwatch_core::life::State;
use dogwatch_store::Session;
use jiff::Timestamp;

use crate::act::kill;
use crate::sense::processes;
use crate::{Context, Error, snapshot};

/// What `gc` found and, unless it was a dry run, cleaned up.
#[derive(Debug, Default)]
pub struct Collected {
    /// Sessions that were forgotten, with all that was kept of them.
    pub sessions: Vec<Session>,
    /// Folders that no session owns.
    pub folders: Vec<String>,
    /// Processes of ended sessions that had outlived them.
    pub processes: Vec<i32>,
}

/// Forgets sessions that ended longer than `older_than` ago, ends what has outlived its session, and
/// removes folders that nobody owns. Sessions that live, or of which nothing is known for certain,
/// are never touched.
pub fn gc(
    context: &Context,
    older_than: Duration,
    dry_run: bool,
    now: Timestamp,
) -> Result<Collected, Error> {
    let mut collected = Collected::default();
    let before = now.checked_sub(older_than).unwrap_or(Timestamp::MIN);
    for seen in snapshot::look(context, true)? {
        // A runner that still lives has the agent's end to see to, and ends the rest itself.
        if !seen.life.state.is_over() || seen.living_runner().is_some() {
            continue;
        }
        let mut left = processes::family_of(&seen.session.id, None);
        if !dry_run && !left.is_empty() {
            let stayed = kill::sweep(&seen.session.id);
            left.retain(|pid| !stayed.contains(pid));
        }
        collected.processes.extend(left);
        let over_since = match seen.life.state {
            State::Lost => last_known(context, &seen.session)?,
            _ => seen.life.since.unwrap_or(seen.session.created),
        };
        if over_since < before {
            if !dry_run {
                forget(context, &seen)?;
            }
            collected.sessions.push(seen.session);
        }
    }
    for session in ended_elsewhere(context, before)? {
        if !dry_run {
            context.state.session(&session.id).remove();
            context.store()?.forget(&session.id)?;
        }
        collected.sessions.push(session);
    }
    collected.folders = unowned_folders(context, now)?;
    if !dry_run {
        context.store()?.forget_strangers(before)?;
        context.store()?.forget_settled(before)?;
        for id in &collected.folders {
            context.state.session(id).remove();
        }
    }
    Ok(collected)
}

/// A lost session has no time of its end: it may have run for weeks until a moment ago. The last that is known of it counts.
fn last_known(context: &Context, session: &Session) -> Result<Timestamp, Error> {
    let store = context.store()?;
    let started = session.started.as_ref().map(|started| started.at);
    let moved = store.last_look(&session.id)?.map(|look| look.moved);
    let seen = store.state(&session.id)?.map(|state| state.seen);
    Ok([started, moved, seen].into_iter().flatten().fold(session.created, Timestamp::max))
}

fn forget(context: &Context, seen: &snapshot::Seen) -> Result<(), Error> {
    if let Some(pane) = seen.pane.filter(|pane| pane.dead).map(|pane| pane.pane_id) {
        let close = dogwatch_tmux::Command::new("kill-pane").target(pane);
        match context.tmux.run_one(close) {
            Ok(_) | Err(dogwatch_tmux::Error::NotFound { .. }) => {}
            Err(error) if error.is_no_server() => {}
            Err(error) => return Err(error.into()),
        }
    }
    context.state.session(&seen.session.id).remove();
    Ok(context.store()?.forget(&seen.session.id)?)
}

/// Sessions of other tmux servers whose end is on record: nothing need be asked of those servers, which may be long
/// gone.
fn ended_elsewhere(context: &Context, before: Timestamp) -> Result<Vec<Session>, Error> {
    let mut sessions = context.store()?.everything()?;
    sessions.retain(|session| {
        let ended = session.ended.clone().or_else(|| context.state.session(&session.id).ended());
        session.socket != context.socket && ended.is_some_and(|ended| ended.at < before)
    });
    Ok(sessions)
}

/// Left by a `spawn` that was killed in the middle. Young ones may belong to one that is under way.
fn unowned_folders(context: &Context, now: Timestamp) -> Result<Vec<String>, Error> {
    let store = context.store()?;
    let hour_ago = now.checked_sub(Duration::from_hours(1)).unwrap_or(Timestamp::MIN);
    let mut unowned = Vec::new();
    for id in context.state.session_ids() {
        let folder = context.state.session(&id);
        // The database may have been moved away under a session that runs on.
        if folder.started().is_some_and(|started| processes::is_alive(started.runner)) {
            continue;
        }
        let path = folder.path().to_owned();
        let modified = path.metadata().and_then(|m| m.modified()).ok();
        let modified = modified.and_then(|time| Timestamp::try_from(time).ok());
        if modified.is_some_and(|at| at < hour_ago) && !store.knows(&id)? {
            unowned.push(id);
        }
    }
    Ok(unowned)
}
