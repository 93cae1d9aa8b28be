//! Waiting until a session is in a state: told at once, not by the next poll.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::sense::changes::Changes;
use crate::sense::interests;
use crate::status::{self, Judged};
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
    // Ids, so that a new session of the same name is not taken for the one that was meant.
    let judged = look(context, targets)?;
    let ids: Vec<String> = judged.iter().map(|one| one.seen.session.id.clone()).collect();
    let mut changes = Changes::watch(interests::of(context, &judged));
    loop {
        // After the watch is set: what happened before is seen now, what comes later wakes us.
        let judged = look(context, &ids)?;
        let is_there = |one: &Judged| states.iter().any(|state| state == one.verdict.status.word());
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
        changes = changes.update(interests::of(context, &judged));
        changes.wait(left.map_or(OWN_PACE, |left| left.min(OWN_PACE)));
    }
}

fn look(context: &Context, targets: &[String]) -> Result<Vec<Judged>, Error> {
    let now = Timestamp::now();
    targets.iter().map(|target| status::one(context, target, now)).collect()
}
