//! What is remembered, joined with what is seen: the one view that every command shows.

use std::collections::BTreeSet;
use std::path::Path;

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::Subject;
use dogwatch_core::liveness::{self, Facts, Life, Pane, Process, State};
use dogwatch_core::record::{Cause, ProcessIdent};
use dogwatch_core::suggest;
use dogwatch_core::superseded::{Row, superseded};
use dogwatch_protocol::id::Origin;
use dogwatch_protocol::stream::SessionRow;
use dogwatch_store::{Server, Session, Store, Which};
use dogwatch_tmux::{ListedPane, PaneId, PaneList};
use jiff::{SignedDuration, Timestamp};

use crate::error::SessionError;
use crate::observe::{exists, processes, server_ends};
use crate::{Context, Error};

/// How long the making of a session may take at most.
const JUST_MADE: SignedDuration = SignedDuration::from_mins(1);

/// A session with everything that was found out about it in one look.
#[derive(Debug, Clone)]
pub struct SessionSnapshot {
    pub session: Session,
    pub life: Life,
    /// Its pane, if tmux has it, dead or alive.
    pub pane: Option<ListedPane>,
}

impl SessionSnapshot {
    /// An error if tmux could not be asked about it: then nothing that is said of its pane would be true.
    pub fn must_be_known(&self) -> Result<(), Error> {
        if self.life.state != State::Unknown {
            return Ok(());
        }
        let (name, reason) = (self.session.name.clone(), self.life.reason.clone());
        Err(SessionError::NotReachable { name, reason }.into())
    }

    /// Whom events about it are about.
    pub fn subject(&self) -> Subject {
        let Session { id, name, agent, .. } = self.session.clone();
        Subject { id: id.into(), name, agent }
    }

    /// Whether dogwatch started it.
    pub fn is_ours(&self) -> bool {
        self.session.origin.is_managed()
    }

    pub fn pane_id(&self) -> Option<PaneId> {
        self.pane.map(|pane| pane.pane_id)
    }

    /// Whether nothing of it is left that could still be found running.
    fn is_lost_for_good(&self) -> bool {
        let agent = self.session.started().map(|started| started.agent);
        self.life.state == State::Lost && !agent.is_some_and(processes::is_alive)
    }

    /// The runner, if it was ever recorded and still lives.
    pub fn living_runner(&self) -> Option<ProcessIdent> {
        let runner = self.session.started().map(|started| started.runner);
        runner.filter(|runner| processes::is_alive(*runner))
    }
}

/// What tmux answered when asked for its panes.
#[derive(Debug)]
enum Panes<'a> {
    Listed(&'a PaneList),
    NoServer,
    Unreachable(String),
}

impl<'a> Panes<'a> {
    /// What tmux refuses, it refuses for all sessions: that is an error rather than a list of unknowns. One that hangs or
    /// cannot be started this moment leaves what is known of them.
    fn from_answer(answer: Result<&'a PaneList, &dogwatch_tmux::Error>) -> Result<Self, Error> {
        use dogwatch_tmux::Error::TooOld;
        match answer {
            Ok(PaneList { version: Some(found), .. }) if !found.is_supported() => {
                Err(TooOld { found: found.clone() }.into())
            }
            Ok(list) => Ok(Self::Listed(list)),
            Err(error) if error.is_no_server() => Ok(Self::NoServer),
            Err(error) if error.is_passing() => {
                let source = std::error::Error::source(error).map(|source| format!(": {source}"));
                Ok(Self::Unreachable(format!("{error}{}", source.unwrap_or_default())))
            }
            Err(error) => Err(error.clone().into()),
        }
    }
}

/// Sessions on the context's server. The database is read while tmux makes up its answer.
pub fn look(context: &Context, which: Which) -> Result<Vec<SessionSnapshot>, Error> {
    look_with(context, |store| Ok(store.sessions(&context.socket, which)?))
}

/// Sessions of a name that were not put away, on the context's server.
pub fn look_at_named(context: &Context, name: &str) -> Result<Vec<SessionSnapshot>, Error> {
    look_with(context, |store| {
        let mut named = store.named(&context.socket, name)?;
        named.retain(|session| !session.archived);
        Ok(named)
    })
}

/// What lists show: all that live, and the last that ended.
pub fn look_at_current(context: &Context) -> Result<Vec<SessionSnapshot>, Error> {
    look(context, Which::current(Timestamp::now()))
}

