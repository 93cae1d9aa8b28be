//! Sending a message to an agent, with proof that it arrived.
//!
//! A message is kept before anything else is done. The supervisor delivers messages, one at a time for each session, in the order in which
//! they were posted; whoever posted one waits for what becomes of it.

pub(crate) mod deliver;
mod left;
mod observe;
pub mod queue;
pub(super) mod tmux_input;
mod wait;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::delivery::safe_text::{self, Change, SafeText};
use dogwatch_core::delivery::{Outcome, When};
use dogwatch_core::profile;
use dogwatch_core::record::ProcessIdent;
use dogwatch_core::usage::BudgetStanding;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::message;
use dogwatch_store::{Message, NOBODY, NewMessage, Session, Store};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use left::settle_left;

use crate::actions::limits::Guard;
use crate::error::{JobError, MessageError};
use crate::observe::messages::posted;
use crate::observe::status::StatusReader;
use crate::observe::{agents, processes, usage};
use crate::{Context, Error};

/// What is to be sent.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub target: &'a str,
    pub text: &'a str,
    /// A command of the agent's own, which is typed.
    pub slash: bool,
    pub when: When,
    /// How long to wait for the agent; without it, as long as it takes.
    pub timeout: Option<Duration>,
}

/// The outcome.
#[derive(Debug, Clone)]
pub struct Receipt {
    pub name: String,
    pub message: Message,
    pub outcome: Outcome,
    pub terms: Terms,
}

impl Receipt {
    /// As it is printed.
    pub fn report(&self) -> message::Receipt {
        message::Receipt {
            posted: posted(Some(&self.name), &self.message),
            outcome: self.outcome.clone(),
            changes: self.terms.changes.clone(),
        }
    }
}

/// What goes with a message, for whoever delivers it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Terms {
    pub when: When,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    #[serde(default)]
    pub changes: Vec<Change>,
    /// It continues a limited session, and only while that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
}

impl Terms {
    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).logged("write JSON").unwrap_or_default()
    }
}

/// Sends a message and waits for what becomes of it.
pub fn send(context: &Context, request: &Request<'_>) -> Result<Receipt, Error> {
    send_as(context, request, &new_id())
}

/// The id of a message that is new.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// Sends a message under an id of the caller's own. One that is known by that id is brought there from where it is, and not
/// sent again.
pub fn send_as(context: &Context, request: &Request<'_>, id: &str) -> Result<Receipt, Error> {
    send_unless(context, request, id, &AtomicBool::new(false))
}

/// The same for a caller that may cancel it meanwhile, on another thread: it sets the flag, then calls [`cancel`]. Either that finds the
/// message, or the flag is seen here.
pub fn send_unless(
    context: &Context,
    request: &Request<'_>,
    id: &str,
    is_cancelled: &AtomicBool,
) -> Result<Receipt, Error> {
    let mut reader = StatusReader::new(context)?;
    let now = Timestamp::now();
    let judged = reader.one(request.target, now)?;
    let session = judged.seen.session;
    let limit = request.timeout.and_then(|limit| SignedDuration::try_from(limit).ok());
    let until = limit.and_then(|limit| now.checked_add(limit).ok());
    if let Some(message) = reader.store.message(id)? {
        return go_on(context, &mut reader, session.name, message, until);
    }
    let draft = Draft::new(context, &session, request, until)?;
    let me = processes::myself()?;
    if is_cancelled.load(Ordering::SeqCst) {
        return Err(MessageError::Cancelled.into());
    }
    draft.post(&mut reader.store, id, me, now)?;
    if is_cancelled.load(Ordering::SeqCst) {
        reader.store.take_back(id, Timestamp::now())?;
    }
    let (message, outcome) = wait::outcome(context, &mut reader, &session.id, id, until)?;
    let terms = draft.terms;
    Ok(Receipt { name: session.name, message, outcome, terms })
}

/// A message that may be posted.
#[derive(Debug)]
struct Draft<'a> {
    session: &'a SessionId,
    text: String,
    slash: bool,
    terms: Terms,
}

impl<'a> Draft<'a> {
    fn new(
        context: &Context,
        session: &'a Session,
        request: &Request<'_>,
        until: Option<Timestamp>,
    ) -> Result<Self, Error> {
        let SafeText { text, changes } = checked(context, session, request)?;
        let terms = Terms { when: request.when, until, changes, guard: None };
        Ok(Self { session: &session.id, text, slash: request.slash, terms })
    }

