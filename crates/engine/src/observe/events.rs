//! The journal, read once or as it grows.

use std::collections::BTreeSet;
use std::time::Duration;

use dogwatch_core::event::Event;
use dogwatch_store::{Entry, Range, Store};
use jiff::Timestamp;

use crate::observe::changes::{Changes, Interest, Waker};
use crate::observe::snapshot;
use crate::{Context, Error};

/// Entries that are read at once.
const AT_ONCE: u32 = 500;

/// Which events are wanted.
#[derive(Debug, Clone, Default)]
pub struct Query {
    pub since: Option<Timestamp>,
    /// About this session, by id or name.
    pub session: Option<String>,
    pub kind: Option<String>,
    pub last: Option<u32>,
}

/// Refuses a name or id that neither the journal nor the store has ever heard of.
pub fn must_be_known(context: &Context, session: &str) -> Result<(), Error> {
    let one = Range { session: Some(session), most: Some(1), ..Range::default() };
    let store = context.store()?;
    if !store.entries(&one)?.is_empty() || store.knows(session)? {
        return Ok(());
    }
    snapshot::find(context, session).map(drop)
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

    /// The next that were not read yet, oldest first; none once all were read. A journal may have 100,000: nobody waits for the last
    /// of them to be shown the first.
    pub fn read(&mut self) -> Result<Vec<Event>, Error> {
        self.store.check_files()?;
        let newest = self.store.last_entry()?;
        let range = Range {
            after: self.after,
            since: self.query.since,
            session: self.query.session.as_deref(),
            kind: self.query.kind.as_deref(),
            most: Some(AT_ONCE),
        };
        // What comes later is wanted whole.
        let after = match self.query.last.take() {
            Some(count) => self.store.before_last(&range, count)?,
            None => self.after,
        };
        let entries = self.store.entries(&Range { after, ..range })?;
        let is_all = entries.len() < usize::try_from(AT_ONCE).unwrap_or(usize::MAX);
        let last = entries.last().map_or(after, |entry| entry.number);
        self.after = if is_all { last.max(newest) } else { last };
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
