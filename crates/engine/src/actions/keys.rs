//! Keys that others ask for: the supervisor alone presses them.
//!
//! A request is stored before a key is pressed, and its outcome after it. Whoever asks waits for the outcome; if it is killed, the request
//! is done all the same, unless it has become too old.

use std::time::{Duration, Instant};

use dogwatch_base::log::{Logged as _, decided};
use dogwatch_protocol::error::ErrorDetail;
use dogwatch_protocol::keys::{KeyOutcome, KeyRequest};
use dogwatch_store::{PostedKeys, Session, Store};
use jiff::{SignedDuration, Timestamp};

use super::{answer, interrupt};
use crate::error::{MessageError, SystemError};
use crate::observe::changes::{Changes, Interest};
use crate::{Context, Error, summon};

/// How long a request waits for the supervisor. An older one is not done any more: whoever asked has been told that it was not.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long keys may take. A dialog of thirty options that is slow takes longest.
const LONGEST: Duration = Duration::from_mins(3);
/// How often to make sure that there is a supervisor, should no event come.
const AGAIN: Duration = Duration::from_millis(500);

/// The id of a request that is new.
pub(super) fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// Has the supervisor press keys, and waits for what comes of it. What is known by this id is not done again.
pub(crate) fn ask(
    context: &Context,
    session: &Session,
    request: &KeyRequest,
    id: &str,
) -> Result<KeyOutcome, Error> {
    let mut store = context.store()?;
    context.state.news();
    let mut changes = Changes::new();
    changes.set([(Interest::File(context.state.news_of(&session.id)), ())].into());
    store.post_keys(id, &session.id, request, Timestamp::now())?;
    if let Err(error) = summon::ensure(context) {
        withdraw(&mut store, id, &error)?;
        return Err(error);
    }
    context.state.tell_news(&session.id);
    let since = Instant::now();
    loop {
        store.check_files()?;
        let posted = store.posted_keys(id)?.ok_or(MessageError::Cancelled)?;
        match posted.outcome {
            Some(KeyOutcome::Failed(detail)) => return Err(detail.into()),
            Some(outcome) => return Ok(outcome),
            None => {}
        }
        let too_late = || Error::from(MessageError::Busy { name: session.name.clone() });
        if since.elapsed() > PATIENCE && withdraw(&mut store, id, &too_late())? {
            return Err(too_late());
        }
        if since.elapsed() > LONGEST {
            return Err(SystemError::NoSupervisor.into());
        }
        if changes.wait(AGAIN).is_empty() {
            summon::ensure(context).logged("start the supervisor");
        }
    }
}

fn withdraw(store: &mut Store, id: &str, because: &Error) -> Result<bool, Error> {
    Ok(store.withdraw_keys(id, because.into(), Timestamp::now())?)
}

/// Whether whoever asked does not wait any more: then nothing is pressed.
pub(crate) fn is_too_old(posted: &PostedKeys, now: Timestamp) -> bool {
    let patience = SignedDuration::try_from(PATIENCE).unwrap_or_default();
    posted.begun.is_none() && now.duration_since(posted.posted) > patience
}

/// Does what was asked, in the supervisor and on a thread of its own: an agent may take seconds for each key.
pub(crate) fn perform(context: &Context, posted: &PostedKeys) -> Result<(), Error> {
    let outcome = match pressed(context, posted) {
        Ok(outcome) => outcome,
        Err(error) => KeyOutcome::Failed(ErrorDetail::from(&error)),
    };
    decided(format_args!("keys {} for {}: {outcome:?}", posted.id, posted.session));
    context.store()?.settle_keys(&posted.id, &outcome, Timestamp::now())?;
    Ok(())
}

/// Settles a request that is not to be done.
pub(crate) fn refuse(store: &mut Store, posted: &PostedKeys, because: &Error) -> Result<(), Error> {
    let outcome = KeyOutcome::Failed(because.into());
    decided(format_args!("keys {} for {}: {outcome:?}", posted.id, posted.session));
    Ok(store.settle_keys(&posted.id, &outcome, Timestamp::now())?)
}

fn pressed(context: &Context, posted: &PostedKeys) -> Result<KeyOutcome, Error> {
    match &posted.request {
        Some(KeyRequest::Answer { choice, dialog, by_agent }) => {
            #[cfg(debug_assertions)]
            crate::actions::send::deliver::die_of(choice);
            let dialog = dialog.as_deref();
            answer::press(context, posted, choice, dialog, *by_agent).map(KeyOutcome::Answered)
        }
        Some(KeyRequest::Interrupt) => {
            interrupt::press_posted(context, posted).map(KeyOutcome::Interrupted)
        }
        None => Err(MessageError::DamagedRequest.into()),
    }
}
