//! `--notify-me`: an agent that gives work to another one gets a message when that is done, failed, waits or is limited.
//!
//! The supervisor does all of it: it watches the workers, records each event once, and posts one message with all that happened when the
//! subscriber is at its prompt. It is delivered like any other message: never into a dialog, never beside a draft.

use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::callback::{self, Next, Work};
use dogwatch_core::delivery::{When, safe_text};
use dogwatch_core::profile;
use dogwatch_protocol::id::SessionId;
use dogwatch_store::{Callback, NOBODY, NewCallback, NewMessage};
use jiff::Timestamp;

use crate::actions::send::{self, Terms};
use crate::actions::{job, limits};
use crate::error::{MessageError, SessionError};
use crate::observe::agents;
use crate::observe::jobs::recorded;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::{Context, Error, summon};

/// Events close together are one message: how long after the last event, and at most how long after the first, in milliseconds.
const QUIET: i64 = 1_500;
const AT_MOST: i64 = 10_000;

/// How long a caller that is notified later waits for the agent, unless it says otherwise. Shells of agents end commands after a minute or
/// two, and a working agent may take longer.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// The session that gets the messages: the caller's own.
#[derive(Debug, Clone)]
pub struct Subscriber(SessionId);

impl Subscriber {
    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Finds the caller's own session, before any work is given away: a caller that cannot get messages is an error.
pub fn subscriber(context: &Context) -> Result<Subscriber, Error> {
    let none = || Error::Message(MessageError::NoOwnSession);
    let id = context.caller.session.as_deref().ok_or_else(none)?;
    let session = context.store()?.by_id(id)?.ok_or_else(none)?;
    if session.agent == profile::COMMAND {
        return Err(MessageError::PlainCommand { name: session.name }.into());
    }
    Ok(Subscriber(session.id))
}

/// From now on the subscriber gets messages about this work: a job, or the first turn of a session.
pub fn subscribe(
    context: &Context,
    subscriber: &Subscriber,
    session: &str,
    job: Option<&str>,
) -> Result<(), Error> {
    let new = NewCallback { subscriber: subscriber.as_str(), session, job, at: Timestamp::now() };
    context.store()?.add_callback(&new)?;
    summon::poke(context, subscriber.as_str());
    Ok(())
}

/// Sessions as they were judged last, by their ids.
pub(crate) type Judged<'a> = &'a dyn Fn(&str) -> Option<SessionStatus>;

/// Records what the workers of a session do, and posts a message if the subscriber can take one. Whether there is still something to wait
/// for.
pub(crate) fn attend(
    context: &Context,
    reader: &mut StatusReader<'_>,
    subscriber: &str,
    judged: Judged<'_>,
) -> Result<bool, Error> {
    for one in reader.store.callbacks(subscriber)? {
        let status = match judged(&one.session) {
            Some(status) => Some(status),
            // It has left the lists, or was removed.
            None => match reader.one(&one.session, Timestamp::now()) {
                Ok(status) => Some(status),
                Err(Error::Session(
                    SessionError::NoSuchSession { .. } | SessionError::NotOurs { .. },
                )) => None,
                Err(error) => return Err(error),
            },
        };
        record(context, reader, &one, status.as_ref())?;
    }
    let is_open = !reader.store.callbacks(subscriber)?.is_empty();
    let news = reader.store.callback_news(subscriber)?;
    let (Some(first), Some(last)) = (news.first(), news.last()) else { return Ok(is_open) };
    let now = Timestamp::now();
    let since = |at: Timestamp| now.as_millisecond() - at.as_millisecond();
    let is_time = since(last.at) >= QUIET || since(first.at) >= AT_MOST;
    let status = match judged(subscriber) {
        Some(status) => status,
        None => reader.one(subscriber, now)?,
    };
    if status.verdict.status.is_over() {
        reader.store.drop_callbacks(subscriber, now)?;
        return Ok(false);
    }
    // dogwatch waits for the limit: all events until then are one message.
    if !is_time || !callback::is_ready(&status.verdict) || limits::is_held(reader, &status, now)? {
        return Ok(true);
    }
    let texts: Vec<String> = news.iter().map(|one| one.text.clone()).collect();
    let rules = agents::profile(context, &status.seen.session.agent)?.input;
    let safe =
        safe_text::message(&callback::message(&texts), &rules).map_err(MessageError::from)?;
    let terms = Terms { when: When::Idle, until: None, changes: safe.changes, guard: None };
    let message = NewMessage {
        id: &send::new_id(),
        session: subscriber,
        text: &safe.text,
        slash: false,
        terms: &terms.to_json(),
        sender: NOBODY,
        posted: now,
    };
    let numbers: Vec<i64> = news.iter().map(|one| one.number).collect();
    reader.store.post_callback_news(&message, &numbers)?;
    context.state.tell_news(subscriber);
    Ok(true)
}

fn record(
    context: &Context,
    reader: &mut StatusReader<'_>,
    one: &Callback,
    status: Option<&SessionStatus>,
) -> Result<(), Error> {
    let now = Timestamp::now();
    let job = match &one.job {
        Some(id) => match recorded(reader, id) {
            Ok(job) => Some(job::settle(context, reader, job)?),
            // It was removed with its session.
            Err(Error::Job(_)) => None,
            Err(error) => return Err(error),
        },
        None => None,
    };
    let work = job.as_ref().map_or(Work::Turn, |job| Work::Job { id: &job.id, state: &job.state });
    let known = status.map(|status| status.seen.session.name.clone());
    let kept = reader.store.by_id(&one.session)?.map(|session| session.name);
    let name = known.or(kept).unwrap_or_else(|| one.session.to_string());
    let held = status
        .and_then(|status| status.verdict.since)
        .map_or(0, |since| now.as_second() - since.max(one.created).as_second());
    let unreported = status.and_then(|status| unreported(reader, status));
    let verdict = status.map(|status| &status.verdict);
    match callback::next(&name, work, verdict, held, one.told.as_deref(), unreported.as_deref()) {
        Next::Nothing => {}
        Next::Forget => reader.store.forget_told(one.number)?,
        Next::Tell { key, text, is_end } => {
            reader.store.tell_callback(one.number, &key, &text, is_end, now)?;
        }
    }
    Ok(())
}

/// The task of a team that the worker holds and has not reported.
fn unreported(reader: &StatusReader<'_>, status: &SessionStatus) -> Option<String> {
    let session = &status.seen.session;
    let task = reader
        .store
        .claimed_by(session.pane.as_deref()?, session.server?)
        .logged("read claims")??;
    Some(format!("TASK-{task:03}"))
}
