//! Removes sessions with all their data.

use dogwatch_protocol::event_data::Deleted;
use std::fs;

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::event::kind;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction};

use crate::{Store, StoreError, callbacks, journal, lock_file};

/// Sessions removed in one transaction: short enough that a hook waits only a few milliseconds.
const BATCH: usize = 100;
/// Tables about sessions, with their time column.
const NOTES: [(&str, &str); 15] = [
    ("signals", "at"),
    ("heartbeats", "at"),
    ("looks", "moved"),
    ("states", "seen"),
    ("messages", "posted"),
    ("key_requests", "posted"),
    ("jobs", "submitted"),
    ("journal", "at"),
    ("labels", "changed"),
    ("topics", "seen"),
    ("limit_policies", "changed"),
    ("limits", "began"),
    ("edits", "at"),
    ("collisions", "at"),
    ("interrupted_loops", "at"),
];

impl Store {
    /// Removes an ended session with all its data.
    pub fn forget(&mut self, id: &str) -> Result<(), StoreError> {
        self.forget_all(&[id])
    }

    /// The same for many. If one fails, those before it stay removed.
    pub fn forget_all(&mut self, ids: &[&str]) -> Result<(), StoreError> {
        for batch in ids.chunks(BATCH) {
            self.transaction(|tx| batch.iter().try_for_each(|id| forget(tx, id)))?;
            for id in batch {
                fs::remove_file(self.dir.news_of(id)).logged_unless_missing("remove a file");
                // One that is held stays for the next `gc`. Whoever waits for it finds no session.
                if let Some(lock) = self.dir.lock_named(id).logged("name a lock") {
                    lock_file::remove_unheld(&lock).logged("remove a lock");
                }
            }
        }
        if !ids.is_empty() {
            self.dir.tell_sessions();
        }
        Ok(())
    }

    /// Removes old data of agents without a row in `sessions`: unmanaged ones, and hook calls from unknown
    /// sessions.
    pub fn forget_strangers(&mut self, before: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| {
            for (table, time) in NOTES {
                // Those of an agent that is still seen stay, however old they are.
                let unseen = match table {
                    "labels" => "AND session NOT IN (SELECT session FROM states)",
                    _ => "",
                };
                let sql = format!(
                    "DELETE FROM {table} WHERE {time} < ? AND session NOT IN (SELECT id FROM sessions) {unseen}"
                );
                tx.execute(&sql, [before.as_millisecond()])?;
            }
            callbacks::forget_strangers(tx, before)
        })
    }
}

fn forget(tx: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    let sql = "SELECT 1 FROM sessions WHERE id = ? AND put_away IS NULL";
    let was_listed = tx.prepare_cached(sql)?.query_row([id], |_| Ok(())).optional()?.is_some();
    let subject = journal::subject(tx, id)?.filter(|_| was_listed);
    let sql = "SELECT name FROM sessions WHERE id = ?";
    let name: Option<String> =
        tx.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
    callbacks::session_removed(tx, id, name.as_deref().unwrap_or(id), Timestamp::now())?;
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
