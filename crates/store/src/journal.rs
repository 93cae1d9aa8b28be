use jiff::Timestamp;
use rusqlite::{Transaction, params};
use serde_json::Value;

use crate::{Store, StoreError};

/// Something that happened to a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub id: i64,
    pub at: Timestamp,
    pub session: String,
    pub event: String,
    pub data: Value,
}

/// Adds an entry in the transaction of the change that it tells of.
pub(crate) fn append(
    tx: &Transaction<'_>,
    at: Timestamp,
    session: &str,
    event: &str,
    data: &Value,
) -> rusqlite::Result<()> {
    tx.prepare_cached("INSERT INTO journal (at, session, event, data) VALUES (?, ?, ?, ?)")?
        .execute(params![at.as_millisecond(), session, event, data.to_string()])
        .map(drop)
}

impl Store {
    /// Writes down that something happened which changes nothing else in the database.
    pub fn tell(
        &mut self,
        at: Timestamp,
        session: Option<&str>,
        event: &str,
        data: &Value,
    ) -> Result<(), StoreError> {
        self.transaction(|tx| append(tx, at, session.unwrap_or_default(), event, data))
    }

    /// The journal of one session, oldest first.
    pub fn journal(&self, session: &str) -> Result<Vec<Entry>, StoreError> {
        self.read(|c| {
            c.prepare_cached(
                "SELECT id, at, session, event, data FROM journal WHERE session = ? ORDER BY id",
            )?
            .query_map([session], |row| {
                Ok(Entry {
                    id: row.get(0)?,
                    at: Timestamp::from_millisecond(row.get(1)?).unwrap_or_default(),
                    session: row.get(2)?,
                    event: row.get(3)?,
                    data: serde_json::from_str(&row.get::<_, String>(4)?).unwrap_or(Value::Null),
                })
            })?
            .collect()
        })
    }
}
