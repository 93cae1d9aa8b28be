//! Jobs: a prompt for a session, delivered with proof and followed to its end by evidence.
//!
//! No process need wait. The supervisor records how a job goes on and notifies; so does `job wait`. Reading (`job ls`, `status`) shows the same from the evidence and records nothing.

mod cancel;
mod settle;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::delivery::When;
use dogwatch_core::job::JobState;
use dogwatch_store::{Job, NewJob};
use jiff::Timestamp;

pub use cancel::cancel;
pub(super) use settle::settle;
pub use settle::{settle_of, tell_of};

use crate::actions::callback::{self, Subscriber};
use crate::actions::send;
use crate::error::{JobError, MessageError, SessionError};
use crate::observe::changes::{Changes, Interest};
use crate::observe::jobs::recorded;
use crate::observe::status::StatusReader;
use crate::{Context, Error, summon};

/// How often to check for what causes no event.
const OWN_PACE: Duration = Duration::from_secs(1);

/// A job that was submitted.
#[derive(Debug, Clone)]
pub struct Submitted {
    pub job: Job,
    /// Why its prompt is not on its way. It is kept, and `wait` tries again.
    pub trouble: Option<String>,
}

/// Files a job and brings its prompt to the agent, waiting for the agent at most so long.
pub fn submit(
    context: &Context,
    target: &str,
    prompt: &str,
    timeout: Option<Duration>,
) -> Result<Submitted, Error> {
    submit_for(context, target, prompt, timeout, None)
}

/// The same for a subscriber, which gets a message at its end.
pub fn submit_for(
    context: &Context,
    target: &str,
    prompt: &str,
    timeout: Option<Duration>,
    subscriber: Option<&Subscriber>,
) -> Result<Submitted, Error> {
    let job = file(context, target, prompt)?;
    if let Some(subscriber) = subscriber {
        callback::subscribe(context, subscriber, &job.session, Some(&job.id))?;
    }
    let trouble = bring(context, &job, timeout).err().map(|error| error.to_string());
    Ok(Submitted { job: settled(context, &job.id)?, trouble })
}

/// Sends a message under an id of the caller's own, unless the caller cancels it (see [`send::send_unless`]).
/// Its effect is tracked like a job: the subscriber gets a message at its end.
pub fn send_tracked(
    context: &Context,
    request: &send::Request<'_>,
    id: &str,
    subscriber: &Subscriber,
    is_cancelled: &AtomicBool,
) -> Result<send::Receipt, Error> {
    let (job, _) = file_as(context, request.target, request.text, |_| id.to_owned())?;
    callback::subscribe(context, subscriber, &job.session, Some(&job.id))?;
    let sent = send::send_unless(context, request, &job.id, is_cancelled);
    if let Err(Error::Message(MessageError::Cancelled)) = &sent {
        // It was filed before: there is nothing to wait for.
        cancel(context, &job.id, "its sender").logged("cancel a job");
    }
    sent
}

/// Files a job without bringing it anywhere yet: for those who must write its id down first.
pub fn file(context: &Context, target: &str, prompt: &str) -> Result<Job, Error> {
    let id = |_: &str| uuid::Uuid::now_v7().to_string();
    file_as(context, target, prompt, id).map(|(job, _)| job)
}

/// Submits a job under an id that the caller derives from the session's id: submitted again, it is the same job, and its prompt is not
/// sent again. Whether it is new is returned too. A caller that was killed in between repeats the call, and nothing is lost.
pub fn submit_once(
    context: &Context,
    target: &str,
    prompt: &str,
    id: impl Fn(&str) -> String,
    timeout: Duration,
    subscriber: Option<&Subscriber>,
) -> Result<(Submitted, bool), Error> {
    let (job, is_new) = file_as(context, target, prompt, id)?;
    // Also of a repeated call: the first one may have been killed before this.
    if let Some(subscriber) = subscriber {
        callback::subscribe(context, subscriber, &job.session, Some(&job.id))?;
    }
    let is_posted = context.store()?.message(&job.id)?.is_some();
    let trouble = if job.state.is_over() || is_posted {
        None
    } else {
        bring(context, &job, Some(timeout)).err().map(|error| error.to_string())
    };
    Ok((Submitted { job: settled(context, &job.id)?, trouble }, is_new))
}

