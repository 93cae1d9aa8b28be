//! Cutting an agent's turn short.

use dogwatch_core::status::Status;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::keys::{Interrupted, KeyOutcome, KeyRequest};
use dogwatch_store::{PostedKeys, Session};
use jiff::Timestamp;

use crate::actions::keys;
use crate::actions::send::tmux_input;
use crate::error::MessageError;
use crate::observe::agents;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::{Context, Error};

/// Has the supervisor press the keys that cut a session's turn short, once.
pub(crate) fn ask(context: &Context, session: &Session) -> Result<Interrupted, Error> {
    match keys::ask(context, session, &KeyRequest::Interrupt, &keys::new_id())? {
        KeyOutcome::Interrupted(done) => Ok(done),
        _ => Err(MessageError::DamagedRequest.into()),
    }
}

/// Presses them for a request that was posted. After a supervisor that was killed they are not pressed once more: twice means something
/// else to some agents.
pub(super) fn press_posted(context: &Context, posted: &PostedKeys) -> Result<Interrupted, Error> {
    if posted.begun.is_some() {
        return Ok(Interrupted::Pressed);
    }
    let mut reader = StatusReader::new(context)?;
    if !reader.store.begin_keys(&posted.id, None, Timestamp::now())? {
        return Err(MessageError::Cancelled.into());
    }
    press(context, &mut reader, &posted.session)
}

/// Presses the keys that cut a session's turn short, once.
pub(crate) fn press(
    context: &Context,
    reader: &mut StatusReader<'_>,
    session: &SessionId,
) -> Result<Interrupted, Error> {
    let judged = reader.one(session, Timestamp::now())?;
    let session = &judged.seen.session;
    if matches!(judged.verdict.status, Status::Waiting { .. }) {
        return Ok(Interrupted::Dialog);
    }
    let Some(pane) = judged.seen.pane_id().filter(|_| is_at_it(&judged)) else {
        return Ok(Interrupted::NotWorking);
    };
    let keys = agents::profile(context, &session.agent)?.interrupt;
    if keys.is_empty() {
        return Ok(Interrupted::NoKeys);
    }
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    tmux_input::press(&context.tmux, pane, &keys)?;
    Ok(Interrupted::Pressed)
}

fn is_at_it(judged: &SessionStatus) -> bool {
    matches!(judged.verdict.status, Status::Working { .. } | Status::Stuck { .. })
}
