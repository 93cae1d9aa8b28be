//! What is remembered, joined with what is seen: the one view that every command shows.

use std::path::Path;

use dogwatch_core::life::{self, Facts, Life, Pane, Process};
use dogwatch_core::record::{Ended, ProcessIdent, Started};
use dogwatch_store::{Server, Session, Store};
use dogwatch_tmux::{PaneId, PaneRow, RowQuery};

use crate::sense::processes;
use crate::{Context, Error};

/// A session with everything that was found out about it in one look.
#[derive(Debug, Clone)]
pub struct Seen {
    pub session: Session,
    pub life: Life,
    /// Its pane, if tmux has it, dead or alive.
    pub pane: Option<PaneRow>,
    pub started: Option<Started>,
}

impl Seen {
    pub fn pane_id(&self) -> Option<PaneId> {
        self.pane.as_ref().map(|row| row.pane_id)
    }

    /// The runner, if it was ever recorded and still lives.
    pub fn living_runner(&self) -> Option<ProcessIdent> {
        self.started.as_ref().map(|s| s.runner).filter(|runner| processes::is_alive(*runner))
    }
}

/// What tmux answered when asked for its panes.
#[derive(Debug)]
enum Panes {
    Listed(Vec<PaneRow>),
    NoServer,
    Unreachable(String),
}

/// All sessions on the context's server. The database is read while tmux makes up its answer.
pub fn look(context: &Context, all: bool) -> Result<Vec<Seen>, Error> {
    look_with(context, |store| Ok(store.sessions(&context.socket, all)?))
}

/// The session meant by a name, an id (or its start), or a pane id.
pub fn find(context: &Context, target: &str) -> Result<Seen, Error> {
    let mut seen = look_with(context, |store| candidates(context, store, target))?;
    // The newest of that name; one that lives goes before any that does not.
    let at = seen.iter().position(|s| !s.life.state.is_over()).unwrap_or(0);
    if at < seen.len() {
        Ok(seen.swap_remove(at))
    } else {
        Err(Error::NoSuchSession { target: target.to_owned() })
    }
}

fn candidates(context: &Context, store: &Store, target: &str) -> Result<Vec<Session>, Error> {
    if target.parse::<PaneId>().is_ok() {
        let mut sessions = store.sessions(&context.socket, false)?;
        sessions.retain(|s| s.pane.as_deref() == Some(target));
        sessions.reverse();
        return Ok(sessions);
    }
    // Dots become dashes in a name when it is given, so they do when it is asked for.
    let named = store.named(&context.socket, &target.replace('.', "-"))?;
    if named.is_empty() { Ok(store.by_id(target)?.into_iter().collect()) } else { Ok(named) }
}

fn look_with(
    context: &Context,
    choose: impl FnOnce(&Store) -> Result<Vec<Session>, Error>,
) -> Result<Vec<Seen>, Error> {
    let query = RowQuery::new();
    let asked = context.tmux.start(&[query.command()]);
    let mut store = context.store()?;
    let sessions = choose(&store)?;
    let panes = match asked.and_then(dogwatch_tmux::Running::finish) {
        Ok(replies) => match replies.first().map(|reply| query.parse(reply)) {
            Some(Ok(rows)) => Panes::Listed(rows),
            Some(Err(bad)) => Panes::Unreachable(bad.to_string()),
            None => Panes::NoServer,
        },
        Err(error) if error.is_no_server() => Panes::NoServer,
        // Without tmux nothing can be said or done: better an error than a table of unknowns.
        Err(
            error @ (dogwatch_tmux::Error::NotInstalled { .. }
            | dogwatch_tmux::Error::TooOld { .. }),
        ) => return Err(error.into()),
        Err(error) => Panes::Unreachable(error.to_string()),
    };
    Ok(sessions.into_iter().map(|session| see(context, &mut store, session, &panes)).collect())
}

fn see(context: &Context, store: &mut Store, mut session: Session, panes: &Panes) -> Seen {
    let folder = context.state.session(&session.id);
    let mut started = None;
    let mut runner = Process::Unasked;
    let mut agent = Process::Unasked;
    if session.pane.is_none() {
        // Its maker was killed before it could note the pane; the runner noted it too.
        started = folder.started();
        session.pane = started.as_ref().and_then(|s| s.pane.clone());
    }
    let (fact, row) = pane_of(&session, panes);
    let (fact, row) = (fact, row.cloned());
    if session.ended.is_none() && (fact != Pane::Alive || session.started.is_none()) {
        started = started.or_else(|| folder.started());
        let ask = |ident| if processes::is_alive(ident) { Process::Alive } else { Process::Gone };
        runner = started.as_ref().map_or(Process::Unasked, |s| ask(s.runner));
        agent = started.as_ref().map_or(Process::Unasked, |s| ask(s.agent));
        // Last: a runner that was just seen gone has written its record by now.
        session.ended = folder.ended();
        if let Some(ended) = &session.ended {
            remember(store, &session.id, ended);
        }
    } else {
        started = started.or_else(|| session.started.and_then(|_| folder.started()));
    }
    let life = life::judge(&Facts {
        created: session.created,
        started: started.as_ref(),
        ended: session.ended.as_ref(),
        pane: fact,
        runner,
        agent,
    });
    Seen { session, life, pane: row, started }
}

/// The record is the truth and stays on disk: if the database cannot take it in now, the next look will.
fn remember(store: &mut Store, id: &str, ended: &Ended) {
    let _ = store.ended(id, ended);
}

/// The session's pane: by id, on the server that gave the id out.
fn pane_of<'a>(session: &Session, panes: &'a Panes) -> (Pane, Option<&'a PaneRow>) {
    let rows = match panes {
        Panes::Listed(rows) => rows,
        Panes::NoServer => return (Pane::NoServer, None),
        Panes::Unreachable(error) => return (Pane::Unreachable(error.clone()), None),
    };
    let same_server = |row: &PaneRow| {
        session.server.is_none_or(|server| {
            server
                == Server { pid: i64::from(row.server_pid), start: row.server_start.cast_signed() }
        })
    };
    if rows.first().is_some_and(|row| !same_server(row)) {
        return (Pane::NoServer, None);
    }
    let id = session.pane.as_deref().and_then(|pane| pane.parse::<PaneId>().ok());
    match rows.iter().find(|row| Some(row.pane_id) == id) {
        Some(row) if row.dead => (Pane::Dead, Some(row)),
        Some(row) => (Pane::Alive, Some(row)),
        None => (Pane::Gone, None),
    }
}

/// Whether a session belongs to the project with that root. Slugs may collide, roots do not.
pub fn is_of_project(seen: &Seen, root: &Path) -> bool {
    // As the store keeps it: a name that is not UTF-8 in its readable form.
    seen.session.project == Path::new(&*root.to_string_lossy())
}
