mod worktrees;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::liveness::State;
use dogwatch_store::{Session, Store, Which};
use dogwatch_tmux::PaneId;
use jiff::Timestamp;

pub use worktrees::Left;

use crate::actions::{close_panes, collect, kill, retire, search, send, stale_sockets};
use crate::observe::process_table::Census;
use crate::observe::processes;
use crate::observe::snapshot::{self, SessionSnapshot};
use crate::{Context, Error};

/// What it may do.
#[derive(Debug, Clone, Copy, Default)]
pub struct What {
    pub dry_run: bool,
    /// Also worktrees with files that git ignores.
    pub ignored_too: bool,
}

/// What `gc` found and, unless it was a dry run, cleaned up.
#[derive(Debug, Default)]
pub struct Collected {
    /// Sessions that were forgotten, with all that was kept of them.
    pub sessions: Vec<Session>,
    /// Folders that no session owns.
    pub folders: Vec<String>,
    /// Processes of ended sessions that had outlived them.
    pub processes: Vec<i32>,
    /// Folders of worktrees whose work is merged or was discarded.
    pub worktrees: Vec<PathBuf>,
    /// Worktrees that could go, and why they stay.
    pub left: Vec<Left>,
    /// Files that a killed process left behind, and sockets of tmux servers that are gone.
    pub files: Vec<PathBuf>,
    /// Why the database could not be made smaller; all else was done.
    pub not_shrunk: Option<String>,
}

/// Forgets sessions that ended longer than `older_than` ago, ends what has outlived its session, and
/// removes folders without an owner. Sessions that live, or of which nothing is known for certain,
/// are never touched.
pub fn gc(
    context: &Context,
    older_than: Duration,
    what: What,
    now: Timestamp,
) -> Result<Collected, Error> {
    let dry_run = what.dry_run;
    let mut collected = Collected::default();
    let before = now.checked_sub(older_than).unwrap_or(Timestamp::MIN);
    let mut store = context.store()?;
    // A runner that still lives has the agent's end to see to, and ends the rest itself.
    let mut over = snapshot::look(context, Which::All)?;
    over.retain(|seen| seen.life.state.is_over() && seen.living_runner().is_none());
    collected.processes = end_leftovers(&over, dry_run);
    (collected.worktrees, collected.left) = worktrees::collect(context, &mut store, before, what)?;
    let unfinished = worktrees::unfinished(&store)?;
    let mut old = Vec::new();
    for seen in over {
        if over_since(&store, &seen)? < before && !unfinished.contains(seen.session.id.as_str()) {
            old.push(seen);
        }
    }
    let mut elsewhere = over_elsewhere(context, &store, before)?;
    elsewhere.retain(|session| !unfinished.contains(session.id.as_str()));
    // That of our own server is tmux's to replace.
    let sockets: BTreeSet<PathBuf> =
        elsewhere.iter().map(|session| session.socket.clone()).collect();
    let sockets = stale_sockets::among(sockets.into_iter());
    if !dry_run {
        let dead = old.iter().filter_map(|seen| seen.pane.filter(|pane| pane.dead));
        let dead: Vec<PaneId> = dead.map(|pane| pane.pane_id).collect();
        close_panes::close_each(&context.tmux, &dead).into_iter().collect::<Result<(), Error>>()?;
        let ids: Vec<&str> = old
            .iter()
            .map(|seen| &seen.session)
            .chain(&elsewhere)
            .map(|session| session.id.as_str())
            .collect();
        for id in &ids {
            context.state.session(id).remove();
        }
        store.forget_all(&ids)?;
        match retire::dead_panes(&context.tmux, &context.state, &store, &context.socket, 0) {
            Err(Error::Tmux(error)) if error.is_no_server() => {}
            retired => retired?,
        }
    }
    collected.sessions = old.into_iter().map(|seen| seen.session).collect();
    collected.sessions.append(&mut elsewhere);
    collected.folders = unowned_folders(context, &store, now)?;
    if !dry_run {
        collect::old_environments(context);
        send::settle_left(context, &|_| true)?;
    }
    if !dry_run {
        store.forget_strangers(before)?;
        store.forget_settled(before)?;
        store.trim_signals()?;
        // The index can be made again: it must not keep anything else from being cleaned up.
        let known: HashSet<String> = store.all_ids()?.into_iter().collect();
        search::forget_gone(context, &known).logged("clean up the index of `search`");
        // What story-automator kept of sessions that were not ours.
        context.state.remove_old_stories(older_than, |name| name.ends_with(".txt"));
        for id in &collected.folders {
            context.state.session(id).remove();
        }
    }
    collected.files = store.leftovers()?;
    if !dry_run {
        for file in &collected.files {
            store.remove_leftover(file);
        }
        for socket in &sockets {
            stale_sockets::remove(socket);
        }
        collected.not_shrunk = store.shrink().err().map(|error| error.to_string());
    }
    collected.files.extend(sockets);
    Ok(collected)
}

