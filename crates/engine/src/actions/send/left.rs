//! Messages that nobody can deliver any more.

use dogwatch_base::log::Logged as _;
use jiff::Timestamp;

use crate::observe::messages::not_delivered;
use crate::observe::snapshot;
use crate::{Context, Error};

/// Records of messages to sessions that have ended that they were not delivered. One that is in the box of a session that is still watched
/// is left to its deliverer, which may see a proof.
pub fn settle_left(context: &Context, is_watched: &dyn Fn(&str) -> bool) -> Result<(), Error> {
    let mut store = context.store()?;
    for session in store.awaited()? {
        let Some(seen) = snapshot::find(context, &session).logged("find a session") else {
            continue;
        };
        if seen.life.state.is_over() {
            let because = not_delivered(&seen.life.reason);
            store.settle_unsent(&session, &because, Timestamp::now())?;
            if !is_watched(&session) {
                let because = format!(
                    "the session ended before the agent confirmed the message: {}",
                    seen.life.reason
                );
                store.settle_all(&session, &because, Timestamp::now())?;
            }
            context.state.tell_news(&session);
        }
    }
    Ok(())
}
