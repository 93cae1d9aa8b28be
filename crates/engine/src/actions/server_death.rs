//! Notifies people that a tmux server died: once, for all sessions that went with it.

use dogwatch_base::log::Logged as _;
use dogwatch_core::notice::Occasion;
use dogwatch_core::record::Cause;
use dogwatch_core::server_death;
use dogwatch_protocol::event_data::ServerDeath;
use dogwatch_store::{Server, Session, Store};
use jiff::{SignedDuration, Timestamp};

use crate::notify::{channels, outbox};
use crate::observe::server_ends;
use crate::{Context, Error};

/// How long runners may take to write down how their agents ended, before people are told without that.
const PATIENCE: SignedDuration = SignedDuration::from_secs(8);

/// Whether something was written down to be sent.
pub(crate) fn tell(
    context: &Context,
    store: &mut Store,
    server: Server,
    mut sessions: Vec<Session>,
) -> Result<bool, Error> {
    let now = Timestamp::now();
    let mut is_ending = false;
    for session in &mut sessions {
        is_ending |= server_ends::complete(context, store, session);
    }
    let Some(died) = sessions.iter().find_map(|one| one.server_died) else {
        store.death_told(&context.socket, server, None, now)?;
        return Ok(false);
    };
    if is_ending && now.duration_since(died.at) < PATIENCE {
        return Ok(false);
    }
    // An end of its own, which was written down a moment later, stays its end.
    sessions.retain(|one| one.ended().is_none_or(|ended| ended.cause == Cause::Hangup));
    let names: Vec<&str> = sessions.iter().map(|one| one.name.as_str()).collect();
    let text = format!(
        "{died}. Lost: {}. `dogwatch resume --all-lost` resumes their conversations.",
        names.join(", ")
    );
    let data = ServerDeath {
        socket: context.socket.display().to_string(),
        pid: server.pid,
        died,
        sessions: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let title = server_death::title(&names);
    let notice = channels::notice(Occasion::Crashed, title, text, &data);
    let key = format!("server died {} {} {}", data.socket, server.pid, server.start);
    let prepared = outbox::prepare_for_all(context, key, &notice, &sessions);
    let event = prepared.as_ref().map(outbox::Prepared::event);
    let notification = event.as_ref().zip(prepared.as_ref().map(|one| &*one.planned));
    let is_first = store.death_told(&context.socket, server, notification, now);
    Ok(is_first.logged("write down a notification").unwrap_or_default() && prepared.is_some())
}
