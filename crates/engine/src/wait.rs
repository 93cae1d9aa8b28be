//! Waiting until a session is in a state: told at once, not by the next poll.

use std::time::{Duration, Instant};

use dogwatch_core::status::{Basis, Verdict};
use jiff::Timestamp;

use crate::sense::changes::Changes;
use crate::status::{Judged, Looker};
use crate::{Context, Error};

/// How often is looked for what nobody tells of: a screen that changed by itself.
const OWN_PACE: Duration = Duration::from_secs(1);

/// How a wait ended.
#[derive(Debug)]
pub enum Waited {
    /// Each session is in one of the states that were waited for.
    Happened(Vec<Judged>),
    /// A session ended in another state: it can no longer happen.
    Impossible(Box<Judged>),
    TimedOut(Vec<Judged>),
}

/// Waits until every one of `targets` is in one of `states`, by their words.
pub fn wait(
    context: &Context,
    targets: &[String],
    states: &[String],
    at_most: Option<Duration>,
) -> Result<Waited, Error> {
    let begun = Instant::now();
    let mut looker = Looker::new(context)?;
    // Ids, so that a new session of the same name is not taken for the one that was meant.
    let judged = look(&mut looker, targets)?;
    let ids: Vec<String> = judged.iter().map(|one| one.seen.session.id.clone()).collect();
    context.state.news();
    let mut changes = Changes::new();
    changes.set(looker.interests(&judged));
    loop {
        // After the watch is set: what happened before is seen now, what comes later wakes us.
        let judged = look(&mut looker, &ids)?;
        let is_there = |one: &Judged| {
            let Verdict { status, basis, .. } = &one.verdict;
            // What was true once is no reason to go on.
            *basis != Basis::Stale && states.iter().any(|state| state == status.word())
        };
        if judged.iter().all(is_there) {
            return Ok(Waited::Happened(judged));
        }
        if let Some(at) =
            judged.iter().position(|one| one.seen.life.state.is_over() && !is_there(one))
        {
            let one = judged.into_iter().nth(at).map(Box::new);
            return one
                .map(Waited::Impossible)
                .ok_or(Error::NoSuchSession { target: String::new() });
        }
        let left = at_most.map(|limit| limit.saturating_sub(begun.elapsed()));
        if left == Some(Duration::ZERO) {
            return Ok(Waited::TimedOut(judged));
        }
        changes.set(looker.interests(&judged));
        changes.wait(left.map_or(OWN_PACE, |left| left.min(OWN_PACE)));
    }
}

fn look(looker: &mut Looker<'_>, targets: &[String]) -> Result<Vec<Judged>, Error> {
    let now = Timestamp::now();
    targets.iter().map(|target| looker.one(target, now)).collect()
}
