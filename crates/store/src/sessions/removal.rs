//! Forgetting sessions, with all that was noted of them.

use dogwatch_protocol::event_data::Deleted;
use std::fs;

use dogwatch_base::log::LoggedIo as _;
use dogwatch_core::event::kind;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction};

use crate::{Store, StoreError, journal};

/// Sessions that are forgotten in one transaction: a hook that wants to write meanwhile waits a few milliseconds.
const BATCH: usize = 100;
/// Tables that are about sessions, with the column that says when.
const NOTES: [(&str, &str); 7] = [
    ("signals", "at"),
    ("heartbeats", "at"),
    ("looks", "moved"),
    ("states", "seen"),
    ("messages", "posted"),
    ("jobs", "submitted"),
    ("journal", "at"),
];

impl Store {
    /// Forgets an ended session with all that was noted of it.
    pub fn forget(&mut self, id: &str) -> Result<(), StoreError> {
        self.forget_all(&[id])
    }

    /// The same for many. One that cannot be forgotten leaves those before it forgotten.
    pub fn forget_all(&mut self, ids: &[&str]) -> Result<(), StoreError> {
        for batch in ids.chunks(BATCH) {
            self.transaction(|tx| batch.iter().try_for_each(|id| forget(tx, id)))?;
            for id in batch {
                fs::remove_file(self.dir.news_of(id)).logged_unless_missing("remove a file");
                let _ = self.dir.typing_lock(id).map(fs::remove_file);
            }
        }
        if !ids.is_empty() {
            self.dir.tell_roll();
        }
        Ok(())
    }

    /// Forgets what was noted before that moment of agents that have no row of their own: those that others started, and
    /// hooks that came from nowhere.
    pub fn forget_strangers(&mut self, before: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| {
            for (table, time) in NOTES {
                let sql = format!(
                    "DELETE FROM {table} WHERE {time} < ? AND session NOT IN (SELECT id FROM sessions)"
                );
                tx.execute(&sql, [before.as_millisecond()])?;
            }
            Ok(())
        })
    }
}

fn forget(tx: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    let sql = "SELECT 1 FROM sessions WHERE id = ? AND put_away IS NULL";
    let was_listed = tx.prepare_cached(sql)?.query_row([id], |_| Ok(())).optional()?.is_some();
    let subject = journal::subject(tx, id)?.filter(|_| was_listed);
    for (table, _) in NOTES {
        tx.prepare_cached(&format!("DELETE FROM {table} WHERE session = ?"))?.execute([id])?;
    }
    tx.prepare_cached("DELETE FROM sessions WHERE id = ?")?.execute([id])?;
    if subject.is_some() {
        let (at, data) =
            (Timestamp::now(), Deleted { because: "the session was removed".to_owned() });
        journal::append_of(tx, at, id, subject.as_ref(), kind::DELETED, &data)?;
    }
    Ok(())
}
