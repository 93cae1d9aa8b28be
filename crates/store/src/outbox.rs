//! Events on their way to a broker. A row is written with its event and removed when the broker has confirmed it. After a crash in
//! between, the event is sent again under the same id.

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::Event;
use dogwatch_protocol::event_data::LeftOut;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction, params};

use crate::{Store, StoreError};

/// Longest queue; if the broker is away for longer, the oldest events are dropped and counted.
pub const MOST_WAITING: i64 = 100_000;
const TRIM_EVERY: i64 = 500;
/// Longest event that is sent with its data.
const MOST_BYTES: usize = 256 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    pub number: i64,
    pub event: Event,
}

/// The state of the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    pub waiting: i64,
    /// Dropped since relaying began.
    pub dropped: i64,
}

/// Adds an event if relaying is on.
pub(crate) fn add(tx: &Transaction<'_>, event: impl FnOnce() -> Event) -> rusqlite::Result<()> {
    let is_relayed =
        tx.prepare_cached("SELECT 1 FROM relay")?.query_row([], |_| Ok(())).optional()?;
    if is_relayed.is_none() {
        return Ok(());
    }
    let mut event = event();
    let mut text = serde_json::to_string(&event).logged("write JSON").unwrap_or_default();
    if text.len() > MOST_BYTES {
        // A broker that refuses this message would get no later one either.
        let left_out = format!("{} bytes; the journal has them", text.len());
        event.data = serde_json::to_value(LeftOut { left_out }).unwrap_or_default();
        text = serde_json::to_string(&event).logged("write JSON").unwrap_or_default();
    }
    tx.prepare_cached("INSERT INTO outbox (kind, event) VALUES (?, ?)")?
        .execute(params![event.kind, text])?;
    let newest = tx.last_insert_rowid();
    if newest % TRIM_EVERY == 0 {
        let given_up =
            tx.execute("DELETE FROM outbox WHERE number <= ?", [newest - MOST_WAITING])?;
        tx.execute(
            "UPDATE relay SET dropped = dropped + ?",
            [i64::try_from(given_up).unwrap_or(0)],
        )?;
    }
    Ok(())
}

/// Removes waiting events of a kind of which only the last one matters.
pub(crate) fn forget(tx: &Transaction<'_>, kind: &str) -> rusqlite::Result<()> {
    tx.execute("DELETE FROM outbox WHERE kind = ?", [kind]).map(drop)
}

impl Store {
    /// Turns relaying on: from now on every event of every process waits here until the broker has it.
    pub fn begin_relay(&mut self, at: Timestamp) -> Result<(), StoreError> {
        let begun = self.read(|c| {
            c.query_row("SELECT 1 FROM relay", [], |_| Ok(())).optional().map(|row| row.is_some())
        })?;
        if begun {
            return Ok(());
        }
        self.transaction(|tx| {
            tx.execute(
                "INSERT OR IGNORE INTO relay (one, since) VALUES (1, ?)",
                [at.as_millisecond()],
            )
            .map(drop)
        })
    }

    /// Turns relaying off and discards what waits.
    pub fn end_relay(&mut self) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute("DELETE FROM relay", [])?;
            tx.execute("DELETE FROM outbox", []).map(drop)
        })
    }

    /// The next events to send, in order, after one that was sent already.
    pub fn waiting_after(&self, number: i64, most: usize) -> Result<Vec<Waiting>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows: Vec<(i64, String)> = self.read(|c| {
            c.prepare_cached(
                "SELECT number, event FROM outbox WHERE number > ? ORDER BY number LIMIT ?",
            )?
            .query_map([number, most], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect()
        })?;
        let read = |(number, text): (i64, String)| {
            Some(Waiting { number, event: serde_json::from_str(&text).logged("read JSON")? })
        };
        Ok(rows.into_iter().filter_map(read).collect())
    }

    /// The broker has confirmed everything up to this event.
    pub fn confirmed(&mut self, up_to: i64) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.prepare_cached("DELETE FROM outbox WHERE number <= ?")?.execute([up_to]).map(drop)
        })
    }

    /// The state of the outbox; `None` if relaying is off.
    pub fn backlog(&self) -> Result<Option<Backlog>, StoreError> {
        self.read(|c| {
            c.query_row("SELECT (SELECT count(*) FROM outbox), dropped FROM relay", [], |row| {
                Ok(Backlog { waiting: row.get(0)?, dropped: row.get(1)? })
            })
            .optional()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;
    use dogwatch_core::event::kind;
    use serde_json::json;

    #[test]
    fn events_are_kept_until_confirmed_and_only_while_relaying_is_on() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = Timestamp::from_second(1_794_700_000).unwrap();
        store.record_event(at, None, "before", &json!(1)).unwrap();
        assert_eq!(store.backlog().unwrap(), None);
        store.begin_relay(at).unwrap();
        store.begin_relay(at).unwrap();
        for n in 1..=3 {
            store.record_event(at, Some("s"), "e", &json!(n)).unwrap();
        }
        let first = store.waiting_after(0, 2).unwrap();
        assert_eq!(first.iter().map(|w| &w.event.data).collect::<Vec<_>>(), [1, 2]);
        let journalled = store.journal("s").unwrap();
        assert_eq!(first[0].event.id, journalled[0].event.id, "the same id everywhere");
        assert_eq!(store.waiting_after(first[1].number, 9).unwrap()[0].event.data, json!(3));
        store.confirmed(first[1].number).unwrap();
        assert_eq!(store.backlog().unwrap(), Some(Backlog { waiting: 1, dropped: 0 }));
        for n in 4..=5 {
            store.record_event(at, None, kind::HEARTBEAT, &json!(n)).unwrap();
        }
        let left: Vec<_> =
            store.waiting_after(0, 9).unwrap().into_iter().map(|w| w.event.data).collect();
        assert_eq!(left, [3, 5], "of heartbeats the last");
        let long = "x".repeat(MOST_BYTES);
        store.record_event(at, None, "long", &json!(long)).unwrap();
        let last = store.waiting_after(0, 9).unwrap().pop().unwrap();
        assert!(last.event.data["left_out"].is_string());
        store.end_relay().unwrap();
        store.record_event(at, None, "after", &json!(6)).unwrap();
        assert_eq!(store.waiting_after(0, 9).unwrap(), []);
    }

    #[test]
    fn the_outbox_has_a_limited_length() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = Timestamp::from_second(1_794_700_000).unwrap();
        store.begin_relay(at).unwrap();
        store.record_event(at, None, "first", &json!(1)).unwrap();
        let jump = "UPDATE sqlite_sequence SET seq = ? WHERE name = 'outbox'";
        store.connection.execute(jump, [MOST_WAITING + TRIM_EVERY - 1]).unwrap();
        store.record_event(at, None, "last", &json!(2)).unwrap();
        assert_eq!(store.backlog().unwrap(), Some(Backlog { waiting: 1, dropped: 1 }));
    }
}
