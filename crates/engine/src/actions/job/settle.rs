//! How far jobs have come, from all that is to be seen of them.

use std::collections::HashMap;

use dogwatch_core::delivery::{Outcome, box_text};
use dogwatch_core::job::{self, Agent, JobState, Sent, Sight, Turn};
use dogwatch_core::notice::{Notice, Occasion};
use dogwatch_core::status::{Basis, Status};
use dogwatch_store::{Job, Message};
use jiff::Timestamp;
use serde_json::json;

use crate::notify::channels;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::{files, transcripts};
use crate::{Context, Error};

/// How far back a turn's beginning is looked for: first this much of the transcript's end, then four times as much, and so on.
const FIRST_LOOK: u64 = 256 * 1024;
const LAST_LOOK: u64 = 64 * 1024 * 1024;

/// The job as far as it has come, and whether we were the first to see that it is over.
pub(super) fn settle(
    context: &Context,
    reader: &mut StatusReader<'_>,
    job: Job,
) -> Result<(Job, bool), Error> {
    if job.state.is_over() {
        return Ok((job, false));
    }
    let judged = match reader.one(&job.session, Timestamp::now()) {
        Ok(judged) => Some(judged),
        Err(Error::NoSuchSession { .. } | Error::NotOurs { .. }) => None,
        Err(error) => return Err(error),
    };
    settle_by(context, reader, job, judged.as_ref())
}

/// The same for one whose session was just judged; `None` if nobody knows of that any more.
fn settle_by(
    context: &Context,
    reader: &mut StatusReader<'_>,
    job: Job,
    judged: Option<&SessionStatus>,
) -> Result<(Job, bool), Error> {
    let now = Timestamp::now();
    let message = reader.store.message(&job.id)?;
    let agent = judged.map_or_else(|| Agent::Over("its session was removed".to_owned()), agent);
    let (has_transcript, turn) = match (judged, &message) {
        (Some(judged), Some(message)) => turn_of(context, reader, judged, message, &job, &agent),
        _ => (false, None),
    };
    let sight = Sight {
        now,
        message: message.as_ref().map_or(Sent::Pending, |message| sent(message, now)),
        turn,
        has_transcript,
        agent,
        cancelled_by: job.cancelled_by.clone(),
    };
    let steps = job::steps(&job.state, &sight);
    let state = steps.last().map_or(&job.state, |step| &step.state);
    let waiting = job::waiting(state, &sight).map(ToOwned::to_owned);
    let was = job.state.clone();
    let now = reader.store.advance_job(&job, &steps, waiting.as_deref())?;
    if now.state != was {
        context.state.tell_news(&now.session);
    }
    let is_news = now.state.is_over() && !was.is_over() && !steps.is_empty();
    Ok((now, is_news))
}

/// Settles the open jobs of sessions that were just judged; those that are over now.
pub fn settle_of(
    context: &Context,
    reader: &mut StatusReader<'_>,
    judged: &[SessionStatus],
) -> Result<Vec<Job>, Error> {
    let mut over = Vec::new();
    for job in reader.store.open_jobs()? {
        let Some(one) = judged.iter().find(|one| one.seen.session.id == job.session) else {
            continue;
        };
        let (job, is_news) = settle_by(context, reader, job, Some(one))?;
        if is_news {
            over.push(job);
        }
    }
    Ok(over)
}

/// The newest job of each session, for those that have any, as far as it has come.
pub fn beside(
    context: &Context,
    reader: &mut StatusReader<'_>,
    judged: &[SessionStatus],
) -> Result<HashMap<String, Job>, Error> {
    let over = settle_of(context, reader, judged)?;
    tell_of(context, &over);
    let sessions = judged.iter().map(|one| one.seen.session.id.as_str());
    let jobs = reader.store.last_jobs(sessions)?;
    Ok(jobs.into_iter().map(|job| (job.session.clone(), job)).collect())
}

/// Tells those who want to know that jobs are over.
pub fn tell_of(context: &Context, over: &[Job]) {
    for job in over {
        let occasion = match job.state {
            JobState::Done { .. } => Occasion::JobDone,
            JobState::Failed { .. } => Occasion::JobFailed,
            _ => continue,
        };
        channels::tell(context, &notice(context, job, occasion));
    }
}

fn notice(context: &Context, job: &Job, occasion: Occasion) -> Notice {
    let name = super::name_of(context, job).unwrap_or_else(|| job.session.clone());
    let text = match &job.state {
        JobState::Done { result } => result.clone().unwrap_or_default(),
        JobState::Failed { because, .. } => because.clone(),
        _ => String::new(),
    };
    let title = format!("Job {}: {name}", job.state.as_str());
    let data = json!({ "id": job.id, "session": job.session, "name": name, "state": job.state });
    Notice { session: Some(job.session.clone()), ..channels::notice(occasion, title, text, data) }
}

fn sent(message: &Message, now: Timestamp) -> Sent {
    match &message.outcome {
        None | Some(Outcome::Queued { .. }) => Sent::Pending,
        Some(Outcome::Delivered { .. }) => {
            // A turn may begin before the proof of it was found.
            let at = message.submitted.or(message.staged).or(message.done);
            Sent::Delivered(at.unwrap_or(now))
        }
        Some(outcome) => {
            let because = outcome.because().unwrap_or_default();
            Sent::Failed(format!("{}: {because}", outcome.as_str().replace('_', " ")))
        }
    }
}

fn agent(judged: &SessionStatus) -> Agent {
    let verdict = &judged.verdict;
    if verdict.basis == Basis::Stale {
        return Agent::Unclear;
    }
    let since = verdict.since.unwrap_or_default();
    match &verdict.status {
        Status::Exited | Status::Stopped { .. } | Status::Crashed { .. } | Status::Lost { .. } => {
            Agent::Over(judged.seen.life.reason.clone())
        }
        Status::Working { .. } => Agent::Working,
        Status::Waiting { r#for, question, .. } => Agent::Asks(match question {
            Some(question) => format!("{}: {question}", r#for.as_str()),
            None => r#for.as_str().to_owned(),
        }),
        Status::Idle { after_turn, interrupted, .. } if *after_turn || *interrupted => {
            Agent::Idle { since, interrupted: *interrupted }
        }
        Status::Error { kind, text } => Agent::Failed { since, because: format!("{kind}: {text}") },
        Status::Limited { text, .. } => {
            Agent::Failed { since, because: format!("limited: {text}") }
        }
        Status::Idle { .. } | Status::Starting | Status::Stuck { .. } | Status::Unknown { .. } => {
            Agent::Unclear
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
