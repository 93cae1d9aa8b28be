//! Looking again whenever something stirs. Event-driven, not polled.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use dogwatch_protocol::id::SessionId;

use crate::observe::changes::{Changes, Interest};
use crate::{Context, Error};

/// How often is looked for what nobody tells of: a screen that changed by itself.
const OWN_PACE: Duration = Duration::from_secs(1);

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
