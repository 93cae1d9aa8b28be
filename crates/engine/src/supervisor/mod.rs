//! The supervisor of a tmux server: the one process that delivers messages, follows jobs, continues sessions after limits, interrupts loops,
//! calls back and notifies.
//!
//! It starts by itself with the first session ([`crate::summon`]) and ends when no session lives, nothing is open and nobody watches. It
//! keeps nothing that is not stored: what is to be done is in the database before it is begun, and what came of it after, so that the next
//! one goes on where this one was killed.
//!
//! One loop on one thread. A [`Watcher`] looks at whatever has changed; the [`desk`] does what a look allows and says when the next is due.
//! Nothing waits in it, so that a slow agent delays no other one: notifications are sent by a thread of their own, and what takes seconds
//! (keys that answer a dialog, the start of another agent after a limit) is an [errand](errands).

mod clients;
mod deaths;
mod desk;
mod errands;
mod hands;
mod requests;
mod serving;
mod status_line;

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_base::program;
use dogwatch_protocol::id::SessionId;

use crate::observe::changes::Waker;
use crate::watch::Watcher;
use crate::{Context, Error, summon};
use clients::Clients;
use deaths::Deaths;
use desk::Desk;
use hands::Hands;
pub use serving::{Found, find, report, wait_for};
use status_line::StatusLine;

/// How often it is checked what no event tells: whether there is anything left to do, and whether the program was replaced.
const ROUND: Duration = Duration::from_secs(1);
/// How long after the last session it stays: scripts start one session after the other.
const LINGER: Duration = Duration::from_secs(3);

/// How long an upgrade waits for notifications that are being sent, and for messages that are being typed.
const UNTOLD: Duration = Duration::from_secs(15);

/// Why a supervisor ended.
#[derive(Debug)]
pub enum End {
    /// No session lives, nothing is open, and nobody watches.
    NothingLeft,
    /// Another one serves this server.
    Other,
    /// It was asked to.
    Asked,
    /// Its program was replaced: the new one is to go on, with this lock.
    Replaced(File),
}

/// Serves a tmux server until there is nothing left to do, or the flag is set that `stop` makes of what wakes the loop. Whoever started this
/// process may have taken the lock for it; else it is taken here.
pub fn serve(
    context: &Context,
    lock: Option<File>,
    stop: impl FnOnce(Waker) -> Result<Arc<AtomicBool>, Error>,
) -> Result<End, Error> {
    let path = context.state.supervisor_lock(&context.socket)?;
    let failed = || Error::io(format!("lock {}", path.display()));
    let lock = match lock.filter(|lock| is_at(lock, &path)) {
        // What is open in two processes is locked by both of them: this one has it already.
        Some(lock) if lock.try_lock().is_ok() => lock,
        _ => match summon::take(&path).map_err(failed())? {
            Some(lock) => lock,
            None => return Ok(End::Other),
        },
    };
    serving::write(&lock, context).logged("write who serves");
    let mut watcher = Watcher::acting(context)?;
    let stop = stop(watcher.waker())?;
    let hands = Hands::take_over(context)?;
    let end = attend(context, &mut watcher, &hands, &stop)?;
    hands.put_down();
    Ok(end.unwrap_or(End::Replaced(lock)))
}

/// Serves until there is a reason to end; `None` if the program was replaced.
fn attend(
    context: &Context,
    watcher: &mut Watcher<'_>,
    hands: &Hands,
    stop: &AtomicBool,
) -> Result<Option<End>, Error> {
    let program = Program::of_own();
    let mut clients = Clients::start(context, watcher.waker());
    let mut desk = Desk::new(hands.clone());
    let mut line = StatusLine::default();
    let mut deaths = Deaths::default();
    let mut used = Instant::now();
    let (mut round, mut replaced) = (None, None);
    loop {
        let at_most = desk.next_due(ROUND);
        let is_stopped = || stop.load(Ordering::Relaxed);
        let changes = watcher.next_unless(at_most, || is_stopped() || clients.is_called())?;
        if is_stopped() {
            return Ok(Some(End::Asked));
        }
        if round.is_none() {
            // Before anything is set by this one.
            StatusLine::clear_left(watcher);
        }
        clients.tell(&changes);
        // Before anything is done that takes longer than an answer may.
        clients.attend(context, watcher);
        let touched = watcher.take_touched();
        clients.tell_rows(watcher, &touched);
        watcher.want_panes(clients.wants(|follow| follow.rows));
        watcher.label_panes(clients.wants(|follow| follow.labels));
        line.keep(watcher, clients.wants(|follow| follow.status_line), !touched.is_empty());
        if !watcher.has_server() {
            clients.end_with_server();
        }
        desk.attend(context, watcher, &touched);
        clients.answer_settled(watcher.store());
        clients.note(desk.take_errors());
        if round.is_some_and(|at: Instant| at.elapsed() < ROUND) {
            continue;
        }
        round = Some(Instant::now());
        // Trouble with one session or row is no reason to leave all others.
        desk.look_around(context, watcher).logged("look for what is open");
        deaths.attend(context, watcher).logged("look for servers that died");
        if program.was_replaced() {
            let since = *replaced.get_or_insert_with(Instant::now);
            // Where agents are typed to all the time, a message is always on its way. The next one goes on with it.
            let is_late = since.elapsed() > UNTOLD && !desk.has_errands();
            if is_late || (!desk.has_hands_on() && watcher.has_told_all()) {
                return Ok(None);
            }
        }
        if has_work(watcher, &desk) || clients.has_any() || deaths.has_untold() {
            used = Instant::now();
        } else if used.elapsed() > LINGER && watcher.has_told_all() {
            return Ok(Some(End::NothingLeft));
        }
    }
}

fn has_work(watcher: &Watcher<'_>, desk: &Desk) -> bool {
    let lives = |id: &SessionId| {
        let one = watcher.status(id);
        one.is_some_and(|one| one.seen.is_ours() && !one.verdict.status.is_over())
    };
    desk.has_open() || watcher.statuses().any(|one| lives(&one.seen.session.id))
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |about: std::fs::Metadata| (about.dev(), about.ino());
    let there = std::fs::symlink_metadata(path).logged_unless_missing("look at a file");
    let ours = file.metadata().logged("look at a file");
    there.is_some() && ours.map(identity) == there.map(identity)
}

/// Our own program's file, to notice when an upgrade replaces it.
#[derive(Debug)]
struct Program {
    at_start: Option<(u64, u64)>,
}

impl Program {
    fn of_own() -> Self {
        // The file that runs, also if it was replaced a moment ago.
        let running = std::fs::metadata("/proc/self/exe").logged_unless_missing("look at a file");
        Self { at_start: running.map(|about| (about.dev(), about.ino())).or_else(Self::now) }
    }

    fn now() -> Option<(u64, u64)> {
        let path = program::own_path().logged("find our own program")?;
        let about = std::fs::metadata(path).logged_unless_missing("look at a file")?;
        Some((about.dev(), about.ino()))
    }

    /// A file that is gone is not one that could go on.
    fn was_replaced(&self) -> bool {
        Self::now().is_some_and(|now| self.at_start.is_some_and(|before| before != now))
    }
}
