//! Tools that only look.

use dogwatch_core::job::JobState;
use dogwatch_core::status::Status;
use dogwatch_engine::Context;
use dogwatch_engine::observe::status::{self, SessionStatus, StatusReader};
use dogwatch_engine::observe::{capture as screens, jobs, listing, snapshot};
use dogwatch_protocol::mcp::{JobAnswer, Screen, SessionList};
use dogwatch_protocol::session::Capture;
use dogwatch_store::{Job, Which};
use jiff::Timestamp;

use crate::arguments::{CaptureArgs, JobResultArgs, MOST_LINES, SessionsArgs, WhyArgs};
use crate::brief;
use crate::call::{Reply, Trouble, reply};
use crate::server::Shared;

/// Longest result of a job that is returned.
const MOST_RESULT: usize = 16 * 1024;
/// Longest text of a screen.
const MOST_SCREEN: usize = 16 * 1024;

pub(crate) fn sessions(shared: &Shared, args: &SessionsArgs) -> Reply {
    if let Some(unknown) = args.states.iter().find(|state| !Status::WORDS.contains(&state.as_str()))
    {
        let (unknown, known) = (brief::cut(unknown, 60), Status::WORDS.join(", "));
        return Err(Trouble::BadArguments(format!("unknown state {unknown:?}; states: {known}")));
    }
    reply(&list(shared, &args.states)?)
}

pub(crate) fn list(shared: &Shared, states: &[String]) -> Result<SessionList, Trouble> {
    let context = &shared.context;
    let now = Timestamp::now();
    // Before the look: a change during it is returned again, rather than lost.
    let cursor = context.store()?.last_entry()?;
    let mut reader = StatusReader::new(context)?;
    let mut all = reader.all_of(Which::current(now), now)?;
    snapshot::hide_superseded(&mut all, |one| &one.seen);
    let left_out = reader.left_out(&all)?;
    let jobs = jobs::beside(context, &reader, &all)?;
    all.retain(|one| states.is_empty() || states.iter().any(|s| s == one.verdict.status.as_str()));
    let brief = |one: &SessionStatus| brief::session(one, jobs.get(&one.seen.session.id));
    Ok(SessionList { cursor, sessions: all.iter().map(brief).collect(), left_out })
}

pub(crate) fn why(shared: &Shared, args: &WhyArgs) -> Reply {
    reply(&listing::report(&status::one(&shared.context, &args.session, Timestamp::now())?))
}

pub(crate) fn capture(shared: &Shared, args: &CaptureArgs) -> Reply {
    if !(1..=MOST_LINES).contains(&args.lines) {
        return Err(Trouble::BadArguments(format!("lines must be from 1 to {MOST_LINES}")));
    }
    let context = &shared.context;
    let seen = status::shown(context, &args.session)?;
    let captured = screens::capture(context, &seen, Some(args.lines), false)?;
    let text = String::from_utf8_lossy(&captured.text);
    let text = dogwatch_core::terminal::harmless(text.trim_end());
    // The end is what matters.
    let start = text.ceil_char_boundary(text.len().saturating_sub(MOST_SCREEN));
    let text = text[start..].to_owned();
    let (name, id) = (seen.session.name, seen.session.id);
    let capture = Capture { name, id, state: seen.life.state, from: captured.from, text };
    reply(&Screen { capture, left_out: start })
}

pub(crate) fn job_result(shared: &Shared, args: &JobResultArgs) -> Reply {
    let context = &shared.context;
    let cursor = context.store()?.last_entry()?;
    let job = jobs::find(context, &args.job)?;
    reply(&job_answer(context, &job, MOST_RESULT, cursor))
}

pub(crate) fn job_answer(context: &Context, job: &Job, most: usize, cursor: i64) -> JobAnswer {
    let because = match &job.state {
        JobState::Failed { because, .. } => Some(because.clone()),
        JobState::Cancelled { by } => Some(format!("cancelled by {by}")),
        _ => None,
    };
    let whole = job.state.result().map(dogwatch_core::terminal::harmless);
    let result = whole.as_ref().map(|text| text[..text.floor_char_boundary(most)].to_owned());
    let left_out = whole.map_or(0, |text| text.len()) - result.as_ref().map_or(0, String::len);
    JobAnswer {
        id: job.id.clone(),
        session: jobs::name_of(context, job).unwrap_or_else(|| job.session.to_string()),
        state: job.state.as_str().to_owned(),
        waiting: job.waiting.clone(),
        because: because.map(|text| brief::cut(&text, 500)),
        result,
        left_out,
        repeated: false,
        cursor,
    }
}
