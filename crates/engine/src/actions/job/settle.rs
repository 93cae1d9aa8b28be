//! Recording how far jobs have come, and notifying of those that ended. One process records each end, and that one notifies.

use dogwatch_core::job::JobState;
use dogwatch_core::notice::{Notice, Occasion};
use dogwatch_protocol::event_data::JobNotice;
use dogwatch_store::Job;

use crate::notify::{channels, outbox};
use crate::observe::jobs::{self, name_of};
use crate::observe::status::{SessionStatus, StatusReader};
use crate::{Context, Error};

/// Records how far the job has come, and notifies if it ended.
pub(in crate::actions) fn settle(
    context: &Context,
    reader: &mut StatusReader<'_>,
    job: Job,
) -> Result<Job, Error> {
    if job.state.is_over() {
        return Ok(job);
    }
    let status = jobs::status_of(reader, &job)?;
    let (job, has_ended) = record(context, reader, job, status.as_ref())?;
    if has_ended {
        tell_of(context, std::slice::from_ref(&job));
    }
    Ok(job)
}

/// Records how far a job has come. Whether this call recorded its end is returned too.
fn record(
    context: &Context,
    reader: &mut StatusReader<'_>,
    job: Job,
    status: Option<&SessionStatus>,
) -> Result<(Job, bool), Error> {
    let progress = jobs::progress(context, reader, &job, status)?;
    let ended = job.clone().advanced(&progress.steps, progress.waiting.as_deref());
    // Of those that went with their server, people are told once, of all of them.
    let is_alone = status.is_none_or(|one| one.seen.life.server_died.is_none());
    let prepared = occasion(&ended).filter(|_| is_alone).and_then(|occasion| {
        let (key, notice) = (key(&ended, occasion), notice(context, &ended, occasion));
        outbox::prepare(context, &reader.store, key, &notice)
    });
    let event = prepared.as_ref().map(outbox::Prepared::event);
    let news = event.as_ref().zip(prepared.as_ref().map(|prepared| &*prepared.planned));
    let (now, is_written) =
        reader.store.advance_job(&job, &progress.steps, progress.waiting.as_deref(), news)?;
    if now.state != job.state {
        context.state.tell_news(&now.session);
    }
    let has_ended = is_written && now.state.is_over() && !job.state.is_over();
    Ok((now, has_ended))
}

/// Settles the open jobs of sessions that were just looked at; those that this call saw end. The caller notifies, by [`tell_of`].
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
        let (job, has_ended) = record(context, reader, job, Some(one))?;
        if has_ended {
            over.push(job);
        }
    }
    Ok(over)
}

/// Notifies of jobs that ended. What this process does not come to, another one sends: it was written down with the end.
pub fn tell_of(context: &Context, over: &[Job]) {
    for job in over {
        if let Some(occasion) = occasion(job) {
            outbox::tell(context, &key(job, occasion), notice(context, job, occasion));
        }
    }
}

fn occasion(job: &Job) -> Option<Occasion> {
    match job.state {
        JobState::Done { .. } => Some(Occasion::JobDone),
        JobState::Failed { .. } => Some(Occasion::JobFailed),
        _ => None,
    }
}

fn key(job: &Job, occasion: Occasion) -> String {
    format!("job/{}/{}", job.id, occasion.as_str())
}

fn notice(context: &Context, job: &Job, occasion: Occasion) -> Notice {
    let name = name_of(context, job).unwrap_or_else(|| job.session.to_string());
    let text = match &job.state {
        JobState::Done { result } => result.clone().unwrap_or_default(),
        JobState::Failed { because, .. } => because.clone(),
        _ => String::new(),
    };
    let title = format!("Job {}: {name}", job.state.as_str());
    let data = JobNotice {
        id: job.id.clone(),
        session: job.session.clone(),
        name,
        state: job.state.clone(),
    };
    Notice {
        session: Some(job.session.to_string()),
        ..channels::notice(occasion, title, text, &data)
    }
}
