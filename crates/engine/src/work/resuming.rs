//! Going on with a run, and looking whether everything of it is as it should be.

use std::path::Path;

use dogwatch_core::workflow::Phase;
use dogwatch_store::KeptRun;

use super::journal::replay;
use super::planner;
use crate::{Context, Error, snapshot};

/// The run that is meant.
pub fn to_resume(context: &Context, project: &Path, id: Option<&str>) -> Result<KeptRun, Error> {
    let kept = planner::find(context, project, id)?;
    match kept.over {
        None => Ok(kept),
        Some(at) => {
            let problem = format!(
                "the run {} is over since {at:.0}; begin another: dogwatch story run",
                kept.id
            );
            Err(Error::BadArgument { problem })
        }
    }
}

/// What is not as it should be.
pub fn validate(context: &Context, kept: &KeptRun) -> Result<Vec<String>, Error> {
    let facts = context.store()?.facts(&kept.id, 0)?;
    let run = replay(kept, &facts)?;
    let mut issues = Vec::new();
    let mut ours: Vec<&str> = Vec::new();
    for (job, state) in &run.jobs {
        if let Phase::Trying(attempt) = &state.phase
            && let (Some(session), None) = (&attempt.session, &attempt.ended)
        {
            ours.push(session);
            match snapshot::find(context, session) {
                Ok(seen) if seen.life.state.is_over() => {
                    issues.push(format!(
                        "{job}: its session is over ({}); resume the run",
                        seen.life.reason
                    ));
                }
                Ok(_) => {}
                Err(Error::NoSuchSession { .. }) => {
                    issues.push(format!("{job}: nobody knows its session {session} any more"));
                }
                Err(error) => return Err(error),
            }
        }
        ours.extend(state.to_close.iter().map(|(_, session)| session.as_str()));
    }
    for seen in snapshot::look(context, false)? {
        let session = &seen.session;
        let of_a_story = session.story.is_some() && session.project == kept.project;
        if of_a_story && !seen.life.state.is_over() && !ours.contains(&session.id.as_str()) {
            issues
                .push(format!("the session {} belongs to no step that is under way", session.name));
        }
    }
    Ok(issues)
}
