//! Finds out that a tmux server is gone, and records it once, with the sessions that went with it. Whoever looks first does so, like a
//! session that is found lost; people are notified by the supervisor alone.

use std::collections::BTreeMap;

use dogwatch_base::log::{self, Logged as _};
use dogwatch_core::server_death::{End, Witness, judge};
use dogwatch_store::{Server, Session, Stage, Store};
use dogwatch_tmux::PaneList;
use jiff::{SignedDuration, Timestamp};

use crate::observe::{processes, snapshot};
use crate::{Context, Error, summon};

/// What ended longer ago is told by nobody.
const NEWS: SignedDuration = SignedDuration::from_hours(24);
/// How far the start that tmux tells may be from the one that the kernel tells, whose clock may be set since.
const SLACK: i64 = 60;

/// When each server was last seen alive, by a process that keeps looking.
pub type Seen = BTreeMap<(i64, i64), Timestamp>;

/// Records the ends of servers of this socket that are gone; how many died. `answer` is what tmux answered, if it was asked just now.
pub(crate) fn note(
    context: &Context,
    store: &mut Store,
    seen: &mut Seen,
    answer: Option<Result<&PaneList, &dogwatch_tmux::Error>>,
) -> Result<usize, Error> {
    let now = Timestamp::now();
    let mut gone = Vec::new();
    for server in store.open_servers(&context.socket, now.checked_sub(NEWS).unwrap_or(now))? {
        if lives(server) {
            seen.insert((server.pid, server.start), now);
        } else {
            gone.push(server);
        }
    }
    if gone.is_empty() {
        return Ok(0);
    }
    // In another process namespace its process is not to be seen, and it answers; an answer of before it ended does not count.
    let is_gone = |list: &PaneList| gone.contains(&snapshot::server_of(list));
    let answer = answer.filter(|answer| !answer.is_ok_and(is_gone));
    let asked = answer.is_none().then(|| {
        let replies = context.tmux.running_only().run(&PaneList::commands());
        replies.and_then(|replies| Ok(PaneList::parse(&replies)?))
    });
    let running = match answer.or(asked.as_ref().map(Result::as_ref)) {
        Some(Ok(list)) => Some(snapshot::server_of(list)),
        Some(Err(error)) if error.is_no_server() => None,
        // Looked at again when tmux can be asked.
        _ => return Ok(0),
    };
    let mut died = 0;
    for server in gone.into_iter().filter(|server| Some(*server) != running) {
        let last = seen.get(&(server.pid, server.start)).copied();
        died += usize::from(note_one(context, store, server, last, now)?);
    }
    Ok(died)
}

/// Starts a supervisor if people are still to be told of a death: the one that should have may have died with the server, and may not
/// have been gone yet when the death was found.
pub(crate) fn have_told(context: &Context, store: &Store) {
    if store.has_untold_death(&context.socket).logged("read the ends of servers") == Some(true) {
        summon::ensure(context).logged("start the supervisor");
    }
}

/// Whether it died, and this call recorded it.
fn note_one(
    context: &Context,
    store: &mut Store,
    server: Server,
    last: Option<Timestamp>,
    now: Timestamp,
) -> Result<bool, Error> {
    let mut sessions = store.sessions_of(&context.socket, server)?;
    let ending: Vec<bool> =
        sessions.iter_mut().map(|session| complete(context, store, session)).collect();
    let witnesses: Vec<Witness<'_>> = sessions
        .iter()
        .zip(ending)
        .map(|(session, is_ending)| witness(session, is_ending))
        .collect();
    let end = judge(&witnesses, last, now);
    log::decided(format_args!("tmux server {} is gone: {end:?}", server.pid));
    match end {
        End::Unclear => Ok(false),
        End::Empty => {
            store.server_ended(&context.socket, server, None, now)?;
            Ok(false)
        }
        End::Died { died, lost } => {
            let lost: Vec<&Session> = lost.iter().map(|place| &sessions[*place]).collect();
            Ok(store.server_ended(&context.socket, server, Some((died, &lost)), now)?)
        }
    }
}

fn witness(session: &Session, is_ending: bool) -> Witness<'_> {
    let lost_before = matches!(session.stage, Stage::Lost { .. });
    Witness { ended: session.ended(), is_ending, lost_before }
}

/// Adds what the runner wrote down; whether it still ends its agent.
pub(crate) fn complete(context: &Context, store: &mut Store, session: &mut Session) -> bool {
    if session.ended().is_some() {
        return false;
    }
    snapshot::complete(context, store, session);
    let is_ending = session.started().is_some_and(|started| processes::is_alive(started.runner));
    // Last: a runner that was just seen gone has written its record by now.
    if let Some(ended) = context.state.session(&session.id).ended() {
        store.ended(&session.id, &ended).logged("note how a session ended");
        session.set_ended(ended);
        return false;
    }
    is_ending
}

fn lives(server: Server) -> bool {
    let started = i32::try_from(server.pid).ok().and_then(processes::started_at);
    started.is_some_and(|at| (at - server.start).abs() <= SLACK)
}
