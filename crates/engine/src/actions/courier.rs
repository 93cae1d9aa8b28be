//! The process that a session's runner starts when there is something to follow (`dogwatch deliver`): it delivers messages that their
//! senders no longer wait for, records how the session's jobs go on, and notifies of their end. It ends when nothing is left to do.

use std::time::Duration;

use jiff::Timestamp;

use crate::actions::job;
use crate::actions::send::deliverer;
use crate::observe::changes::{Changes, Interest};
use crate::observe::status::StatusReader;
use crate::{Context, Error};

/// How often to look for what no event announces: a screen that changed by itself, a turn that ended without a word.
const INTERVAL: Duration = Duration::from_secs(3);

/// Works for one session until no message waits and no job is open.
pub fn run(context: &Context, session: &str) -> Result<(), Error> {
    context.state.news();
    let mut changes = Changes::new();
    let mut reader = StatusReader::new(context)?;
    loop {
        deliverer::deliver_waiting(context, &mut reader, session)?;
        let status = reader.one(session, Timestamp::now());
        let mut interests = status
            .map(|status| reader.interests(std::slice::from_ref(&status)))
            .unwrap_or_default();
        let news = Interest::File(context.state.news_of(session));
        interests.insert((news, session.into()));
        changes.set(interests);
        // After the watch is set: what happened before is seen now, what comes later wakes us.
        let is_any_open = job::settle_open(context, &mut reader, session)?;
        if reader.store.next_message(session)?.is_some() {
            continue;
        }
        if !is_any_open {
            return Ok(());
        }
        reader.store.check_files()?;
        changes.wait(INTERVAL);
    }
}
