//! Numbers that each session has for itself, such as a port.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};

use dogwatch_core::record::ProcessIdent;
use dogwatch_core::worktree::settings::Range;
use dogwatch_store::{Session, Store};
use jiff::{SignedDuration, Timestamp};

use crate::error::WorktreeError;
use crate::observe::processes;
use crate::{Context, Error};

/// How long the making of a session may take, between its numbers and its first process.
const JUST_MADE: SignedDuration = SignedDuration::from_mins(1);

/// Gives a session a number for each name that no living session has. For names that end in `PORT`, no process listens on it either.
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

/// Neither on this machine's own address nor on all of them. An address that there is not, such as without IPv6, is free.
fn nobody_listens(port: u32) -> bool {
    let Ok(port) = u16::try_from(port) else { return false };
    let addresses: [IpAddr; 4] = [
        Ipv4Addr::LOCALHOST.into(),
        Ipv6Addr::LOCALHOST.into(),
        Ipv4Addr::UNSPECIFIED.into(),
        Ipv6Addr::UNSPECIFIED.into(),
    ];
    let is_taken = [ErrorKind::AddrInUse, ErrorKind::PermissionDenied];
    let is_free = |address: &IpAddr| match TcpListener::bind((*address, port)) {
        Ok(_) => true,
        Err(error) => !is_taken.contains(&error.kind()),
    };
    addresses.iter().all(is_free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_taken_on_whichever_address() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            // Without IPv6 there is nothing to find.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let port = u32::from(listener.local_addr().unwrap().port());
            assert!(!nobody_listens(port), "{address}");
            drop(listener);
            assert!(nobody_listens(port), "{address}");
        }
        assert!(!nobody_listens(70_000));
    }
}