/// The same, with the number of ended sessions that were left out.
pub fn list(context: &Context) -> Result<(Vec<SessionSnapshot>, usize), Error> {
    let mut left_out = 0;
    let seen = look_with(context, |store| {
        let sessions = store.sessions(&context.socket, Which::current(Timestamp::now()))?;
        left_out = count_left_out(context, store, sessions.iter())?;
        Ok(sessions)
    })?;
    Ok((seen, left_out))
}

/// How many ended sessions are not among these.
pub(crate) fn count_left_out<'s>(
    context: &Context,
    store: &Store,
    shown: impl Iterator<Item = &'s Session>,
) -> Result<usize, Error> {
    let over = usize::try_from(store.count_over(&context.socket)?).unwrap_or(usize::MAX);
    Ok(over.saturating_sub(shown.filter(|session| session.is_over()).count()))
}

/// Leaves out ended sessions that were resumed in another one; how many these were.
pub fn hide_superseded<T>(all: &mut Vec<T>, seen: impl Fn(&T) -> &SessionSnapshot) -> usize {
    hide(all, |one| {
        let SessionSnapshot { session, life, .. } = seen(one);
        Row {
            id: &session.id,
            name: &session.name,
            agent: &session.agent,
            conversation: session.conversation.as_deref(),
            created: session.created,
            is_over: life.state.is_over(),
        }
    })
}

/// The same for rows of the supervisor.
pub fn hide_superseded_rows(all: &mut Vec<&SessionRow>) {
    hide(all, |one| Row {
        id: &one.session.id,
        name: &one.session.name,
        agent: &one.session.agent,
        conversation: one.conversation.as_deref(),
        created: one.created,
        is_over: one.session.verdict.status.is_over(),
    });
}

fn hide<T>(all: &mut Vec<T>, row: impl Fn(&T) -> Row<'_>) -> usize {
    let rows: Vec<Row<'_>> = all.iter().map(row).collect();
    let hidden: BTreeSet<String> = superseded(&rows).into_iter().map(ToOwned::to_owned).collect();
    let mut is_hidden =
        rows.iter().map(|row| hidden.contains(row.id)).collect::<Vec<_>>().into_iter();
    drop(rows);
    all.retain(|_| !is_hidden.next().unwrap_or_default());
    hidden.len()
}

/// The session meant by a name, an id (or its start), or a pane id.
pub fn find(context: &Context, target: &str) -> Result<SessionSnapshot, Error> {
    let seen = look_with(context, |store| candidates(context, store, target))?;
    meant(context, seen, |one| one, target)
}

/// The newest of those that bear a name; one that lives goes before any that does not.
pub(crate) fn meant<T>(
    context: &Context,
    mut found: Vec<T>,
    seen: impl Fn(&T) -> &SessionSnapshot,
    target: &str,
) -> Result<T, Error> {
    let at = found.iter().position(|one| !seen(one).life.state.is_over()).unwrap_or(0);
    if at < found.len() {
        Ok(found.swap_remove(at))
    } else if exists::session(context, target).unwrap_or(false) {
        Err(SessionError::NotOurs { target: target.to_owned() }.into())
    } else {
        Err(SessionError::NoSuchSession { target: target.to_owned(), near: near(context, target) }
            .into())
    }
}

/// The name of a session that was probably meant.
fn near(context: &Context, target: &str) -> Option<String> {
    let store = context.store().logged("open the database")?;
    let known = store
        .sessions(&context.socket, Which::current(Timestamp::now()))
        .logged("read sessions")?;
    suggest::nearest(target, known.iter().map(|session| session.name.as_str()))
        .map(ToOwned::to_owned)
}

pub(crate) fn candidates(
    context: &Context,
    store: &Store,
    target: &str,
) -> Result<Vec<Session>, Error> {
    if target.parse::<PaneId>().is_ok() {
        return Ok(store.in_pane(&context.socket, target)?);
    }
    // Dots become dashes in a name when it is given, so they do when it is asked for.
    let named = store.named(&context.socket, &target.replace('.', "-"))?;
    if named.is_empty() { Ok(store.by_id(target)?.into_iter().collect()) } else { Ok(named) }
}

