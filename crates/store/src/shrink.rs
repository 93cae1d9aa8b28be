//! Returns free pages to the disk. SQLite keeps the pages of removed rows for new ones, so a file never shrinks by itself.

use crate::{Store, StoreError};

/// Pages to release in one step, so that other processes can write in between.
const PAGES: i64 = 1_000;
/// `PRAGMA auto_vacuum` of a file whose free pages can be released step by step.
const INCREMENTAL: i64 = 2;

impl Store {
    /// Shrinks the file and its log to their content.
    pub fn shrink(&mut self) -> Result<(), StoreError> {
        let number = |name: &str| -> Result<i64, StoreError> {
            self.read(|c| c.pragma_query_value(None, name, |row| row.get(0)))
        };
        let batch = |sql: &str| self.read(|c| c.execute_batch(sql));
        if number("auto_vacuum")? == INCREMENTAL {
            let mut left = number("freelist_count")?;
            while left > 0 {
                batch(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
                let now = number("freelist_count")?;
                if now >= left {
                    break;
                }
                left = now;
            }
        } else {
            // Created by an older dogwatch: rewrite it once.
            batch("PRAGMA auto_vacuum = incremental; VACUUM")?;
        }
        // A reader of an older state prevents this; the next call shortens the log.
        let _: i64 =
            self.read(|c| c.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;
    use rusqlite::Connection;

    fn size_when_emptied(dir: &StateDir) -> [u64; 2] {
        let mut store = Store::open(dir).unwrap();
        let fill = "INSERT INTO signals (session, at, agent, event, payload) \
                    SELECT 's', 1, 'a', 'e', hex(zeroblob(2000)) FROM \
                    (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) SELECT i FROM n)";
        store.connection.execute(fill, []).unwrap();
        store.shrink().unwrap();
        let size = || std::fs::metadata(dir.database()).unwrap().len();
        let full = size();
        store.connection.execute("DELETE FROM signals", []).unwrap();
        store.shrink().unwrap();
        store.check().unwrap();
        assert!(std::fs::metadata(dir.database_log()).unwrap().len() < 100_000);
        [full, size()]
    }

    #[test]
    fn the_space_of_removed_rows_is_released() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("state")).unwrap();
        let [full, emptied] = size_when_emptied(&dir);
        assert!(full > 10_000_000 && emptied < 500_000, "{full} {emptied}");
    }

    #[test]
    fn a_file_of_an_older_version_shrinks_too() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("state")).unwrap();
        let older = Connection::open(dir.database()).unwrap();
        older.pragma_update(None, "journal_mode", "wal").unwrap();
        older.execute_batch(include_str!("schema/1.sql")).unwrap();
        older.pragma_update(None, "user_version", 1).unwrap();
        drop(older);
        let [full, emptied] = size_when_emptied(&dir);
        assert!(full > 10_000_000 && emptied < 500_000, "{full} {emptied}");
    }
}
