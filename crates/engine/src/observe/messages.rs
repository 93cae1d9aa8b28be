//! Messages and how each of them ended. Nothing is recorded here.

use dogwatch_base::log::Logged as _;
use dogwatch_core::delivery::Outcome;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::message::PostedMessage;
use dogwatch_store::Message;
use jiff::Timestamp;

use crate::observe::status::StatusReader;
use crate::{Context, Error};

/// The messages to one session, or to all. A message that was not delivered before its session ended is shown as failed, whether or not
/// that is recorded yet.
pub fn list(
    context: &Context,
    target: Option<&str>,
    most: u32,
) -> Result<Vec<(Option<String>, Message)>, Error> {
    let mut reader = StatusReader::new(context)?;
    let now = Timestamp::now();
    let session =
        target.map(|target| reader.one(target, now).map(|one| one.seen.session.id)).transpose()?;
    let mut all = reader.store.messages(session.as_deref(), most)?;
    let is_open = |message: &Message| message.outcome.is_none() && message.staged.is_none();
    if all.iter().any(is_open) {
        let mut ids: Vec<SessionId> =
            all.iter().filter(|one| is_open(one)).map(|one| one.session.clone()).collect();
        ids.dedup();
        // Of a session that was removed nothing is known, and its messages stay as they are recorded.
        ids.retain(|id| matches!(reader.store.by_id(id), Ok(Some(_))));
        let ids: Vec<&str> = ids.iter().map(SessionId::as_str).collect();
        let statuses = reader.many(&ids, now)?;
        for message in all.iter_mut().filter(|message| is_open(message)) {
            let status = statuses.iter().find(|one| one.seen.session.id == message.session);
            let over = status.filter(|one| one.seen.life.state.is_over());
            if let Some(one) = over {
                message.outcome =
                    Some(Outcome::Failed { because: not_delivered(&one.seen.life.reason) });
            }
        }
    }
    let store = &reader.store;
    let name =
        |message: &Message| Some(store.by_id(&message.session).logged("read a session")??.name);
    Ok(all.into_iter().map(|message| (name(&message), message)).collect())
}

/// A message without its outcome, as it is printed.
pub fn posted(name: Option<&str>, message: &Message) -> PostedMessage {
    PostedMessage {
        id: message.id.clone(),
        session: message.session.clone(),
        name: name.map(ToOwned::to_owned),
        text: message.text.clone(),
        slash: message.slash,
        posted: message.posted,
        staged: message.staged,
        submitted: message.submitted,
        done: message.done,
    }
}

/// Why a message to a session that has ended failed.
pub(crate) fn not_delivered(reason: &str) -> String {
    format!("not delivered: the session ended: {reason}")
}
