//! Jobs: a prompt for a session, delivered with proof and followed to its end by evidence.
//!
//! Nobody need stay for that. Whoever looks next (`job`, `status`, `watch`) finds out from the message's receipt, the
//! transcript and the judge how far it has come, and writes down each change once.

mod cancel;
mod settle;

use std::time::{Duration, Instant};

use dogwatch_core::delivery::When;
use dogwatch_core::job::JobState;
use dogwatch_store::{Job, NewJob};
use jiff::Timestamp;

pub use cancel::cancel;
pub use settle::{beside, settle_of, tell_of};

use crate::actions::send;
use crate::observe::changes::{Changes, Interest};
use crate::observe::status::StatusReader;
use crate::{Context, Error};

/// How often is looked for what nobody tells of.
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
    let job = file(context, target, prompt)?;
    let trouble = bring(context, &job, timeout).err().map(|error| error.to_string());
    Ok(Submitted { job: find(context, &job.id)?, trouble })
}

/// Files a job without bringing it anywhere yet: for those who must write its id down first.
pub fn file(context: &Context, target: &str, prompt: &str) -> Result<Job, Error> {
    let mut reader = StatusReader::new(context)?;
    let now = Timestamp::now();
    let judged = reader.one(target, now)?;
    let session = &judged.seen.session;
    if judged.verdict.status.is_over() {
        let (name, reason) = (session.name.clone(), judged.seen.life.reason.clone());
        return Err(Error::IsOver { name, reason });
    }
    // Whatever would be refused is refused before anything is kept.
    send::checked(context, session, &request(target, prompt, None))?;
    let id = uuid::Uuid::now_v7().to_string();
    reader.store.submit_job(&NewJob { id: &id, session: &session.id, prompt, at: now })?;
    context.state.tell_news(&session.id);
    reader.store.job(&id)?.ok_or(Error::NoSuchJob { target: id })
}

/// Brings a job's prompt to its agent, from wherever it is by now.
pub fn bring(context: &Context, job: &Job, timeout: Option<Duration>) -> Result<(), Error> {
    send::send_as(context, &request(&job.session, &job.prompt, timeout), &job.id).map(drop)
}

fn request<'a>(target: &'a str, text: &'a str, timeout: Option<Duration>) -> send::Request<'a> {
    send::Request { target, text, slash: false, when: When::Idle, timeout }
}

/// The job meant by an id or its first eight letters, as far as it has come.
pub fn find(context: &Context, target: &str) -> Result<Job, Error> {
    let mut reader = StatusReader::new(context)?;
    let job = find_in(&reader, target)?;
    let (job, is_news) = settle::settle(context, &mut reader, job)?;
    if is_news {
        tell_of(context, std::slice::from_ref(&job));
    }
    Ok(job)
}

/// The newest jobs with the names of their sessions, of one session or of all, oldest first.
pub fn list(
    context: &Context,
    target: Option<&str>,
    most: u32,
) -> Result<Vec<(Option<String>, Job)>, Error> {
    let mut reader = StatusReader::new(context)?;
    let session = target
        .map(|target| reader.one(target, Timestamp::now()).map(|one| one.seen.session.id))
        .transpose()?;
    let mut jobs = Vec::new();
    let mut news = Vec::new();
    for job in reader.store.jobs(session.as_deref(), most)? {
        let (job, is_news) = settle::settle(context, &mut reader, job)?;
        if is_news {
            news.push(job.clone());
        }
        jobs.push((name(&reader, &job), job));
    }
    tell_of(context, &news);
    Ok(jobs)
}

/// What a job's session is called.
pub fn name_of(context: &Context, job: &Job) -> Option<String> {
    Some(context.store().ok()?.by_id(&job.session).ok()??.name)
}

fn name(reader: &StatusReader<'_>, job: &Job) -> Option<String> {
    Some(reader.store.by_id(&job.session).ok()??.name)
}

fn find_in(reader: &StatusReader<'_>, target: &str) -> Result<Job, Error> {
    let found = reader.store.job(target)?;
    found.ok_or_else(|| Error::NoSuchJob { target: target.to_owned() })
}

/// Waits until a job is over, at most so long, and brings its prompt to the agent if nobody else does. Returns the job as
/// far as it has come.
pub fn wait(context: &Context, target: &str, at_most: Option<Duration>) -> Result<Job, Error> {
    let begun = Instant::now();
    let left = || at_most.map(|limit| limit.saturating_sub(begun.elapsed()));
    let mut reader = StatusReader::new(context)?;
    let mut job = find_in(&reader, target)?;
    context.state.news();
    let mut changes = Changes::new();
    loop {
        let interests = reader
            .one(&job.session, Timestamp::now())
            .map(|judged| reader.interests(std::slice::from_ref(&judged)));
        let mut interests = interests.unwrap_or_default();
        let news = Interest::File(context.state.news_of(&job.session));
        interests.insert((news, job.session.clone()));
        changes.set(interests);
        // After the watch is set: what happened before is seen now, what comes later wakes us.
        let (now, is_news) = settle::settle(context, &mut reader, job)?;
        job = now;
        if is_news {
            tell_of(context, std::slice::from_ref(&job));
        }
        let left = left();
        if job.state.is_over() || left == Some(Duration::ZERO) {
            return Ok(job);
        }
        let is_pending = job.state == JobState::Queued && job.waiting.is_none();
        if is_pending && !is_being_sent(&reader, &job)? {
            bring(context, &job, left)?;
            continue;
        }
        reader.store.check_files()?;
        changes.wait(left.map_or(OWN_PACE, |left| left.min(OWN_PACE)));
    }
}

/// Whether another process is at it.
fn is_being_sent(reader: &StatusReader<'_>, job: &Job) -> Result<bool, Error> {
    let message = reader.store.message(&job.id)?;
    let me = crate::observe::processes::myself()?;
    Ok(message.is_some_and(|message| {
        message.outcome.is_some()
            || (message.sender != me && crate::observe::processes::is_alive(message.sender))
    }))
}