fn look_with(
    context: &Context,
    choose: impl FnOnce(&Store) -> Result<Vec<Session>, Error>,
) -> Result<Vec<SessionSnapshot>, Error> {
    let asked = context.tmux.start(&PaneList::commands());
    let mut store = context.store()?;
    let sessions = choose(&store)?;
    let answer = asked.and_then(dogwatch_tmux::Running::finish);
    let mut list = answer.and_then(|replies| Ok(PaneList::parse(&replies)?));
    if sessions.iter().any(|session| may_be_newer(session, list.as_ref().ok())) {
        let replies = context.tmux.run(&PaneList::commands());
        list = replies.and_then(|replies| Ok(PaneList::parse(&replies)?));
    }
    must_be_asked(&sessions, list.as_ref().err())?;
    join(context, &mut store, sessions, list.as_ref())
}

/// "No sessions" must not be said of a server that could not be asked.
pub(crate) fn must_be_asked(
    sessions: &[Session],
    error: Option<&dogwatch_tmux::Error>,
) -> Result<(), Error> {
    match error.filter(|error| sessions.is_empty() && !error.is_no_server()) {
        Some(error) => Err(error.clone().into()),
        None => Ok(()),
    }
}

/// Whether a pane that tmux did not list was perhaps made since: the database was read after tmux was asked.
fn may_be_newer(session: &Session, list: Option<&PaneList>) -> bool {
    let age = Timestamp::now().duration_since(session.created);
    let id = session.pane.as_deref().and_then(|pane| pane.parse::<PaneId>().ok());
    let is_listed = |id| list.is_some_and(|list| list.panes.iter().any(|p| p.pane_id == id));
    session.ended().is_none() && age < JUST_MADE && id.is_some_and(|id| !is_listed(id))
}

/// Judges the life of each session by tmux's answer.
pub(crate) fn join(
    context: &Context,
    store: &mut Store,
    sessions: Vec<Session>,
    answer: Result<&PaneList, &dogwatch_tmux::Error>,
) -> Result<Vec<SessionSnapshot>, Error> {
    let panes = Panes::from_answer(answer)?;
    let mut seen: Vec<SessionSnapshot> =
        sessions.into_iter().map(|session| see(context, store, session, &panes)).collect();
    if seen.iter().any(|one| may_have_gone_with_server(one, &panes)) {
        note_server_ends(context, store, &mut seen, &panes, answer);
    }
    if seen.iter().any(|one| one.session.server_died.is_some()) {
        server_ends::have_told(context, store);
    }
    note_lost(store, &mut seen);
    Ok(seen)
}

/// Whether it is perhaps one of those that its server took with it, and this is not recorded yet.
fn may_have_gone_with_server(one: &SessionSnapshot, panes: &Panes<'_>) -> bool {
    let session = &one.session;
    let (is_own_end, server_gone) = session.ended().map_or((false, false), |ended| {
        let server_gone = ended.hangup.is_some_and(|hangup| hangup.server_gone);
        (ended.cause != Cause::Hangup, server_gone)
    });
    let has_server = || !matches!(pane_of(session, panes).0, Pane::NoServer);
    // What tmux showed may be of a moment before.
    session.server.is_some()
        && session.server_died.is_none()
        && !is_own_end
        && (server_gone || !has_server())
}

/// Records the ends of servers, and judges again those that went with one.
fn note_server_ends(
    context: &Context,
    store: &mut Store,
    seen: &mut [SessionSnapshot],
    panes: &Panes<'_>,
    answer: Result<&PaneList, &dogwatch_tmux::Error>,
) {
    let mut alive = server_ends::Seen::new();
    server_ends::note(context, store, &mut alive, Some(answer)).logged("note the end of tmux");
    for one in seen.iter_mut().filter(|one| may_have_gone_with_server(one, panes)) {
        let now_stored = store.by_id(&one.session.id).logged("read a session").flatten();
        if let Some(session) = now_stored.filter(|session| session.server_died.is_some()) {
            *one = see(context, store, session, panes);
        }
    }
}

pub(crate) fn server_of(list: &PaneList) -> Server {
    Server { pid: i64::from(list.server_pid), start: list.server_start.cast_signed() }
}

