//! Assignments of monitors to report targets, and the last reported drift: a restarted monitor continues after it.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use crate::{Store, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    pub begun: Timestamp,
    /// The last journal entry that was reported.
    pub reported: i64,
    /// Number of comments before the assignment.
    pub heard: u32,
}

/// A drift of a registry from the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalDrift {
    pub number: i64,
    pub at: Timestamp,
    pub data: Value,
}

impl Store {
    pub fn post_at(&self, desk: &str, registry: &str) -> Result<Option<Assignment>, StoreError> {
        let sql = "SELECT begun, told, heard FROM monitors WHERE desk = ? AND registry = ?";
        self.read(|c| {
            c.prepare_cached(sql)?
                .query_row([desk, registry], |row| {
                    let begun = Timestamp::from_millisecond(row.get(0)?).unwrap_or_default();
                    Ok(Assignment { begun, reported: row.get(1)?, heard: row.get(2)? })
                })
                .optional()
        })
    }

    /// Begins an assignment: events from now on are reported.
    pub fn begin_post(
        &mut self,
        desk: &str,
        registry: &str,
        heard: u32,
        at: Timestamp,
    ) -> Result<Assignment, StoreError> {
        self.transaction(|tx| {
            let reported = tx.query_row("SELECT coalesce(max(id), 0) FROM journal", [], |r| r.get(0))?;
            tx.execute(
                "INSERT OR REPLACE INTO monitors (desk, registry, begun, told, heard) VALUES (?, ?, ?, ?, ?)",
                params![desk, registry, at.as_millisecond(), reported, heard],
            )?;
            Ok(Assignment { begun: at, reported, heard })
        })
    }

    /// Records that everything up to this entry was reported.
    pub fn set_reported(
        &mut self,
        desk: &str,
        registry: &str,
        reported: i64,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE monitors SET told = max(told, ?) WHERE desk = ? AND registry = ?";
        self.transaction(|tx| tx.execute(sql, params![reported, desk, registry]).map(drop))
    }

    pub fn end_post(&mut self, desk: &str, registry: &str) -> Result<(), StoreError> {
        let sql = "DELETE FROM monitors WHERE desk = ? AND registry = ?";
        self.transaction(|tx| tx.execute(sql, [desk, registry]).map(drop))
    }

    /// The drifts of a registry after this journal entry, oldest first.
    pub fn drifts_after(
        &self,
        registry: &str,
        after: i64,
    ) -> Result<Vec<JournalDrift>, StoreError> {
        let sql = "SELECT id, at, data FROM journal WHERE id > ? AND event = 'drift' \
                   AND json_extract(data, '$.registry') = ? ORDER BY id LIMIT 500";
        self.read(|c| {
            c.prepare_cached(sql)?
                .query_map(params![after, registry], |row| {
                    let data: String = row.get(2)?;
                    Ok(JournalDrift {
                        number: row.get(0)?,
                        at: Timestamp::from_millisecond(row.get(1)?).unwrap_or_default(),
                        data: serde_json::from_str(&data).unwrap_or_default(),
                    })
                })?
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;
    use serde_json::json;

    #[test]
    fn a_monitor_continues_where_the_last_one_stopped() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = Timestamp::from_second(1_794_700_000).unwrap();
        let drift = |store: &mut Store, registry: &str, n: i64| {
            let data = json!({ "registry": registry, "n": n });
            store.record_event(at, Some("s"), "drift", &data).unwrap();
        };
        drift(&mut store, "/r", 1);
        let post = store.begin_post("kanban t", "/r", 2, at).unwrap();
        drift(&mut store, "/r", 2);
        drift(&mut store, "/other", 3);
        drift(&mut store, "/r", 4);
        let seen = |store: &Store, after| -> Vec<i64> {
            let all = store.drifts_after("/r", after).unwrap();
            all.iter().map(|drift| drift.data["n"].as_i64().unwrap()).collect()
        };
        assert_eq!(seen(&store, post.reported), [2, 4]);
        let first = store.drifts_after("/r", post.reported).unwrap()[0].number;
        store.set_reported("kanban t", "/r", first).unwrap();
        let again = store.post_at("kanban t", "/r").unwrap().unwrap();
        assert_eq!((seen(&store, again.reported), again.heard), (vec![4], 2));
        store.end_post("kanban t", "/r").unwrap();
        assert_eq!(store.post_at("kanban t", "/r").unwrap(), None);
    }
}
