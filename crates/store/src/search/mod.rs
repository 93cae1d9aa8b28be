//! The index of `search`: a database of its own, so that the main one stays small. It is a cache: a damaged one, or one of another
//! version, is made again.

mod ask;
mod write;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_base::log::LoggedIo as _;
use rusqlite::{Connection, OpenFlags, Row};

use crate::{StateDir, StoreError};

pub use ask::{Found, Question};
pub use write::{Addition, Doc};

/// Version of the form of the index.
const VERSION: i64 = 1;
/// How long to wait for a write of another process.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bits of a row's number within its source.
const BITS: u32 = 32;

/// A source of texts as the index has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub id: i64,
    pub path: String,
    pub agent: String,
    pub conversation: Option<String>,
    pub cwd: Option<String>,
    pub title: Option<String>,
    pub read_to: u64,
    pub print: u64,
    pub length: u64,
    /// Milliseconds since 1970.
    pub modified: i64,
    pub count: i64,
    /// Milliseconds since 1970.
    pub latest: i64,
}

#[derive(Debug)]
pub struct SearchIndex {
    connection: Connection,
    path: PathBuf,
}

impl SearchIndex {
    /// Opens the index of a state directory, or makes it.
    pub fn open(dir: &StateDir) -> Result<Self, StoreError> {
        let path = Self::path(dir);
        match Self::open_once(&path) {
            Err(StoreError::Corrupt { .. } | StoreError::Newer { .. }) => {
                Self::remove(dir);
                Self::open_once(&path)
            }
            opened => opened,
        }
    }

    pub fn path(dir: &StateDir) -> PathBuf {
        dir.root().join("search.db")
    }

    /// Locked by the process that adds to the index.
    pub fn lock_path(dir: &StateDir) -> PathBuf {
        dir.root().join("search.lock")
    }

    /// Removes the index.
    pub fn remove(dir: &StateDir) {
        let path = Self::path(dir);
        for ending in ["", "-wal", "-shm"] {
            let mut file = path.clone().into_os_string();
            file.push(ending);
            fs::remove_file(file).logged_unless_missing("remove a file");
        }
    }

    fn open_once(path: &Path) -> Result<Self, StoreError> {
        let failed = |e: rusqlite::Error| StoreError::sql(path, &e);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        // What a power failure takes is indexed again: a source is read from where the index says.
        connection.pragma_update(None, "synchronous", "normal").map_err(failed)?;
        let mut index = Self { connection, path: path.to_owned() };
        index.prepare()?;
        Ok(index)
    }

    fn prepare(&mut self) -> Result<(), StoreError> {
        let found: i64 = self.read(|c| c.pragma_query_value(None, "user_version", |r| r.get(0)))?;
        match found {
            VERSION => return Ok(()),
            0 => {}
            found => {
                return Err(StoreError::Newer { path: self.path.clone(), found, known: VERSION });
            }
        }
        crate::database::restrict(&self.path);
        self.read(|c| c.pragma_update(None, "journal_mode", "wal"))?;
        self.transaction(|tx| {
            // Read again under the lock: another process may have been first.
            let found: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
            if found == 0 {
                tx.execute_batch(include_str!("schema.sql"))?;
                tx.pragma_update(None, "user_version", VERSION)?;
            }
            Ok(())
        })
    }

    /// All sources by path.
    pub fn sources(&self) -> Result<HashMap<String, Source>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare(&format!("SELECT {COLUMNS} FROM sources"))?;
            let rows = statement.query_map([], from_row)?;
            rows.map(|row| row.map(|source| (source.path.clone(), source))).collect()
        })
    }

    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        work(&self.connection).map_err(|e| StoreError::sql(&self.path, &e))
    }

    fn transaction<T>(
        &mut self,
        work: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let run = || {
            let tx = self
                .connection
                .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let result = work(&tx)?;
            tx.commit()?;
            Ok(result)
        };
        run().map_err(|e| StoreError::sql(&self.path, &e))
    }
}

const COLUMNS: &str =
    "id, path, agent, conversation, cwd, title, read_to, print, length, modified, count, latest";

fn from_row(row: &Row<'_>) -> rusqlite::Result<Source> {
    Ok(Source {
        id: row.get(0)?,
        path: row.get(1)?,
        agent: row.get(2)?,
        conversation: row.get(3)?,
        cwd: row.get(4)?,
        title: row.get(5)?,
        read_to: row.get::<_, i64>(6)?.cast_unsigned(),
        print: row.get::<_, i64>(7)?.cast_unsigned(),
        length: row.get::<_, i64>(8)?.cast_unsigned(),
        modified: row.get(9)?,
        count: row.get(10)?,
        latest: row.get(11)?,
    })
}

#[cfg(test)]
mod tests;
