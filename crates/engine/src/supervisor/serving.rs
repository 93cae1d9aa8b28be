//! Who serves, written into the lock that says so.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_core::record::ProcessIdent;
use dogwatch_protocol::stream::Ask;
use dogwatch_protocol::supervisor::{OpenWork, Serving, SetAside, Supervisor};
use dogwatch_store::{Session, Stage, Which};
use jiff::Timestamp;

use super::hands;
use crate::error::SystemError;
use crate::observe::processes;
use crate::socket::{self, client};
use crate::{Context, Error, summon};

/// How long it may take to answer before it is said that it does not: it may have something to do that takes longer than an answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is known of a server's supervisor.
#[derive(Debug, Clone)]
pub enum Found {
    /// Nobody serves: it starts when it is needed.
    None,
    /// It has just started, or the disk was full then.
    Unknown,
    Serving(Serving),
}

/// Finds out who serves, without starting anybody.
pub fn find(context: &Context) -> Result<Found, Error> {
    let path = context.state.supervisor_lock(&context.socket)?;
    let failed = || Error::io(format!("read {}", path.display()));
    if summon::take(&path).map_err(failed())?.is_some() {
        return Ok(Found::None);
    }
    let serving = summon::noted(context);
    let lives =
        |one: &Serving| processes::is_alive(ProcessIdent { pid: one.pid, start: one.start });
    Ok(serving.filter(lives).map_or(Found::Unknown, Found::Serving))
}

/// Waits until somebody serves, at most so long.
pub fn wait_for(context: &Context, at_most: Duration) -> Result<(), Error> {
    let begun = Instant::now();
    while !matches!(find(context)?, Found::Serving(_)) {
        if begun.elapsed() > at_most {
            return Err(SystemError::NoSupervisor.into());
        }
        // sleep: poll interval: no event tells that a lock was taken
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Who serves, and what is open.
pub fn report(context: &Context) -> Result<Supervisor, Error> {
    let (serves, serving) = match find(context)? {
        Found::None => (false, None),
        Found::Unknown => (true, None),
        Found::Serving(serving) => (true, Some(serving)),
    };
    let store = context.store()?;
    let sessions = store.sessions(&context.socket, Which::current(Timestamp::now()))?;
    let is_here = |id: &str| -> Result<bool, Error> {
        Ok(store.by_id(id)?.is_none_or(|one| one.socket == context.socket))
    };
    let count = |ids: Vec<String>| -> Result<usize, Error> {
        ids.iter().try_fold(0, |sum, id| Ok(sum + usize::from(is_here(id)?)))
    };
    let open = OpenWork {
        messages: count(store.open_messages()?)?,
        jobs: count(store.open_jobs()?.iter().map(|one| one.session.to_string()).collect())?,
        limits: count(store.open_limits()?.iter().map(|one| one.session.to_string()).collect())?,
        callbacks: count(store.callback_subscribers()?.iter().map(ToString::to_string).collect())?,
    };
    let lives = |one: &&Session| matches!(one.stage, Stage::Running(_));
    let sessions = sessions.iter().filter(lives).count();
    let listens = serves.then(|| socket::Place::of(context).path());
    let health = if serves { client::ask_within(context, Ask::Health, PATIENCE) } else { None };
    let aside = hands::read_work(context)?.aside;
    let aside = aside.iter().map(|one| SetAside { what: one.request.to_string(), at: one.at });
    let (socket, aside) = (context.socket.clone(), aside.collect());
    Ok(Supervisor { socket, serves, serving, listens, health, sessions, open, aside })
}

pub(super) fn write(mut lock: &File, context: &Context) -> Result<(), Error> {
    let me = processes::myself()?;
    let serving = Serving {
        pid: me.pid,
        start: me.start,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program: context.dogwatch.clone(),
        since: Timestamp::now(),
    };
    let text =
        serde_json::to_vec(&serving).map_err(|error| Error::io("write JSON")(error.into()))?;
    let mut write = || {
        lock.set_len(0)?;
        lock.rewind()?;
        lock.write_all(&text)
    };
    write().map_err(Error::io("write who serves"))
}
