//! The process that a session's runner starts when there is something to follow (`dogwatch deliver`): it delivers messages that their
//! senders no longer wait for, records how the session's jobs go on, notifies of their end, tells the session of work that it gave to
//! others, and continues it after a usage limit or interrupts a loop if that was asked for. It ends when nothing is left to do.

use std::time::Duration;

use jiff::Timestamp;

use crate::actions::send::deliverer;
use crate::actions::{callback, job, limits, looping};
use crate::error::SessionError;
use crate::observe::changes::{Changes, Interest};
use crate::observe::status::StatusReader;
use crate::{Context, Error};

/// How often to look for what no event announces: a screen that changed by itself, a turn that ended without a word.
const INTERVAL: Duration = Duration::from_secs(3);
/// The same where only a limit may come. Also how soon a clock that was set, or a machine that slept, is noticed: the kernel counts
/// no time while it sleeps.
const LONG_INTERVAL: Duration = Duration::from_secs(30);
/// A working agent has news all the time.
const PAUSE: Duration = Duration::from_millis(500);

/// Works for one session until no message waits, no job is open, no callback is open, and no limit may come.
pub fn run(context: &Context, session: &str) -> Result<(), Error> {
    context.state.news();
    let mut changes = Changes::new();
    let mut reader = StatusReader::new(context)?;
    loop {
        let is_held = deliverer::deliver_waiting(context, &mut reader, session)?;
        let status = reader.one(session, Timestamp::now());
        let next = match &status {
            Ok(status) => limits::step(context, &mut reader, status, Timestamp::now())?,
            Err(Error::Session(SessionError::NoSuchSession { .. })) => limits::Next::default(),
            // It may be there again in a moment.
            Err(_) => limits::Next { watching: true, look_at: None },
        };
        let watches_loops = match &status {
            Ok(status) => looping::step(context, &mut reader, status, Timestamp::now())?,
            Err(_) => false,
        };
        // Other sessions, whose work this one waits for.
        let callbacks = callback::attend(context, &mut reader, session)?;
        let mut interests = status
            .map(|status| reader.interests(std::slice::from_ref(&status)))
            .unwrap_or_default();
        let news = Interest::File(context.state.news_of(session));
        interests.insert((news, session.into()));
        let has_jobs = reader.store.open_jobs()?.iter().any(|job| job.session == session);
        if !has_jobs {
            // Of a limit the agent tells, or its screen stays as it is.
            interests.retain(|(interest, _)| !matches!(interest, Interest::Terminal(_)));
        }
        interests.extend(callbacks.interests);
        changes.set(interests);
        // After the watch is set: what happened before is seen now, what comes later wakes us.
        let is_any_open = job::settle_open(context, &mut reader, session)? || callbacks.is_open;
        if !is_held && reader.store.next_message(session)?.is_some() {
            continue;
        }
        if !is_any_open && !next.watching && !watches_loops && !is_held {
            return Ok(());
        }
        reader.store.check_files()?;
        let wait = if is_any_open { INTERVAL } else { LONG_INTERVAL };
        let left = next.look_at.map(|at| at.duration_since(Timestamp::now()));
        let left = left.map_or(wait, |left| Duration::try_from(left).unwrap_or_default());
        changes.wait(wait.min(left));
        if !is_any_open && !left.is_zero() {
            // sleep: look at a working agent at most twice a second
            std::thread::sleep(PAUSE);
        }
    }
}
