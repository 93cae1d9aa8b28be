//! How far jobs have come, from all that is to be seen of them. Nothing is recorded here: that is done by `actions::job`.

use std::collections::HashMap;

use dogwatch_base::log::Logged as _;
use dogwatch_core::delivery::{Outcome, box_text};
use dogwatch_core::job::{self, Agent, JobState, Sent, Sight, Step, Turn};
use dogwatch_core::status::Basis;
use dogwatch_protocol::id::SessionId;
use dogwatch_store::{Job, Message};
use jiff::Timestamp;

use crate::error::{JobError, SessionError};
use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::{files, transcripts};
use crate::{Context, Error};

/// How far back a turn's beginning is looked for: first this much of the transcript's end, then four times as much, and so on.
const FIRST_LOOK: u64 = 256 * 1024;
const LAST_LOOK: u64 = 64 * 1024 * 1024;

/// What is new about a job since it was recorded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    pub(crate) steps: Vec<Step>,
    /// What it waits for, if it waits for a person.
    pub(crate) waiting: Option<String>,
}

/// The job meant by an id or its first eight letters, as far as it has come.
pub fn find(context: &Context, target: &str) -> Result<Job, Error> {
    let mut reader = StatusReader::new(context)?;
    let job = recorded(&reader, target)?;
    current(context, &mut reader, job)
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
    for job in reader.store.jobs(session.as_deref(), most)? {
        let job = current(context, &mut reader, job)?;
        jobs.push((name(&reader, &job), job));
    }
    Ok(jobs)
}

/// The newest job of each session, for those that have any, as far as it has come.
pub fn beside(
    context: &Context,
    reader: &StatusReader<'_>,
    judged: &[SessionStatus],
) -> Result<HashMap<SessionId, Job>, Error> {
    let sessions = judged.iter().map(|one| one.seen.session.id.as_str());
    let mut found = HashMap::new();
    for job in reader.store.last_jobs(sessions)? {
        let status = judged.iter().find(|one| one.seen.session.id == job.session);
        let progress = progress(context, reader, &job, status)?;
        let job = job.advanced(&progress.steps, progress.waiting.as_deref());
        found.insert(job.session.clone(), job);
    }
    Ok(found)
}

/// What a job's session is called.
pub fn name_of(context: &Context, job: &Job) -> Option<String> {
    Some(
        context
            .store()
            .logged("open the database")?
            .by_id(&job.session)
            .logged("read a session")??
            .name,
    )
}

fn name(reader: &StatusReader<'_>, job: &Job) -> Option<String> {
    Some(reader.store.by_id(&job.session).logged("read a session")??.name)
}

/// The job as it is recorded.
pub(crate) fn recorded(reader: &StatusReader<'_>, target: &str) -> Result<Job, Error> {
    let found = reader.store.job(target)?;
    found.ok_or_else(|| Error::Job(JobError::NoSuchJob { target: target.to_owned() }))
}

fn current(context: &Context, reader: &mut StatusReader<'_>, job: Job) -> Result<Job, Error> {
    if job.state.is_over() {
        return Ok(job);
    }
    let status = status_of(reader, &job)?;
    let progress = progress(context, reader, &job, status.as_ref())?;
    Ok(job.advanced(&progress.steps, progress.waiting.as_deref()))
}

/// The status of a job's session; `None` if nothing is known of that any more.
pub(crate) fn status_of(
    reader: &mut StatusReader<'_>,
    job: &Job,
) -> Result<Option<SessionStatus>, Error> {
    match reader.one(&job.session, Timestamp::now()) {
        Ok(status) => Ok(Some(status)),
        Err(Error::Session(SessionError::NoSuchSession { .. } | SessionError::NotOurs { .. })) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// What the evidence shows of a job whose session was just looked at; without a status nothing is known of the session any more.
pub(crate) fn progress(
    context: &Context,
    reader: &StatusReader<'_>,
    job: &Job,
    status: Option<&SessionStatus>,
) -> Result<Progress, Error> {
    if job.state.is_over() {
        return Ok(Progress::default());
    }
    let now = Timestamp::now();
    let message = reader.store.message(&job.id)?;
    let agent = match status {
        Some(status) => Agent::of(&status.verdict, &status.seen.life.reason),
        None => Agent::Over("its session was removed".to_owned()),
    };
    let (has_transcript, turn) = match (status, &message) {
        (Some(status), Some(message)) => turn_of(context, reader, status, message, job, &agent),
        _ => (false, None),
    };
    let sight = Sight {
        now,
        message: message
            .as_ref()
            .map_or(Sent::Pending, |message| sent(message, now, has_transcript)),
        turn,
        has_transcript,
        agent,
        is_asserted: status.is_some_and(|status| status.verdict.basis == Basis::Asserted),
        cancelled_by: job.cancelled_by.clone(),
    };
    let steps = job::steps(&job.state, &sight);
    let state = steps.last().map_or(&job.state, |step| &step.state);
    let waiting = job::waiting(state, &sight).map(ToOwned::to_owned);
    Ok(Progress { steps, waiting })
}

fn sent(message: &Message, now: Timestamp, has_transcript: bool) -> Sent {
    match &message.outcome {
        None | Some(Outcome::Queued { .. }) => Sent::Pending,
        Some(Outcome::Delivered { .. }) => {
            // A turn may begin before the proof of it was found.
            let at = message.submitted.or(message.staged).or(message.done);
            Sent::Delivered(at.unwrap_or(now))
        }
        // Of an agent that writes no transcript nothing confirms that it has received what was submitted. What it does next
        // tells.
        Some(Outcome::Failed { .. }) if !has_transcript && message.submitted.is_some() => {
            Sent::Delivered(message.submitted.unwrap_or(now))
        }
        Some(outcome) => {
            let because = outcome.because().unwrap_or_default();
            Sent::Failed(format!("{}: {because}", outcome.as_str().replace('_', " ")))
        }
    }
}

/// Whether the agent keeps a transcript, and the turn of this message in it.
fn turn_of(
    context: &Context,
    reader: &StatusReader<'_>,
    judged: &SessionStatus,
    message: &Message,
    job: &Job,
    agent: &Agent,
) -> (bool, Option<Turn>) {
    let session = &judged.seen.session;
    let found = reader.memory(&session.id).and_then(|memory| {
        let dialect = memory.profile()?.transcript.as_ref()?.dialect;
        Some((dialect, memory.transcript(context, session)?))
    });
    let Some((dialect, path)) = found else { return (false, None) };
    // Transcripts are long, and this is asked often: a running turn of an agent at work has no end in it, unless it is
    // at something that it was told since.
    let is_last = || {
        let newest = reader.store.messages(Some(&session.id), 1).unwrap_or_default();
        newest.last().is_none_or(|newest| newest.id == message.id)
    };
    let is_under_way = job.state == JobState::Running
        && matches!(agent, Agent::Working | Agent::Asks(_))
        && is_last();
    let Some(since) = message.staged else { return (true, None) };
    if is_under_way {
        return (true, None);
    }
    let length = files::regular_length(&path).unwrap_or(0);
    let mut look = FIRST_LOOK;
    loop {
        let text = transcripts::last_lines(&path, look).unwrap_or_default();
        let is_ours = |text: &str| box_text::is_same(text, 0, &message.text);
        let turn = job::turn_of(dialect, &text, since, is_ours);
        if turn.is_some() || look >= length || look >= LAST_LOOK {
            return (true, turn);
        }
        look *= 4;
    }
}
