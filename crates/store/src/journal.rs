//! The journal: all events in order. An entry is written in the transaction of its change, and while a relay is
//! configured so is its row in the outbox: none exists without the others.

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::{Event, Subject, VERSION, kind};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{Store, StoreError, outbox};

/// Longest journal; the oldest entries are removed.
pub const MOST_ENTRIES: i64 = 100_000;
/// How often the length is checked.
const TRIM_EVERY: i64 = 500;

/// An event with its number in the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub number: i64,
    /// Without the host, which the journal does not know.
    pub event: Event,
}

/// A selection of entries.
#[derive(Debug, Clone, Copy, Default)]
pub struct Range<'a> {
    /// Only entries after this number.
    pub after: i64,
    pub since: Option<Timestamp>,
    /// Only entries about this session, by id or name.
    pub session: Option<&'a str>,
    pub kind: Option<&'a str>,
    /// Only the first N.
    pub most: Option<u32>,
}

/// Adds an entry about a session in the transaction of its change. Without a session it is about the host.
pub(crate) fn append(
    tx: &Transaction<'_>,
    at: Timestamp,
    session: &str,
    kind: &str,
    data: &impl Serialize,
) -> rusqlite::Result<()> {
    // A session of a registry may be unmanaged: then only its name is known.
    let named = || Subject { id: session.into(), name: session.into(), agent: String::new() };
    let known = subject(tx, session)?;
    let subject = known.or_else(|| (!session.is_empty()).then(named));
    append_of(tx, at, session, subject.as_ref(), kind, data)
}

/// The same for a session without a row in the database.
pub(crate) fn append_of(
    tx: &Transaction<'_>,
    at: Timestamp,
    session: &str,
    subject: Option<&Subject>,
    kind: &str,
    data: &impl Serialize,
) -> rusqlite::Result<()> {
    let data = serde_json::to_value(data).logged("write JSON").unwrap_or_default();
    let id = Uuid::now_v7().to_string();
    tx.prepare_cached(
        "INSERT INTO journal (uuid, at, session, name, agent, event, data) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        id,
        at.as_millisecond(),
        session,
        subject.map(|s| &s.name),
        subject.map(|s| &s.agent),
        kind,
        data.to_string()
    ])?;
    let number = tx.last_insert_rowid();
    if number % TRIM_EVERY == 0 {
        trim(tx, number)?;
    }
    outbox::add(tx, || Event {
        v: VERSION,
        id,
        at: to_millisecond(at),
        host: String::new(),
        kind: kind.to_owned(),
        session: subject.cloned(),
        data,
    })
}

pub(crate) fn subject(tx: &Transaction<'_>, session: &str) -> rusqlite::Result<Option<Subject>> {
    tx.prepare_cached("SELECT id, name, agent FROM sessions WHERE id = ?")?
        .query_row([session], |row| {
            Ok(Subject { id: row.get(0)?, name: row.get(1)?, agent: row.get(2)? })
        })
        .optional()
}

fn trim(tx: &Transaction<'_>, newest: i64) -> rusqlite::Result<()> {
    tx.execute("DELETE FROM journal WHERE id <= ?", [newest - MOST_ENTRIES]).map(drop)
}

/// Rounded as stored, so that the same event reads the same everywhere.
fn to_millisecond(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}

impl Store {
    /// Records an event without another change in the database: a heartbeat, an escalation.
    pub fn record_event(
        &mut self,
        at: Timestamp,
        session: Option<&str>,
        kind: &str,
        data: &impl Serialize,
    ) -> Result<(), StoreError> {
        self.transaction(|tx| {
            if kind == kind::HEARTBEAT {
                outbox::forget(tx, kind)?;
            }
            append(tx, at, session.unwrap_or_default(), kind, data)
        })
    }

    /// The journal of one session, oldest first.
    pub fn journal(&self, session: &str) -> Result<Vec<Entry>, StoreError> {
        self.entries(&Range { session: Some(session), ..Range::default() })
    }

    /// The selected entries, oldest first.
    pub fn entries(&self, range: &Range<'_>) -> Result<Vec<Entry>, StoreError> {
        let values = params![
            range.after,
            range.since.map(Timestamp::as_millisecond),
            range.session,
            range.kind,
            range.most.map_or(-1, i64::from)
        ];
        self.read(|c| {
            c.prepare_cached(
                "SELECT id, uuid, at, session, name, agent, event, data FROM journal \
                 WHERE id > ?1 AND (?2 IS NULL OR at >= ?2) AND (?3 IS NULL OR session = ?3 OR name = ?3) \
                 AND (?4 IS NULL OR event = ?4) ORDER BY id LIMIT ?5",
            )?
            .query_map(values, from_row)?
            .collect()
        })
    }

