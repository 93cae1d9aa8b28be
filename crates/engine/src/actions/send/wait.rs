//! Waiting for what becomes of a message that was posted.

use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::delivery::{Outcome, Phase};
use dogwatch_store::{Message, NOBODY};
use jiff::{SignedDuration, Timestamp};

use crate::error::MessageError;
use crate::observe::changes::{Changes, Interest};
use crate::observe::processes;
use crate::observe::status::StatusReader;
use crate::{Context, Error, summon};

/// How often to make sure that there is a supervisor, should no event come.
const AGAIN: Duration = Duration::from_millis(500);
/// How long after the end of its patience a sender waits for the supervisor to say why.
const GRACE: SignedDuration = SignedDuration::from_secs(10);
/// How long an agent may take to read and confirm what is in its box.
const UNDER_WAY: SignedDuration = SignedDuration::from_mins(3);

/// The message as it is when it is settled, or when nobody is to wait for it any more.
pub(super) fn outcome(
    context: &Context,
    reader: &mut StatusReader<'_>,
    session: &str,
    id: &str,
    until: Option<Timestamp>,
) -> Result<(Message, Outcome), Error> {
    let me = processes::myself()?;
    context.state.news();
    let mut changes = Changes::new();
    changes.set([(Interest::File(context.state.news_of(session)), ())].into());
    // After the watch is set: an answer that comes at once is not missed.
    if let Err(error) = summon::ensure(context) {
        // Nobody delivers it now, and its sender is told so.
        reader.store.take_back(id, Timestamp::now()).logged("take a message back");
        return Err(error);
    }
    context.state.tell_news(session);
    loop {
        let message = reader.store.message(id);
        if !matches!(message, Ok(Some(_))) {
            // A database that is not the one it was posted to anymore says nothing about the message.
            reader.store.check_files()?;
        }
        let message = message?.ok_or_else(|| MessageError::NoSuchMessage { id: id.to_owned() })?;
        if let Some(outcome) = message.outcome.clone() {
            return Ok((message, outcome));
        }
        if message.sender == NOBODY {
            let because = message.held.clone().unwrap_or_else(|| "it waits".to_owned());
            return Ok((message, Outcome::Queued { because }));
        }
        let now = Timestamp::now();
        // Who waits is told why by the supervisor, unless that hangs or another process waits too. What is in the box is on its way.
        let grace = match (message.phase, message.sender == me) {
            (Phase::Before, true) => GRACE,
            (Phase::Before, false) => SignedDuration::ZERO,
            _ => UNDER_WAY,
        };
        let is_late = until.is_some_and(|until| now.duration_since(until) > grace);
        if is_late {
            reader.store.leave(id, me)?;
            let because = message.held.clone();
            let because = because.unwrap_or_else(|| "the supervisor has not looked yet".to_owned());
            return Ok((message, Outcome::Queued { because }));
        }
        reader.store.check_files()?;
        if changes.wait(AGAIN).is_empty() {
            summon::ensure(context).logged("start the supervisor");
        }
    }
}
