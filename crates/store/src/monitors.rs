//! Who looks after a registry and reports to somebody, and how far they have told: after a restart they go on from there.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use crate::{Store, StoreError};

/// A post as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    pub begun: Timestamp,
    /// The last entry of the journal that was told.
    pub told: i64,
    /// How much had been said there before.
    pub heard: u32,
}

/// A difference of a registry, as the journal has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToldDrift {
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
                    Ok(Assignment { begun, told: row.get(1)?, heard: row.get(2)? })
                })
                .optional()
        })
    }

    /// Begins a post: what happens from now on is told there.
    pub fn begin_post(
        &mut self,
        desk: &str,
        registry: &str,
        heard: u32,
        at: Timestamp,
    ) -> Result<Assignment, StoreError> {
        self.transaction(|tx| {
            let told = tx.query_row("SELECT coalesce(max(id), 0) FROM journal", [], |r| r.get(0))?;
            tx.execute(
                "INSERT OR REPLACE INTO monitors (desk, registry, begun, told, heard) VALUES (?, ?, ?, ?, ?)",
                params![desk, registry, at.as_millisecond(), told, heard],
            )?;
            Ok(Assignment { begun: at, told, heard })
        })
    }

    /// Notes that all up to this entry was told.
    pub fn told_at(&mut self, desk: &str, registry: &str, told: i64) -> Result<(), StoreError> {
        let sql = "UPDATE monitors SET told = max(told, ?) WHERE desk = ? AND registry = ?";
        self.transaction(|tx| tx.execute(sql, params![told, desk, registry]).map(drop))
    }

    pub fn end_post(&mut self, desk: &str, registry: &str) -> Result<(), StoreError> {
        let sql = "DELETE FROM monitors WHERE desk = ? AND registry = ?";
        self.transaction(|tx| tx.execute(sql, [desk, registry]).map(drop))
    }

    /// The differences of a registry that were written down after this entry, oldest first.
    pub fn drifts_after(&self, registry: &str, after: i64) -> Result<Vec<ToldDrift>, StoreError> {
        let sql = "SELECT id, at, data FROM journal WHERE id > ? AND event = 'drift' \
                   AND json_extract(data, '$.registry') = ? ORDER BY id LIMIT 500";
        self.read(|c| {
            c.prepare_cached(sql)?
                .query_map(params![after, registry], |row| {
                    let data: String = row.get(2)?;
                    Ok(ToldDrift {
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
    fn from_where_it_was_left() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = Timestamp::from_second(1_794_700_000).unwrap();
        let drift = |store: &mut Store, registry: &str, n: i64| {
            let data = json!({ "registry": registry, "n": n });
            store.tell(at, Some("s"), "drift", &data).unwrap();
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
        assert_eq!(seen(&store, post.told), [2, 4]);
        let first = store.drifts_after("/r", post.told).unwrap()[0].number;
        store.told_at("kanban t", "/r", first).unwrap();
        let again = store.post_at("kanban t", "/r").unwrap().unwrap();
        assert_eq!((seen(&store, again.told), again.heard), (vec![4], 2));
        store.end_post("kanban t", "/r").unwrap();
        assert_eq!(store.post_at("kanban t", "/r").unwrap(), None);
    }
}
