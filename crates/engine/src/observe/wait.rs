//! Waiting until sessions reach a state. Event-driven, not polled.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use dogwatch_core::attention::{Progress, Quorum, Standing};
use dogwatch_core::status::{Basis, Verdict};
use dogwatch_protocol::id::{Origin, SessionId};
use dogwatch_store::Which;
use jiff::Timestamp;

use crate::observe::changes::{Changes, Interest};
use crate::observe::snapshot;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::unmanaged::Absence;
use crate::{Context, Error};

/// How often is looked for what nobody tells of: a screen that changed by itself.
const OWN_PACE: Duration = Duration::from_secs(1);

/// How a wait ended.
#[derive(Debug)]
pub enum Waited {
    /// As many sessions as were asked for have reached one of the states. All sessions of the wait, and which of them did.
    Happened(Vec<SessionStatus>, Vec<SessionId>),
    /// Too many sessions ended in other states; the first of them.
    Impossible(Box<SessionStatus>),
    TimedOut(Vec<SessionStatus>),
}

/// Which sessions are waited for.
#[derive(Debug, Clone, Copy)]
pub enum Targets<'a> {
    /// By name, id or pane.
    Named(&'a [String]),
    /// All that are listed, those that are started meanwhile too.
    Listed,
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

/// Waits until as many of the sessions as `quorum` says are in one of `states`, by their words.
pub fn wait(
    context: &Context,
    targets: Targets<'_>,
    states: &[String],
    quorum: Quorum,
    at_most: Option<Duration>,
) -> Result<Waited, Error> {
    let mut reader = StatusReader::new(context)?;
    let mut followed = match targets {
        Targets::Named(names) => Some(Followed::find(&mut reader, names)?),
        Targets::Listed => None,
    };
    let mut last = Vec::new();
    let waited = until(context, at_most, || {
        reader.store.check_files()?;
        let found = match &mut followed {
            Some(followed) => followed.look(&mut reader)?,
            None => Some(listed(&mut reader)?),
        };
        let Some(found) = found else { return Ok(Look::Listen(reader.interests(&last))) };
        last = found;
        let standings: Vec<Standing> = last.iter().map(|one| standing(one, states)).collect();
        let with = |wanted: Standing| {
            last.iter().zip(&standings).filter(move |(_, found)| **found == wanted)
        };
        Ok(match quorum.progress(&standings, followed.is_none()) {
            Progress::Reached => {
                let reached = with(Standing::Reached).map(|(one, _)| one.seen.session.id.clone());
                Look::Found(Waited::Happened(last.clone(), reached.collect()))
            }
            Progress::Impossible => {
                let ended = with(Standing::Impossible).map(|(one, _)| one).next();
                match ended.or(last.first()) {
                    Some(one) => Look::Found(Waited::Impossible(Box::new(one.clone()))),
                    None => Look::Found(Waited::TimedOut(Vec::new())),
                }
            }
            Progress::NotYet => Look::Listen(reader.interests(&last)),
        })
    })?;
    Ok(waited.unwrap_or(Waited::TimedOut(last)))
}

fn standing(one: &SessionStatus, states: &[String]) -> Standing {
    let Verdict { status, basis, .. } = &one.verdict;
    // A stale verdict says what was, not what is.
    let is_there = *basis != Basis::Stale && states.iter().any(|state| state == status.as_str());
    match (is_there, one.seen.life.state.is_over()) {
        (true, _) => Standing::Reached,
        (false, true) => Standing::Impossible,
        (false, false) => Standing::OnItsWay,
    }
}

/// What `status` lists.
fn listed(reader: &mut StatusReader<'_>) -> Result<Vec<SessionStatus>, Error> {
    let now = Timestamp::now();
    let mut all = reader.all_of(Which::current(now), now)?;
    snapshot::hide_superseded(&mut all, |one| &one.seen);
    Ok(all)
}

/// Sessions that were named. They are followed by id, so that a new session of the same name is not taken for the one that
/// was meant.
struct Followed {
    ids: Vec<SessionId>,
    origins: Vec<Origin>,
    absences: Vec<Absence>,
}

impl Followed {
    fn find(reader: &mut StatusReader<'_>, names: &[String]) -> Result<Self, Error> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = reader.many(&names, Timestamp::now())?;
        let ids: Vec<SessionId> = found.iter().map(|one| one.seen.session.id.clone()).collect();
        let origins = found.iter().map(|one| one.seen.session.origin).collect();
        let absences = ids.iter().map(|_| Absence::default()).collect();
        Ok(Self { ids, origins, absences })
    }

    /// `None` if one of them is out of sight for a moment.
    fn look(&mut self, reader: &mut StatusReader<'_>) -> Result<Option<Vec<SessionStatus>>, Error> {
        let ids: Vec<&str> = self.ids.iter().map(SessionId::as_str).collect();
        let found = reader.each(&ids, Timestamp::now())?;
        let mut all = Vec::new();
        for ((origin, absence), found) in self.origins.iter().zip(&mut self.absences).zip(found) {
            all.extend(absence.judge(*origin, found)?);
        }
        Ok((all.len() == self.ids.len()).then_some(all))
    }
}
