//! The journal, read once or as it grows.

use std::collections::BTreeSet;
use std::time::Duration;

use dogwatch_core::event::Event;
use dogwatch_store::{Entry, Range, Store};
use jiff::Timestamp;

use crate::sense::changes::{Changes, Interest, Waker};
use crate::{Context, Error};

/// Which events are wanted.
#[derive(Debug, Clone, Default)]
pub struct Query {
    pub since: Option<Timestamp>,
    /// About this session, by id or name.
    pub session: Option<String>,
    pub kind: Option<String>,
    pub last: Option<u32>,
}

/// The journal of one state folder.
#[derive(Debug)]
pub struct Journal {
    store: Store,
    query: Query,
    /// This host's name, which the journal does not have.
    host: String,
    after: i64,
    changes: Changes<()>,
}

impl Journal {
    pub fn open(context: &Context, query: Query, host: String) -> Result<Self, Error> {
        let mut changes = Changes::new();
        changes.set(BTreeSet::from([(Interest::File(context.state.database_log()), ())]));
        Ok(Self { store: context.store()?, query, host, after: 0, changes })
    }

    /// Those that were not read yet, oldest first.
    pub fn read(&mut self) -> Result<Vec<Event>, Error> {
        let newest = self.store.last_entry()?;
        let range = Range {
            after: self.after,
            since: self.query.since,
            session: self.query.session.as_deref(),
            kind: self.query.kind.as_deref(),
            // What comes later is wanted whole.
            last: self.query.last.filter(|_| self.after == 0),
        };
        let entries = self.store.entries(&range)?;
        self.after = entries.last().map_or(self.after, |entry| entry.number).max(newest);
        let name = |entry: Entry| Event { host: self.host.clone(), ..entry.event };
        Ok(entries.into_iter().map(name).collect())
    }

    /// Waits until something may have been added, at most so long.
    pub fn wait(&mut self, at_most: Duration) {
        self.changes.wait(at_most);
    }

    /// Ends a wait early, from another thread.
    pub fn waker(&self) -> Waker {
        self.changes.waker()
    }
}
