//! Titles and tags of sessions, and the archive.

use dogwatch_core::label;
use dogwatch_store::Session;
use jiff::Timestamp;

use crate::actions::kill;
use crate::error::SessionError;
use crate::observe::snapshot::{self, SessionSnapshot};
use crate::observe::status;
use crate::{Context, Error};

/// Adds and removes tags of a session, which dogwatch need not have started. Returns it as it is now.
pub fn tag(
    context: &Context,
    target: &str,
    add: &[String],
    remove: &[String],
    now: Timestamp,
) -> Result<Session, Error> {
    label::tags(add)?;
    let seen = status::shown(context, target)?;
    let tags = context.store()?.change_tags(&seen.subject(), add, remove, now)??;
    Ok(Session { tags, ..seen.session })
}

/// Removes all tags of a session.
pub fn untag(context: &Context, target: &str, now: Timestamp) -> Result<Session, Error> {
    let seen = status::shown(context, target)?;
    let mut store = context.store()?;
    let has = store.labels(&seen.session.id)?.tags;
    let tags = store.change_tags(&seen.subject(), &[], &has, now)??;
    Ok(Session { tags, ..seen.session })
}

/// Sets the title of a session; an empty one removes it.
pub fn rename(
    context: &Context,
    target: &str,
    title: &str,
    now: Timestamp,
) -> Result<Session, Error> {
    let title = label::title(title)?;
    let seen = status::shown(context, target)?;
    context.store()?.set_title(&seen.subject(), title.as_deref(), now)?;
    Ok(Session { title, ..seen.session })
}

/// A session, and whether it had to be moved.
#[derive(Debug)]
pub struct Moved {
    pub session: Session,
    pub changed: bool,
}

/// Archives ended sessions. If one of them runs, none is archived. A pane that is left of one is closed; its last screen is kept.
pub fn archive(context: &Context, targets: &[String], now: Timestamp) -> Result<Vec<Moved>, Error> {
    let seen = targets
        .iter()
        .map(|target| snapshot::find(context, target))
        .collect::<Result<Vec<SessionSnapshot>, Error>>()?;
    for one in &seen {
        one.must_be_known()?;
        if !one.life.state.is_over() || one.living_runner().is_some() {
            return Err(SessionError::IsRunning { name: one.session.name.clone() }.into());
        }
    }
    let mut moved = Vec::new();
    for one in seen {
        let changed = !one.session.archived;
        if changed {
            kill::put_away(context, &one, now)?;
        }
        moved.push(Moved { session: one.session, changed });
    }
    Ok(moved)
}

/// Brings sessions back from the archive. Of several that bear the name, the one that is archived is meant, the newest first.
pub fn unarchive(
    context: &Context,
    targets: &[String],
    now: Timestamp,
) -> Result<Vec<Moved>, Error> {
    let mut store = context.store()?;
    let mut meant = Vec::new();
    for target in targets {
        let mut found = snapshot::candidates(context, &store, target)?;
        let at = found.iter().position(|session| session.archived).unwrap_or(0);
        if at >= found.len() {
            let target = target.clone();
            return Err(SessionError::NoSuchSession { target, near: None }.into());
        }
        meant.push(found.swap_remove(at));
    }
    let mut moved = Vec::new();
    for session in meant {
        let changed = store.unarchive(&session.id, now)?;
        moved.push(Moved { session, changed });
    }
    Ok(moved)
}
