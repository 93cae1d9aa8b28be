//! Numbers that each session has for itself, such as a port.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};

use dogwatch_core::record::ProcessIdent;
use dogwatch_core::worktree::settings::Range;
use dogwatch_store::{Session, Store};
use jiff::{SignedDuration, Timestamp};

use crate::error::WorktreeError;
use crate::observe::processes;
use crate::{Context, Error};

/// How long the making of a session may take, between its numbers and its first process.
const JUST_MADE: SignedDuration = SignedDuration::from_mins(1);

/// Gives a session a number for each name that no living session has. For names that end in `PORT`, nobody listens on it either.
pub fn allocate(
    context: &Context,
    session: &str,
    ranges: &BTreeMap<String, Range>,
) -> Result<Vec<(String, String)>, Error> {
    if ranges.is_empty() {
        return Ok(Vec::new());
    }
    let mut store = context.store()?;
    let freed = over(context, &store)?;
    let names: Vec<&str> = ranges.keys().map(String::as_str).collect();
    let given = store.allocate(session, &names, &freed, Timestamp::now(), |name, taken| {
        let range = ranges[name];
        let none = || WorktreeError::NoFreeValue {
            name: name.to_owned(),
            first: range.first,
            last: range.last,
        };
        range
            .choose(taken, |value| !name.ends_with("PORT") || nobody_listens(value))
            .ok_or_else(none)
    })?;
    Ok(given?.into_iter().map(|(name, value)| (name, value.to_string())).collect())
}

/// Sessions that hold numbers and are over.
pub fn over(context: &Context, store: &Store) -> Result<Vec<String>, Error> {
    let mut over = Vec::new();
    for id in store.holders()? {
        let lives = match store.by_id(&id)? {
            Some(session) => lives(context, &session),
            // It is about to be made, unless its maker was killed.
            None => store.worktree(&id)?.is_some_and(|one| processes::is_alive(one.maker)),
        };
        if !lives {
            over.push(id);
        }
    }
    Ok(over)
}

pub fn lives(context: &Context, session: &Session) -> bool {
    if session.is_over() || session.archived {
        return false;
    }
    let recorded = context.state.session(&session.id);
    if recorded.ended().is_some() {
        return false;
    }
    match session.started().cloned().or_else(|| recorded.started()) {
        Some(started) => {
            let is_alive = |one: ProcessIdent| processes::is_alive(one);
            is_alive(started.runner) || is_alive(started.agent)
        }
        None => Timestamp::now().duration_since(session.created) < JUST_MADE,
    }
}

fn nobody_listens(port: u32) -> bool {
    u16::try_from(port).is_ok_and(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
}