    /// The number after which the last `count` selected entries come.
    pub fn before_last(&self, range: &Range<'_>, count: u32) -> Result<i64, StoreError> {
        let values = params![
            range.after,
            range.since.map(Timestamp::as_millisecond),
            range.session,
            range.kind,
            count
        ];
        let first: Option<i64> = self.read(|c| {
            c.prepare_cached(
                "SELECT min(id) FROM (SELECT id FROM journal \
                 WHERE id > ?1 AND (?2 IS NULL OR at >= ?2) AND (?3 IS NULL OR session = ?3 OR name = ?3) \
                 AND (?4 IS NULL OR event = ?4) ORDER BY id DESC LIMIT ?5)",
            )?
            .query_row(values, |row| row.get(0))
        })?;
        Ok(first.map_or(range.after, |first| first - 1))
    }

    /// The number of the oldest entry that is kept; 0 if there is none.
    pub fn first_entry(&self) -> Result<i64, StoreError> {
        self.read(|c| c.query_row("SELECT coalesce(min(id), 0) FROM journal", [], |row| row.get(0)))
    }

    /// The number of the last entry.
    pub fn last_entry(&self) -> Result<i64, StoreError> {
        self.read(|c| c.query_row("SELECT coalesce(max(id), 0) FROM journal", [], |row| row.get(0)))
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let session: String = row.get(3)?;
    let name: Option<String> = row.get(4)?;
    let agent: Option<String> = row.get(5)?;
    let named = || Subject {
        name: name.unwrap_or_else(|| session.clone()),
        agent: agent.unwrap_or_default(),
        id: session.clone(),
    };
    Ok(Entry {
        number: row.get(0)?,
        event: Event {
            v: VERSION,
            id: row.get::<_, Option<String>>(1)?.unwrap_or_default(),
            at: Timestamp::from_millisecond(row.get(2)?).unwrap_or_default(),
            host: String::new(),
            kind: row.get(6)?,
            session: (!session.is_empty()).then(named),
            data: serde_json::from_str(&row.get::<_, String>(7)?).unwrap_or(Value::Null),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;
    use serde_json::json;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_794_700_000 + second).unwrap()
    }

    fn store() -> (tempfile::TempDir, Store) {
        let tmp = tempfile::tempdir().unwrap();
        let store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        (tmp, store)
    }

    #[test]
    fn entries_are_selected_by_time_session_and_kind() {
        let (_tmp, mut store) = store();
        for (second, session, kind) in
            [(1, Some("a"), "x"), (2, Some("b"), "y"), (3, None, "x"), (4, Some("a"), "y")]
        {
            store.record_event(at(second), session, kind, &json!({ "n": second })).unwrap();
        }
        let found = |range: Range<'_>| -> Vec<i64> {
            let entries = store.entries(&range).unwrap();
            entries.iter().map(|e| e.event.data["n"].as_i64().unwrap()).collect()
        };
        assert_eq!(found(Range::default()), [1, 2, 3, 4]);
        assert_eq!(found(Range { since: Some(at(3)), ..Range::default() }), [3, 4]);
        assert_eq!(found(Range { session: Some("a"), ..Range::default() }), [1, 4]);
        assert_eq!(found(Range { kind: Some("x"), ..Range::default() }), [1, 3]);
        assert_eq!(found(Range { most: Some(2), ..Range::default() }), [1, 2]);
        let last = |range: Range<'_>, count| {
            found(Range { after: store.before_last(&range, count).unwrap(), ..range })
        };
        assert_eq!(last(Range::default(), 2), [3, 4]);
        assert_eq!(last(Range { kind: Some("x"), ..Range::default() }, 1), [3]);
        assert_eq!(last(Range::default(), 9), [1, 2, 3, 4]);
        assert_eq!(last(Range { after: 4, ..Range::default() }, 1), [0; 0]);
        assert_eq!(found(Range { after: 3, ..Range::default() }), [4]);
        let all = store.entries(&Range::default()).unwrap();
        assert_eq!(all[2].event.session, None);
        assert_eq!(all[0].event.session.as_ref().unwrap().id, "a");
        assert!(all.is_sorted_by(|a, b| a.event.id < b.event.id), "ids sort by time");
        assert!(all.iter().all(|e| Uuid::parse_str(&e.event.id).unwrap().get_version_num() == 7));
    }

    #[test]
    fn the_journal_has_a_limited_length() {
        let (_tmp, mut store) = store();
        store.record_event(at(0), None, "first", &Value::Null).unwrap();
        let jump = "UPDATE sqlite_sequence SET seq = ? WHERE name = 'journal'";
        store.connection.execute(jump, [MOST_ENTRIES + TRIM_EVERY - 1]).unwrap();
        store.record_event(at(1), None, "last", &Value::Null).unwrap();
        let left = store.entries(&Range::default()).unwrap();
        assert_eq!(left.iter().map(|e| e.event.kind.as_str()).collect::<Vec<_>>(), ["last"]);
    }
}
