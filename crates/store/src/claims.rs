//! Which pane works on which task. The session file has the same and is what people read; this copy survives when a person saves
//! an older text over it.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::{Server, Store, StoreError};

/// A pane that holds a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub task: u32,
    pub pane: String,
    pub server: Server,
}

impl Store {
    /// The tasks of a session file that are claimed.
    pub fn claims(&self, file: &Path) -> Result<Vec<Claim>, StoreError> {
        let sql = "SELECT task, pane, server_pid, server_start FROM claims WHERE file = ? AND over IS NULL ORDER BY at, task";
        self.read(|c| {
            c.prepare_cached(sql)?
                .query_map([text(file)], |row| {
                    Ok(Claim {
                        task: row.get(0)?,
                        pane: row.get(1)?,
                        server: Server { pid: row.get(2)?, start: row.get(3)? },
                    })
                })?
                .collect()
        })
    }

    /// The task that a pane holds, in whichever session file.
    pub fn claimed_by(&self, pane: &str, server: Server) -> Result<Option<u32>, StoreError> {
        let sql = "SELECT task FROM claims WHERE pane = ? AND server_pid = ? AND server_start = ? \
                   AND over IS NULL ORDER BY at DESC LIMIT 1";
        self.read(|c| {
            c.prepare_cached(sql)?
                .query_row(params![pane, server.pid, server.start], |row| row.get(0))
                .optional()
        })
    }

    /// When a task was last claimed.
    pub fn claimed_at(&self, file: &Path, task: u32) -> Result<Option<Timestamp>, StoreError> {
        let sql = "SELECT at FROM claims WHERE file = ? AND task = ?";
        let at: Option<i64> = self.read(|c| {
            c.prepare_cached(sql)?.query_row(params![text(file), task], |row| row.get(0)).optional()
        })?;
        Ok(at.and_then(|at| Timestamp::from_millisecond(at).ok()))
    }

    /// The highest number of a task that was ever claimed.
    pub fn highest_claim(&self, file: &Path) -> Result<u32, StoreError> {
        let sql = "SELECT coalesce(max(task), 0) FROM claims WHERE file = ?";
        self.read(|c| c.prepare_cached(sql)?.query_row([text(file)], |row| row.get(0)))
    }

    /// Records that a pane holds a task, and replaces an earlier holder. A pane holds one task at a time.
    pub fn claim(&mut self, file: &Path, claim: &Claim, at: Timestamp) -> Result<(), StoreError> {
        let Claim { task, pane, server } = claim;
        self.transaction(|tx| {
            tx.execute(
                "UPDATE claims SET over = ? WHERE file = ? AND pane = ? AND server_pid = ? AND server_start = ? \
                 AND task != ? AND over IS NULL",
                params![at.as_millisecond(), text(file), pane, server.pid, server.start, task],
            )?;
            tx.execute(
                "INSERT OR REPLACE INTO claims (file, task, pane, server_pid, server_start, at) VALUES (?, ?, ?, ?, ?, ?)",
                params![text(file), task, pane, server.pid, server.start, at.as_millisecond()],
            )
            .map(drop)
        })
    }

    /// Records that a task is no longer claimed.
    pub fn end_claim(&mut self, file: &Path, task: u32, at: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute(
                "UPDATE claims SET over = ? WHERE file = ? AND task = ? AND over IS NULL",
                params![at.as_millisecond(), text(file), task],
            )
            .map(drop)
        })
    }
}

fn text(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;

    #[test]
    fn a_claim_holds_until_it_is_ended() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let (file, at) = (Path::new("/p/session.md"), Timestamp::UNIX_EPOCH);
        let server = Server { pid: 7, start: 9 };
        let claim = |task, pane: &str| Claim { task, pane: pane.to_owned(), server };
        store.claim(file, &claim(1, "%1"), at).unwrap();
        store.claim(file, &claim(12, "%2"), at).unwrap();
        store.claim(file, &claim(1, "%3"), at).unwrap();
        assert_eq!(store.claims(file).unwrap(), [claim(1, "%3"), claim(12, "%2")]);
        store.claim(file, &claim(2, "%3"), at).unwrap();
        assert_eq!(store.claims(file).unwrap(), [claim(2, "%3"), claim(12, "%2")], "one at a time");
        store.claim(file, &claim(1, "%3"), at).unwrap();
        store.end_claim(file, 12, at).unwrap();
        assert_eq!(store.claims(file).unwrap(), [claim(1, "%3")]);
        assert_eq!(store.highest_claim(file).unwrap(), 12);
        assert_eq!(store.highest_claim(Path::new("/other")).unwrap(), 0);
    }
}