/// Notes which sessions were found lost, so that they leave the lists like those whose end is on record. If the database cannot
/// take it in now, the next look will.
fn note_lost(store: &mut Store, seen: &mut [SessionSnapshot]) {
    let now = Timestamp::now();
    let mut found = Vec::new();
    for one in seen.iter_mut().filter(|one| !one.session.is_over() && one.is_lost_for_good()) {
        one.session.set_lost(now);
        found.push(one.session.id.as_str());
    }
    if !found.is_empty() {
        store.lost(&found, now).logged("note a lost session");
    }
}

/// What the runner wrote into the session's folder, where the database was not told: it is told a moment later, or
/// never if it could not be.
pub(crate) fn complete(context: &Context, store: &mut Store, session: &mut Session) {
    if session.started().is_none()
        && let Some(started) = context.state.session(&session.id).started()
    {
        // The record stays on disk: if the database cannot take it in now, the next look will.
        store.started(&session.id, &started).logged("note that a session began");
        session.set_started(started);
    }
    if session.pane.is_none() {
        // Its maker was killed before it could note the pane; the runner noted it too.
        session.pane = session.started().and_then(|s| s.pane.clone());
    }
}

fn see(
    context: &Context,
    store: &mut Store,
    mut session: Session,
    panes: &Panes<'_>,
) -> SessionSnapshot {
    if let Some(life) = without_pane(&session) {
        return SessionSnapshot { session, life, pane: None };
    }
    complete(context, store, &mut session);
    let folder = context.state.session(&session.id);
    let (fact, pane) = if session.socket == context.socket {
        pane_of(&session, panes)
    } else {
        let elsewhere =
            format!("it is on another tmux server: --socket {}", session.socket.display());
        (Pane::Unreachable(elsewhere), None)
    };
    let (mut runner, mut agent) = (Process::Unasked, Process::Unasked);
    if session.ended().is_none() && (fact != Pane::Alive || session.started().is_none()) {
        let ask = |ident| if processes::is_alive(ident) { Process::Alive } else { Process::Gone };
        runner = session.started().map_or(Process::Unasked, |s| ask(s.runner));
        agent = session.started().map_or(Process::Unasked, |s| ask(s.agent));
        // Last: a runner that was just seen gone has written its record by now.
        if let Some(ended) = folder.ended() {
            store.ended(&session.id, &ended).logged("note how a session ended");
            session.set_ended(ended);
        }
    }
    let life = liveness::judge(&Facts {
        now: Timestamp::now(),
        created: session.created,
        placed: session.pane.is_some(),
        started: session.started(),
        ended: session.ended(),
        pane: fact,
        runner,
        agent,
        server_died: session.server_died,
    });
    SessionSnapshot { session, life, pane }
}

/// The life of a session that dogwatch did not start and that never had a pane: its process is the only witness.
fn without_pane(session: &Session) -> Option<Life> {
    let Origin::Unmanaged { process } = session.origin else { return None };
    session
        .pane
        .is_none()
        .then(|| liveness::without_pane(processes::is_alive(process), session.created))
}

/// The session's pane: by id, on the server that gave the id out, with our runner in it. Ids start again with each
/// server, and a person may have put something else into the pane.
fn pane_of(session: &Session, panes: &Panes<'_>) -> (Pane, Option<ListedPane>) {
    let list = match panes {
        Panes::Listed(list) => list,
        Panes::NoServer => return (Pane::NoServer, None),
        Panes::Unreachable(error) => return (Pane::Unreachable(error.clone()), None),
    };
    let server = server_of(list);
    if session.server.is_some_and(|made_on| made_on != server) {
        return (Pane::NoServer, None);
    }
    let id = session.pane.as_deref().and_then(|pane| pane.parse::<PaneId>().ok());
    let is_ours = |pane: &&ListedPane| match session.started() {
        Some(started) => pane.pid == started.runner.pid,
        None => session.server.is_some(),
    };
    match list.panes.iter().find(|pane| Some(pane.pane_id) == id).filter(is_ours) {
        Some(pane) if pane.dead => (Pane::Dead, Some(*pane)),
        Some(pane) => (Pane::Alive, Some(*pane)),
        None => (Pane::Gone, None),
    }
}

/// Whether a session belongs to the project with that root. Slugs may collide, roots do not.
pub fn is_of_project(seen: &SessionSnapshot, root: &Path) -> bool {
    // As the store keeps it: a name that is not UTF-8 in its readable form.
    seen.session.project == Path::new(&*root.to_string_lossy())
}
