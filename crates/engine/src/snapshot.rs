//! What is remembered, joined with what is seen: the one view that every command shows.

use std::path::Path;

use dogwatch_core::life::{self, Facts, Life, Pane, Process, State};
use dogwatch_core::record::{Ended, ProcessIdent};
use dogwatch_store::{Server, Session, Store};
use dogwatch_tmux::{Glance, PaneGlance, PaneId};
use jiff::{SignedDuration, Timestamp};

use crate::sense::processes;
use crate::{Context, Error};

/// How long a session may take to be made; longer than `spawn` waits for it.
const MAKING: SignedDuration = SignedDuration::from_secs(20);

/// A session with everything that was found out about it in one look.
#[derive(Debug, Clone)]
pub struct Seen {
    pub session: Session,
    pub life: Life,
    /// Its pane, if tmux has it, dead or alive.
    pub pane: Option<PaneGlance>,
}

impl Seen {
    pub fn pane_id(&self) -> Option<PaneId> {
        self.pane.map(|pane| pane.pane_id)
    }

    /// The runner, if it was ever recorded and still lives.
    pub fn living_runner(&self) -> Option<ProcessIdent> {
        self.session
            .started
            .as_ref()
            .map(|s| s.runner)
            .filter(|runner| processes::is_alive(*runner))
    }
}

/// What tmux answered when asked for its panes.
#[derive(Debug)]
enum Panes {
    Listed(Glance),
    NoServer,
    Unreachable(String),
}

impl Panes {
    /// Without tmux nothing can be said or done, so that is an error rather than a list of unknowns.
    fn from_answer(answer: Result<Glance, dogwatch_tmux::Error>) -> Result<Self, Error> {
        use dogwatch_tmux::Error::{NotASocket, NotInstalled, TooOld};
        match answer {
            Ok(Glance { version: Some(found), .. }) if !found.is_supported() => {
                Err(TooOld { found }.into())
            }
            Ok(glance) => Ok(Self::Listed(glance)),
            Err(error) if error.is_no_server() => Ok(Self::NoServer),
            Err(error @ (NotInstalled { .. } | TooOld { .. } | NotASocket { .. })) => {
                Err(error.into())
            }
            Err(error) => Ok(Self::Unreachable(error.to_string())),
        }
    }
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

pub(crate) fn candidates(
    context: &Context,
    store: &Store,
    target: &str,
) -> Result<Vec<Session>, Error> {
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
    let asked = context.tmux.start(&Glance::commands());
    let mut store = context.store()?;
    let sessions = choose(&store)?;
    let answer = asked.and_then(dogwatch_tmux::Running::finish);
    let glance = answer.and_then(|replies| Ok(Glance::parse(&replies)?));
    join(context, &mut store, sessions, glance)
}

/// Judges the life of each session by tmux's answer.
pub(crate) fn join(
    context: &Context,
    store: &mut Store,
    sessions: Vec<Session>,
    answer: Result<Glance, dogwatch_tmux::Error>,
) -> Result<Vec<Seen>, Error> {
    let panes = Panes::from_answer(answer)?;
    Ok(sessions.into_iter().map(|session| see(context, store, session, &panes)).collect())
}

fn see(context: &Context, store: &mut Store, mut session: Session, panes: &Panes) -> Seen {
    let folder = context.state.session(&session.id);
    if session.started.is_none() {
        // The database is told of it a moment later than the folder, or never if it could not be.
        session.started = folder.started();
    }
    if session.pane.is_none() {
        // Its maker was killed before it could note the pane; the runner noted it too.
        session.pane = session.started.as_ref().and_then(|s| s.pane.clone());
    }
    let (fact, pane) = pane_of(&session, panes);
    let (mut runner, mut agent) = (Process::Unasked, Process::Unasked);
    if session.ended.is_none() && (fact != Pane::Alive || session.started.is_none()) {
        let ask = |ident| if processes::is_alive(ident) { Process::Alive } else { Process::Gone };
        runner = session.started.as_ref().map_or(Process::Unasked, |s| ask(s.runner));
        agent = session.started.as_ref().map_or(Process::Unasked, |s| ask(s.agent));
        // Last: a runner that was just seen gone has written its record by now.
        session.ended = folder.ended();
        if let Some(ended) = &session.ended {
            remember(store, &session.id, ended);
        }
    }
    let judged = life::judge(&Facts {
        created: session.created,
        started: session.started.as_ref(),
        ended: session.ended.as_ref(),
        pane: fact,
        runner,
        agent,
    });
    let life = unless_being_made(judged, &session, Timestamp::now());
    Seen { session, life, pane }
}

/// A session is remembered before it is made, and may be made after tmux was asked: for that moment no
/// witness knows of it.
fn unless_being_made(judged: Life, session: &Session, now: Timestamp) -> Life {
    let unseen = judged.state == State::Lost && session.started.is_none();
    if !unseen || now.duration_since(session.created) > MAKING {
        return judged;
    }
    let reason = "it is being made".to_owned();
    Life { state: State::Starting, since: Some(session.created), reason }
}

/// The record is the truth and stays on disk: if the database cannot take it in now, the next look will.
fn remember(store: &mut Store, id: &str, ended: &Ended) {
    let _ = store.ended(id, ended);
}

/// The session's pane: by id, on the server that gave the id out.
fn pane_of(session: &Session, panes: &Panes) -> (Pane, Option<PaneGlance>) {
    let glance = match panes {
        Panes::Listed(glance) => glance,
        Panes::NoServer => return (Pane::NoServer, None),
        Panes::Unreachable(error) => return (Pane::Unreachable(error.clone()), None),
    };
    let pid = i64::from(glance.server_pid);
    let server = Server { pid, start: glance.server_start.cast_signed() };
    if session.server.is_some_and(|made_on| made_on != server) {
        return (Pane::NoServer, None);
    }
    let id = session.pane.as_deref().and_then(|pane| pane.parse::<PaneId>().ok());
    match glance.panes.iter().find(|pane| Some(pane.pane_id) == id) {
        Some(pane) if pane.dead => (Pane::Dead, Some(*pane)),
        Some(pane) => (Pane::Alive, Some(*pane)),
        None => (Pane::Gone, None),
    }
}

/// Whether a session belongs to the project with that root. Slugs may collide, roots do not.
pub fn is_of_project(seen: &Seen, root: &Path) -> bool {
    // As the store keeps it: a name that is not UTF-8 in its readable form.
    seen.session.project == Path::new(&*root.to_string_lossy())
}
