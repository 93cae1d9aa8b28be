//! Which sessions are read. Thousands of ended ones accumulate; lists read live ones and those that ended recently.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use rusqlite::params;

use super::Session;
use super::rows::{COLUMNS, path_text};
use crate::{Store, StoreError};

/// How long a session is listed after its end.
pub const SHOWN_FOR: SignedDuration = SignedDuration::from_hours(24);
/// Limit on ended sessions in a list: the last ones to end.
pub const MOST_OVER: u32 = 100;

/// Sessions of one tmux server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// All that are not over, the last [`MOST_OVER`] that were over after a time, and those that came back from the archive
    /// since.
    Current { over_since: Timestamp },
    /// Members of teams that are not archived.
    InTeams,
    /// Archived ones too.
    All,
}

impl Which {
    /// What lists show: see [`SHOWN_FOR`].
    pub fn current(now: Timestamp) -> Self {
        Self::Current { over_since: now.checked_sub(SHOWN_FOR).unwrap_or(Timestamp::MIN) }
    }
}

impl Store {
    /// Sessions on one tmux server, oldest first.
    pub fn sessions(&self, socket: &Path, which: Which) -> Result<Vec<Session>, StoreError> {
        let socket = path_text(socket);
        let listed = "FROM sessions WHERE socket = ?1 AND put_away IS NULL";
        match which {
            Which::Current { over_since } => {
                let sql = format!(
                    "SELECT {COLUMNS} {listed} AND over IS NULL UNION ALL \
                     SELECT * FROM (SELECT {COLUMNS} {listed} AND over >= ?2 ORDER BY over DESC LIMIT ?3) UNION ALL \
                     SELECT {COLUMNS} {listed} AND unarchived >= ?2 AND over < ?2 ORDER BY created, id"
                );
                self.query(&sql, params![socket, over_since.as_millisecond(), MOST_OVER])
            }
            Which::InTeams => {
                let sql =
                    format!("SELECT {COLUMNS} {listed} AND role IS NOT NULL ORDER BY created, id");
                self.query(&sql, params![socket])
            }
            Which::All => {
                let all = "FROM sessions WHERE socket = ?1";
                let sql = format!("SELECT {COLUMNS} {all} ORDER BY created, id");
                self.query(&sql, params![socket])
            }
        }
    }

    /// How many sessions of a server are over and not archived; may be more than are [current](Which::Current).
    pub fn count_over(&self, socket: &Path) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM sessions WHERE socket = ? AND put_away IS NULL AND over IS NOT NULL";
        self.read(|c| c.prepare_cached(sql)?.query_row([path_text(socket)], |row| row.get(0)))
    }

    /// Sessions in this pane of a server that are not archived, newest first.
    pub fn in_pane(&self, socket: &Path, pane: &str) -> Result<Vec<Session>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions WHERE socket = ? AND pane = ? AND put_away IS NULL \
             ORDER BY created DESC, id DESC"
        );
        self.query(&sql, params![path_text(socket), pane])
    }

    /// Sessions of other servers that ended before a time, or without an end in the database, oldest first.
    pub fn elsewhere(&self, socket: &Path, before: Timestamp) -> Result<Vec<Session>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions WHERE socket <> ? AND (over IS NULL OR over < ?) ORDER BY created, id"
        );
        self.query(&sql, params![path_text(socket), before.as_millisecond()])
    }

    /// All sessions, on whatever server, oldest first.
    pub fn every_session(&self) -> Result<Vec<Session>, StoreError> {
        self.query(&format!("SELECT {COLUMNS} FROM sessions ORDER BY created, id"), params![])
    }

    /// The ids of all sessions, on whatever server.
    pub fn all_ids(&self) -> Result<Vec<String>, StoreError> {
        self.read(|c| {
            c.prepare("SELECT id FROM sessions")?.query_map([], |row| row.get(0))?.collect()
        })
    }
}
