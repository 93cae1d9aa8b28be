//! Waiting until a session is in a state: told at once, not by the next poll.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use dogwatch_core::status::{Basis, Verdict};
use dogwatch_protocol::id::{Origin, SessionId};
use jiff::Timestamp;

use crate::observe::changes::{Changes, Interest};
use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::unmanaged::Absence;
use crate::{Context, Error};

/// How often is looked for what nobody tells of: a screen that changed by itself.
const OWN_PACE: Duration = Duration::from_secs(1);

/// How a wait ended.
#[derive(Debug)]
pub enum Waited {
    /// Each session is in one of the states that were waited for.
    Happened(Vec<SessionStatus>),
    /// A session ended in another state: it can no longer happen.
    Impossible(Box<SessionStatus>),
    TimedOut(Vec<SessionStatus>),
}

/// What a look has brought.
#[derive(Debug)]
pub enum Look<T> {
    Found(T),
    /// Not yet; here is what would tell of a change.
    Listen(BTreeSet<(Interest, SessionId)>),
}

/// Looks, and looks again whenever something stirs, until something is found; `None` if time is up before.
pub fn until<T>(
    context: &Context,
    at_most: Option<Duration>,
    mut look: impl FnMut() -> Result<Look<T>, Error>,
) -> Result<Option<T>, Error> {
    let begun = Instant::now();
    // Whoever has news tells only if somebody listens.
    context.state.news();
    let mut changes = Changes::new();
    let mut listens_to = None;
    loop {
        let interests = match look()? {
            Look::Found(found) => return Ok(Some(found)),
            Look::Listen(interests) => interests,
        };
        let left = at_most.map(|limit| limit.saturating_sub(begun.elapsed()));
        if left == Some(Duration::ZERO) {
            return Ok(None);
        }
        changes.set(interests.clone());
        // What happened before somebody listened is seen by one more look, what comes later wakes us.
        if listens_to.replace(interests.clone()).is_none_or(|before| before != interests) {
            continue;
        }
        changes.wait(left.map_or(OWN_PACE, |left| left.min(OWN_PACE)));
    }
}

/// Waits until every one of `targets` is in one of `states`, by their words.
pub fn wait(
    context: &Context,
    targets: &[String],
    states: &[String],
    at_most: Option<Duration>,
) -> Result<Waited, Error> {
    let mut reader = StatusReader::new(context)?;
    // Ids, so that a new session of the same name is not taken for the one that was meant.
    let mut last = look(&mut reader, targets)?;
    let ids: Vec<SessionId> = last.iter().map(|one| one.seen.session.id.clone()).collect();
    let origins: Vec<Origin> = last.iter().map(|one| one.seen.session.origin).collect();
    let mut absences: Vec<Absence> = ids.iter().map(|_| Absence::default()).collect();
    let waited = until(context, at_most, || {
        reader.store.check_files()?;
        let now = Timestamp::now();
        let mut judged = Vec::new();
        let targets: Vec<&str> = ids.iter().map(SessionId::as_str).collect();
        let found = reader.each(&targets, now)?;
        for ((origin, absence), found) in origins.iter().zip(&mut absences).zip(found) {
            judged.extend(absence.judge(*origin, found)?);
        }
        if judged.len() < ids.len() {
            return Ok(Look::Listen(reader.interests(&last)));
        }
        let is_there = |one: &SessionStatus| {
            let Verdict { status, basis, .. } = &one.verdict;
            // What was true once is no reason to go on.
            *basis != Basis::Stale && states.iter().any(|state| state == status.as_str())
        };
        if judged.iter().all(is_there) {
            return Ok(Look::Found(Waited::Happened(judged)));
        }
        let is_hopeless = |one: &SessionStatus| one.seen.life.state.is_over() && !is_there(one);
        if let Some(one) = judged.iter().find(|one| is_hopeless(one)) {
            return Ok(Look::Found(Waited::Impossible(Box::new(one.clone()))));
        }
        let interests = reader.interests(&judged);
        last = judged;
        Ok(Look::Listen(interests))
    })?;
    Ok(waited.unwrap_or(Waited::TimedOut(last)))
}

fn look(reader: &mut StatusReader<'_>, targets: &[String]) -> Result<Vec<SessionStatus>, Error> {
    let now = Timestamp::now();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    reader.many(&targets, now)
}
