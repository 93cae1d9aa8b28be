//! The journal, read once and sorted by session.

use std::collections::BTreeMap;

use dogwatch_core::event::{Subject, kind};
use dogwatch_protocol::id::SessionId;
use dogwatch_store::{Entry, Range, Store};

use super::Period;
use crate::Error;

/// Entries that are read at once.
const AT_ONCE: u32 = 2_000;
/// Of one session.
const MOST: usize = 20_000;
/// Collisions; recorded by a dogwatch that looks for them.
pub(super) const COLLISION: &str = "collision";

/// What the journal has of a session.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) subject: Option<Subject>,
    /// The last known state before the period, then all entries in it, oldest first.
    pub(super) entries: Vec<Entry>,
    /// How many of the entries are from before.
    pub(super) before: usize,
    pub(super) is_cut: bool,
}

impl History {
    /// Whether something happened in the period.
    pub(super) fn is_within(&self) -> bool {
        self.entries.len() > self.before
    }

    pub(super) fn of_kind(&self, wanted: &str) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.event.kind == wanted)
    }
}

/// The histories of all sessions, by id.
pub(super) fn read(store: &Store, period: Period) -> Result<BTreeMap<SessionId, History>, Error> {
    let mut all: BTreeMap<SessionId, History> = BTreeMap::new();
    let mut after = 0;
    loop {
        let range = Range { after, most: Some(AT_ONCE), ..Range::default() };
        let entries = store.entries(&range)?;
        let Some(last) = entries.last() else { return Ok(all) };
        after = last.number;
        for entry in entries {
            let Some(subject) = entry.event.session.clone() else { continue };
            let Ok(id) = subject.id.parse::<SessionId>() else { continue };
            let history = all.entry(id).or_default();
            history.subject = Some(subject);
            take_in(history, entry, period);
        }
    }
}

fn take_in(history: &mut History, entry: Entry, period: Period) {
    if entry.event.at > period.until {
        return;
    }
    if entry.event.at < period.since {
        if entry.event.kind == kind::STATE {
            history.entries = vec![entry];
            history.before = 1;
        }
    } else if history.entries.len() < MOST {
        history.entries.push(entry);
    } else {
        history.is_cut = true;
    }
}
