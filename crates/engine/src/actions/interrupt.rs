use dogwatch_core::status::Status;
use jiff::Timestamp;

use crate::actions::send::{queue, tmux_input};
use crate::error::MessageError;
use crate::observe::agents;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::{Context, Error};

/// What came of pressing the keys that interrupt a turn.
pub(crate) enum Pressed {
    Keys,
    /// No turn is running, as far as can be seen.
    NotAtIt,
    /// A dialog is open: a key could answer it.
    Dialog {
        name: String,
    },
    /// How this agent is interrupted is not known.
    NoKeys {
        agent: String,
    },
}

/// Presses the keys that cut a session's turn short, once.
pub(crate) fn press(
    context: &Context,
    reader: &mut StatusReader<'_>,
    session: &str,
) -> Result<Pressed, Error> {
    let mut judged = reader.one(session, Timestamp::now())?;
    let mut typing = None;
    if is_at_it(&judged) {
        let session = &judged.seen.session;
        typing = queue::lock(context, &session.id)?;
        if typing.is_none() {
            return Err(MessageError::Busy { name: session.name.clone() }.into());
        }
        // Again, now that no other process types: a dialog may have come up.
        judged = reader.one(&session.id.clone(), Timestamp::now())?;
    }
    let session = &judged.seen.session;
    if matches!(judged.verdict.status, Status::Waiting { .. }) {
        return Ok(Pressed::Dialog { name: session.name.clone() });
    }
    let Some(pane) = judged.seen.pane_id().filter(|_| typing.is_some() && is_at_it(&judged)) else {
        return Ok(Pressed::NotAtIt);
    };
    let keys = agents::profile(context, &session.agent)?.interrupt;
    if keys.is_empty() {
        return Ok(Pressed::NoKeys { agent: session.agent.clone() });
    }
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    tmux_input::press(&context.tmux, pane, &keys)?;
    Ok(Pressed::Keys)
}

fn is_at_it(judged: &SessionStatus) -> bool {
    matches!(judged.verdict.status, Status::Working { .. } | Status::Stuck { .. })
}
