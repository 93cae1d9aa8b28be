//! One sender at a time for each session, and each in its turn.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use dogwatch_core::delivery::{Outcome, When};
use dogwatch_core::record::ProcessIdent;
use dogwatch_store::Message;
use jiff::Timestamp;

use super::Terms;
use super::deliver::{self, Pace};
use crate::actions::send::deliverer;
use crate::observe::changes::{Changes, Interest};
use crate::observe::processes;
use crate::observe::status::StatusReader;
use crate::{Context, Error};

/// Who is before us tells when it is done; a killed one does not.
const AGAIN: Duration = Duration::from_millis(500);

/// Delivers what is before our message if no other process does, then ours. If that fails, the session's courier tries again: this
/// process may live on for hours, and messages of a living sender are left to it.
pub(super) fn take(
    context: &Context,
    reader: &mut StatusReader<'_>,
    session: &str,
    ours: &str,
    me: ProcessIdent,
    until: Option<Timestamp>,
) -> Result<Outcome, Error> {
    let taken = take_in_turn(context, reader, session, ours, me, until);
    if taken.is_err() {
        deliverer::hand_over(context, reader, session, ours, me);
    }
    taken
}

fn take_in_turn(
    context: &Context,
    reader: &mut StatusReader<'_>,
    session: &str,
    ours: &str,
    me: ProcessIdent,
    until: Option<Timestamp>,
) -> Result<Outcome, Error> {
    context.state.news();
    let mut changes = Changes::new();
    changes.set([(Interest::File(context.state.news_of(session)), ())].into());
    loop {
        let kept = reader.store.message(ours)?;
        if let Some(Message { outcome: Some(outcome), .. }) = kept {
            return Ok(outcome);
        }
        match reader.store.next_message(session)? {
            Some(message) if message.id == ours => {
                return bring(context, reader, &message, me, until);
            }
            // Its sender is gone, or its time was over, and its turn is before ours.
            Some(message) if !processes::is_alive(message.sender) => {
                if reader.store.take_over(&message.id, message.sender, me)? {
                    let brought = bring(context, reader, &message, me, until);
                    if brought.is_err() {
                        deliverer::hand_over(context, reader, session, &message.id, me);
                    }
                    let outcome = brought?;
                    if matches!(outcome, Outcome::Queued { .. }) {
                        let because = "an earlier message is still queued";
                        return queued(reader, ours, me, because);
                    }
                }
            }
            _ => {
                reader.store.check_files()?;
                changes.wait(AGAIN);
            }
        }
        if until.is_some_and(|until| Timestamp::now() >= until) {
            let because = "earlier messages are not delivered yet";
            return queued(reader, ours, me, because);
        }
    }
}

fn bring(
    context: &Context,
    reader: &mut StatusReader<'_>,
    message: &Message,
    me: ProcessIdent,
    until: Option<Timestamp>,
) -> Result<Outcome, Error> {
    let outcome = deliver::deliver(context, reader, message, until, Pace::Quick)?;
    deliverer::give_up(reader, &message.id, me, &outcome)?;
    context.state.tell_news(&message.session);
    Ok(outcome)
}

fn queued(
    reader: &mut StatusReader<'_>,
    ours: &str,
    me: ProcessIdent,
    because: &str,
) -> Result<Outcome, Error> {
    let kept = reader.store.message(ours)?.and_then(|message| message.outcome);
    let outcome = kept.unwrap_or_else(|| Outcome::Queued { because: because.to_owned() });
    deliverer::give_up(reader, ours, me, &outcome)?;
    Ok(outcome)
}

/// The terms for those who only show them. Whoever delivers asks [`damage`] first.
pub(crate) fn terms(message: &Message) -> Terms {
    let unknown = Terms { when: When::Idle, until: None, changes: Vec::new(), guard: None };
    serde_json::from_value(message.terms.clone()).unwrap_or(unknown)
}

/// Why the terms of a message cannot be read. It is not delivered then: what it must wait for, or be guarded by, is not known.
pub(super) fn damage(message: &Message) -> Option<String> {
    let read: Result<Terms, _> = serde_json::from_value(message.terms.clone());
    read.err().map(|error| {
        format!("its stored terms are damaged, or of a newer version ({error}); send it again")
    })
}

/// The right to type into a session; `None` while another process has it.
pub fn lock(context: &Context, session: &str) -> Result<Option<File>, Error> {
    let path = context.state.typing_lock(session)?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = file.map_err(Error::io(format!("open {}", path.display())))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => {
            Err(Error::io(format!("lock {}", path.display()))(error))
        }
    }
}