    fn post(
        &self,
        store: &mut Store,
        id: &str,
        sender: ProcessIdent,
        posted: Timestamp,
    ) -> Result<(), Error> {
        let Self { session, text, slash, terms } = self;
        let terms = terms.to_json();
        let (slash, terms) = (*slash, &terms);
        Ok(store.post(&NewMessage { id, session, text, slash, terms, sender, posted })?)
    }
}

/// Posts a message that no process waits for, unless one is known by this id.
pub(crate) fn post(
    context: &Context,
    store: &mut Store,
    session: &Session,
    request: &Request<'_>,
    id: &str,
) -> Result<(), Error> {
    if let Some(known) = store.message(id)? {
        let is_same = known.session == session.id && known.slash == request.slash;
        // What is stored is the text without what would act on the agent.
        let is_same = is_same && checked(context, session, request)?.text == known.text;
        return if is_same {
            Ok(())
        } else {
            Err(JobError::KeyReused { id: id.to_owned() }.into())
        };
    }
    Draft::new(context, session, request, None)?.post(store, id, NOBODY, Timestamp::now())
}

/// The budget that holds this session.
fn holding(context: &Context, session: &Session) -> Option<BudgetStanding> {
    let store = context.store().logged("open the database")?;
    usage::holding(context, &store, session)
}

/// The text as it can be put into this agent's box.
pub(crate) fn checked(
    context: &Context,
    session: &Session,
    request: &Request<'_>,
) -> Result<SafeText, Error> {
    if session.agent == profile::COMMAND {
        return Err(MessageError::PlainCommand { name: session.name.clone() }.into());
    }
    // A command of the agent's own, such as the one that ends it, uses no tokens.
    let holding = if request.slash { None } else { holding(context, session) };
    if let Some(budget) = holding {
        let (used, limit) = (budget.used_words, budget.limit_words);
        return Err(MessageError::Held { name: session.name.clone(), used, limit }.into());
    }
    let rules = agents::profile(context, &session.agent)?.input;
    let text = if request.slash {
        safe_text::slash(request.text)
    } else {
        safe_text::message(request.text, &rules)
    };
    Ok(text.map_err(MessageError::from)?)
}

/// Sends a message, unless the very same was sent since then: one that arrived is not sent again, and one that is on its way is
/// brought there. For senders that may be cut short and begin anew.
pub fn send_once(
    context: &Context,
    request: &Request<'_>,
    since: Timestamp,
) -> Result<Receipt, Error> {
    let mut reader = StatusReader::new(context)?;
    let session = reader.one(request.target, Timestamp::now())?.seen.session;
    let before = reader.store.message_like(&session.id, request.text, since)?;
    let Some(message) = before else { return send(context, request) };
    match &message.outcome {
        None | Some(Outcome::Delivered { .. }) => {
            let until = queue::terms(&message).until;
            go_on(context, &mut reader, session.name, message, until)
        }
        Some(_) => send(context, request),
    }
}

/// Waits for a message that was posted before.
fn go_on(
    context: &Context,
    reader: &mut StatusReader<'_>,
    name: String,
    message: Message,
    until: Option<Timestamp>,
) -> Result<Receipt, Error> {
    let terms = queue::terms(&message);
    let (message, outcome) = if let Some(outcome) = message.outcome.clone() {
        (message, outcome)
    } else {
        // Whoever waits already goes on waiting, and for as long as it said.
        if !processes::is_alive(message.sender) {
            reader.store.await_message(&message.id, processes::myself()?, until)?;
        }
        wait::outcome(context, reader, &message.session, &message.id, until)?
    };
    Ok(Receipt { name, message, outcome, terms })
}

/// Takes a message back that was not put into the agent's box yet.
pub fn cancel(context: &Context, id: &str) -> Result<Message, Error> {
    let mut store = context.store()?;
    let message = store
        .message(id)?
        .ok_or_else(|| Error::Message(MessageError::NoSuchMessage { id: id.to_owned() }))?;
    if !store.take_back(id, Timestamp::now())? {
        return Err(MessageError::TooLate { id: id.to_owned() }.into());
    }
    context.state.tell_news(&message.session);
    Ok(message)
}