fn file_as(
    context: &Context,
    target: &str,
    prompt: &str,
    id: impl Fn(&str) -> String,
) -> Result<(Job, bool), Error> {
    let mut reader = StatusReader::new(context)?;
    let now = Timestamp::now();
    let judged = reader.one(target, now)?;
    let session = &judged.seen.session;
    let id = id(&session.id);
    if let Some(job) = reader.store.job(&id)? {
        if job.prompt != prompt {
            return Err(JobError::KeyReused { id }.into());
        }
        return Ok((job, false));
    }
    if judged.verdict.status.is_over() {
        let (name, reason) = (session.name.clone(), judged.seen.life.reason.clone());
        return Err(SessionError::IsOver { name, reason }.into());
    }
    // Whatever would be refused is refused before anything is kept.
    send::checked(context, session, &request(target, prompt, None))?;
    reader.store.submit_job(&NewJob { id: &id, session: &session.id, prompt, at: now })?;
    // The supervisor follows the job whether or not the submitter stays.
    summon::poke(context, &session.id);
    let job = reader.store.job(&id)?.ok_or(Error::Job(JobError::NoSuchJob { target: id }))?;
    Ok((job, true))
}

/// The job meant by an id or its first eight letters, recorded as far as it has come.
pub fn settled(context: &Context, target: &str) -> Result<Job, Error> {
    let mut reader = StatusReader::new(context)?;
    let job = recorded(&reader, target)?;
    settle(context, &mut reader, job)
}

/// Settles the open jobs of one session; whether any is still open.
pub(crate) fn settle_open(
    context: &Context,
    reader: &mut StatusReader<'_>,
    session: &str,
) -> Result<bool, Error> {
    let mut is_any_open = false;
    for job in reader.store.open_jobs()? {
        if job.session == session {
            is_any_open |= !settle(context, reader, job)?.state.is_over();
        }
    }
    Ok(is_any_open)
}

/// Brings a job's prompt to its agent, from wherever it is by now.
pub fn bring(context: &Context, job: &Job, timeout: Option<Duration>) -> Result<(), Error> {
    send::send_as(context, &request(&job.session, &job.prompt, timeout), &job.id).map(drop)
}

fn request<'a>(target: &'a str, text: &'a str, timeout: Option<Duration>) -> send::Request<'a> {
    send::Request { target, text, slash: false, when: When::Idle, timeout }
}

/// Waits until a job is over, at most so long, and posts its prompt if its submitter was killed before. Returns the job as far as it has come.
pub fn wait(context: &Context, target: &str, at_most: Option<Duration>) -> Result<Job, Error> {
    let begun = Instant::now();
    let left = || at_most.map(|limit| limit.saturating_sub(begun.elapsed()));
    let mut reader = StatusReader::new(context)?;
    let mut job = recorded(&reader, target)?;
    context.state.news();
    let mut changes = Changes::new();
    loop {
        let interests = reader
            .one(&job.session, Timestamp::now())
            .map(|judged| reader.interests(std::slice::from_ref(&judged)));
        let mut interests = interests.logged("find what to watch").unwrap_or_default();
        let news = Interest::File(context.state.news_of(&job.session));
        interests.insert((news, job.session.clone()));
        changes.set(interests);
        // After the watch is set: what happened before is seen now, what comes later wakes us.
        job = settle(context, &mut reader, job)?;
        let left = left();
        if job.state.is_over() || left == Some(Duration::ZERO) {
            return Ok(job);
        }
        let is_pending = job.state == JobState::Queued && job.waiting.is_none();
        if is_pending && reader.store.message(&job.id)?.is_none() {
            bring(context, &job, left)?;
            continue;
        }
        reader.store.check_files()?;
        changes.wait(left.map_or(OWN_PACE, |left| left.min(OWN_PACE)));
    }
}
