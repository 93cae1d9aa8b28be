use std::time::{Duration, Instant};

use dogwatch_core::job::{JobState, Step};
use dogwatch_protocol::keys::Interrupted;
use dogwatch_store::Job;
use jiff::Timestamp;

use super::{settled, wait};
use crate::actions::interrupt;
use crate::error::JobError;
use crate::observe::jobs::recorded;
use crate::observe::status::StatusReader;
use crate::{Context, Error};

/// How long an agent may take to stop.
const STOPPING: Duration = Duration::from_secs(10);

/// Cancels a job: takes its prompt back, or interrupts the turn that it is at.
pub fn cancel(context: &Context, target: &str, by: &str) -> Result<Job, Error> {
    let job = settled(context, target)?;
    let mut reader = StatusReader::new(context)?;
    if job.state.is_over() || !reader.store.want_cancelled(&job.id, by, Timestamp::now())? {
        let state = recorded(&reader, &job.id)?.state.as_str();
        return Err(JobError::JobOver { id: job.id.into(), state }.into());
    }
    let ended = if job.state == JobState::Queued {
        take_back(context, &mut reader, &job, by)
    } else {
        interrupt(context, &mut reader, &job)
    };
    match ended {
        Ok(job) => Ok(job),
        Err(error) => {
            reader.store.keep_job(&job.id)?;
            Err(error)
        }
    }
}

fn take_back(
    context: &Context,
    reader: &mut StatusReader<'_>,
    job: &Job,
    by: &str,
) -> Result<Job, Error> {
    let now = Timestamp::now();
    match reader.store.message(&job.id)? {
        // Whoever submitted it was killed before it could be posted.
        None => {
            let state = JobState::Cancelled { by: by.to_owned() };
            let (kept, _) =
                reader.store.advance_job(job, &[Step { at: now, state }], None, None)?;
            context.state.tell_news(&job.session);
            Ok(kept)
        }
        Some(message) if reader.store.take_back(&message.id, now)? => {
            context.state.tell_news(&message.session);
            settled(context, &job.id)
        }
        Some(_) => {
            let reason =
                "its prompt is being typed into the input box right now; try again".to_owned();
            Err(JobError::NotCancelled { id: job.id.to_string(), reason }.into())
        }
    }
}

/// Presses the keys that cut a turn short, once, and sees what comes of it.
fn interrupt(context: &Context, reader: &mut StatusReader<'_>, job: &Job) -> Result<Job, Error> {
    let refuse =
        |reason: String| Err(JobError::NotCancelled { id: job.id.to_string(), reason }.into());
    let begun = Instant::now();
    let session = reader.one(&job.session, Timestamp::now())?.seen.session;
    match interrupt::ask(context, &session)? {
        Interrupted::Dialog => {
            let name = session.name;
            return refuse(format!(
                "a dialog is open and a key could answer it; answer it first: dogwatch answer {name}"
            ));
        }
        Interrupted::NoKeys => {
            return refuse(format!("dogwatch cannot interrupt {}", session.agent));
        }
        // Its turn is over, or that is unknown: the records will show.
        Interrupted::Pressed | Interrupted::NotWorking => {}
    }
    let job = wait(context, &job.id, Some(STOPPING.saturating_sub(begun.elapsed())))?;
    match &job.state {
        state @ JobState::Done { .. } => {
            Err(JobError::JobOver { id: job.id.to_string(), state: state.as_str() }.into())
        }
        state if state.is_over() => Ok(job),
        _ => refuse(format!("the agent did not stop within {} s", STOPPING.as_secs())),
    }
}