/// Ends what carries the tag of these sessions, or only finds it. One look at all processes serves for all sessions.
fn end_leftovers(over: &[SessionSnapshot], dry_run: bool) -> Vec<i32> {
    let census = Census::take();
    let mut ended = Vec::new();
    for seen in over {
        let mut left = census.family_of(&seen.session.id, None);
        if !dry_run && !left.is_empty() {
            let stayed = kill::sweep(&seen.session.id);
            left.retain(|pid| !stayed.contains(pid));
        }
        ended.extend(left);
    }
    ended
}

/// When it was over. A lost session has no time of its end: it may have run for weeks until a moment ago. The last that is known of
/// it counts.
fn over_since(store: &Store, seen: &SessionSnapshot) -> Result<Timestamp, Error> {
    match seen.life.state {
        State::Lost => last_known(store, &seen.session),
        _ => Ok(seen.life.since.unwrap_or(seen.session.created)),
    }
}

fn last_known(store: &Store, session: &Session) -> Result<Timestamp, Error> {
    let started = session.started().map(|started| started.at);
    let moved = store.last_look(&session.id)?.map(|look| look.moved);
    let seen = store.state(&session.id)?.map(|state| state.seen);
    Ok([started, moved, seen].into_iter().flatten().fold(session.created, Timestamp::max))
}

/// Sessions of other tmux servers that were over before a moment: their end is on record, or their server and processes are gone.
/// Nothing need be asked of those servers.
fn over_elsewhere(
    context: &Context,
    store: &Store,
    before: Timestamp,
) -> Result<Vec<Session>, Error> {
    let mut over = Vec::new();
    let mut dead_sockets = HashMap::new();
    for mut session in store.elsewhere(&context.socket, before)? {
        if session.ended().is_none()
            && let Some(ended) = context.state.session(&session.id).ended()
        {
            session.set_ended(ended);
        }
        let is_old = if let Some(ended) = session.ended() {
            ended.at < before
        } else {
            let socket = session.socket.clone();
            let is_dead = *dead_sockets
                .entry(socket)
                .or_insert_with_key(|socket| stale_sockets::is_dead(socket));
            is_dead && !has_processes(&session) && last_known(store, &session)? < before
        };
        if is_old {
            over.push(session);
        }
    }
    Ok(over)
}

fn has_processes(session: &Session) -> bool {
    let started = session.started().into_iter();
    started.flat_map(|s| [s.runner, s.agent]).any(processes::is_alive)
}

/// Left by a `spawn` that was killed in the middle. Young ones may belong to one that is under way.
fn unowned_folders(context: &Context, store: &Store, now: Timestamp) -> Result<Vec<String>, Error> {
    let hour_ago = now.checked_sub(Duration::from_hours(1)).unwrap_or(Timestamp::MIN);
    let known: HashSet<String> = store.all_ids()?.into_iter().collect();
    let mut unowned = context.state.session_ids();
    unowned.retain(|id| {
        if known.contains(id) {
            return false;
        }
        let folder = context.state.session(id);
        // The database may have been moved away under a session that runs on.
        if folder.started().is_some_and(|started| processes::is_alive(started.runner)) {
            return false;
        }
        let modified = folder
            .path()
            .metadata()
            .and_then(|m| m.modified())
            .logged_unless_missing("look at a folder");
        let modified = modified.and_then(|time| Timestamp::try_from(time).ok());
        modified.is_some_and(|at| at < hour_ago)
    });
    Ok(unowned)
}
