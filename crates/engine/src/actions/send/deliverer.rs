//! Messages that their senders no longer wait for.
//!
//! A signal reports them to the session's runner, which starts `dogwatch deliver` (`actions::courier`) for as long as there are any: the
//! runner stays as small as it is, and nothing runs for a session without messages.

use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::delivery::Outcome;
use dogwatch_core::record::ProcessIdent;
use jiff::Timestamp;
use rustix::process::Signal;

use super::deliver::{self, Pace};
use crate::actions::callback;
use crate::actions::limits;
use crate::observe::messages::not_delivered;
use crate::observe::processes;
use crate::observe::snapshot;
use crate::observe::snapshot::SessionSnapshot;
use crate::observe::status::StatusReader;
use crate::{Context, Error};

/// Ignored by whoever does not know it, as runners of before do not.
pub(crate) const MAIL: Signal = Signal::URG;
/// In case no event reports the end of another sender.
const AGAIN: Duration = Duration::from_secs(3);
/// The sender of a message that no process delivers.
const NOBODY: ProcessIdent = ProcessIdent { pid: 0, start: 0 };

/// Tells the session's runner, if there is one, that a message waits.
pub(crate) fn tell_runner(seen: &SessionSnapshot) {
    if let Some(runner) = seen.living_runner() {
        processes::signal(runner.pid, MAIL);
    }
}

/// Gives up a message when we stop waiting for it, so that the runner may deliver it although we live on.
pub(super) fn give_up(
    reader: &mut StatusReader<'_>,
    id: &str,
    me: ProcessIdent,
    outcome: &Outcome,
) -> Result<(), Error> {
    if matches!(outcome, Outcome::Queued { .. }) {
        reader.store.take_over(id, me, NOBODY)?;
    }
    Ok(())
}

/// Leaves a message whose delivery failed to the session's runner.
pub(super) fn hand_over(
    context: &Context,
    reader: &mut StatusReader<'_>,
    session: &str,
    id: &str,
    me: ProcessIdent,
) {
    reader.store.take_over(id, me, NOBODY).logged("hand a message over");
    context.state.tell_news(session);
    if let Some(seen) = snapshot::find(context, session).logged("find a session") {
        tell_runner(&seen);
    }
}

/// Delivers a session's messages that no other process delivers, each when its moment comes. True if the rest is held back by a limit.
pub(crate) fn deliver_waiting(
    context: &Context,
    reader: &mut StatusReader<'_>,
    session: &str,
) -> Result<bool, Error> {
    let me = processes::myself()?;
    while let Some(message) = reader.store.next_message(session)? {
        if message.sender != me && processes::is_alive(message.sender) {
            reader.store.check_files()?;
            processes::wait_gone(message.sender, AGAIN);
            continue;
        }
        if !reader.store.take_over(&message.id, message.sender, me)? {
            continue;
        }
        let outcome = deliver::deliver(context, reader, &message, None, Pace::Slow)?;
        if matches!(outcome, Outcome::Queued { .. }) {
            return Ok(true);
        }
        context.state.tell_news(session);
    }
    Ok(false)
}

/// Records of messages to sessions that have ended that they were not delivered, and has the runners of the others deliver theirs: for
/// those that a killed process left behind.
pub fn look_after(context: &Context) -> Result<(), Error> {
    callback::look_after(context)?;
    let mut store = context.store()?;
    for session in store.awaited()? {
        let Some(seen) = snapshot::find(context, &session).logged("find a session") else {
            continue;
        };
        if seen.life.state.is_over() {
            let because = not_delivered(&seen.life.reason);
            store.settle_unsent(&session, &because, Timestamp::now())?;
        } else {
            tell_runner(&seen);
        }
    }
    limits::look_after(context)
}
