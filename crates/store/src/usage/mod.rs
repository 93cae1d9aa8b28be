//! The cache of tokens that were read from transcripts: `usage.db`.
//!
//! Every answer has a key, and is counted once however often it is read. So it does not matter in which order files are read, by how
//! many processes, or whether one of them is killed: a file is read again from where the last one that finished stopped.
//! What was counted stays counted when an agent deletes its transcripts.

mod writing;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_core::usage::{Batch, Bucket, Tokens};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use crate::{StateDir, Store, StoreError};

const SCHEMA: &str = include_str!("schema.sql");
const VERSION: i64 = 1;
const PATIENCE: Duration = Duration::from_secs(5);

/// A transcript as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownFile {
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
    pub inode: u64,
    /// Up to here it was read: the end of a line.
    pub offset: u64,
    /// A hash of the bytes before that place.
    pub tail: i64,
    /// What the lines so far said about those that follow.
    pub state: String,
}

/// What was read from a transcript.
#[derive(Debug)]
pub struct ReadFile {
    pub path: String,
    pub agent: &'static str,
    pub file: KnownFile,
    pub batch: Batch,
}

/// A conversation that has used tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownThread {
    pub agent: String,
    pub conversation: String,
    pub cwd: String,
}

/// The database of tokens.
pub struct UsageCache {
    connection: Connection,
    path: PathBuf,
}

impl fmt::Debug for UsageCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UsageCache").field("path", &self.path).finish_non_exhaustive()
    }
}

impl UsageCache {
    /// Opens the cache of a state directory; creates it if necessary.
    pub fn open(dir: &StateDir) -> Result<Self, StoreError> {
        let path = dir.usage();
        let failed = |e: rusqlite::Error| StoreError::sql(&path, &e);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        connection.pragma_update(None, "synchronous", "normal").map_err(failed)?;
        // What a short command adds is folded in by the next one that adds much.
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .map_err(failed)?;
        Self { connection, path }.prepared()
    }

    /// A cache that is gone afterwards: for where none can be kept.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let connection = Connection::open_in_memory().map_err(|e| StoreError::sql(&path, &e))?;
        Self { connection, path }.prepared()
    }

    fn prepared(mut self) -> Result<Self, StoreError> {
        let found: i64 =
            self.read(|c| c.pragma_query_value(None, "user_version", |row| row.get(0)))?;
        if found > VERSION {
            return Err(StoreError::Newer { path: self.path, found, known: VERSION });
        }
        if found < VERSION {
            crate::database::restrict(&self.path);
            self.read(|c| c.pragma_update(None, "journal_mode", "wal"))?;
            self.transaction(|tx| {
                // Read again under the lock: another process may have been first.
                let found: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
                if found == 0 {
                    tx.execute_batch(SCHEMA)?;
                    tx.pragma_update(None, "user_version", VERSION)?;
                }
                Ok(())
            })?;
        }
        Ok(self)
    }

    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        work(&self.connection).map_err(|e| StoreError::sql(&self.path, &e))
    }

    /// Reads that see the same state, under one lock: for many of them.
    pub fn in_one_view<T>(&self, work: impl FnOnce() -> T) -> T {
        let _view = self.connection.unchecked_transaction();
        work()
    }

    /// All transcripts that were read.
    pub fn files(&self) -> Result<HashMap<String, KnownFile>, StoreError> {
        self.read(|c| {
            let sql = "SELECT size, modified, inode, offset, tail, state, path FROM files";
            c.prepare_cached(sql)?
                .query_map([], |row| Ok((row.get(6)?, file_from(row)?)))?
                .collect()
        })
    }

    pub fn file(&self, path: &str) -> Result<Option<KnownFile>, StoreError> {
        self.read(|c| {
            let sql = "SELECT size, modified, inode, offset, tail, state FROM files WHERE path = ?";
            c.prepare_cached(sql)?.query_row([path], file_from).optional()
        })
    }

    pub fn models(&self) -> Result<HashMap<i64, String>, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT id, name FROM models")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })
    }

    pub fn threads(&self) -> Result<HashMap<i64, KnownThread>, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT id, agent, conversation, cwd FROM threads")?
                .query_map([], |row| {
                    let (agent, conversation, cwd) = (row.get(1)?, row.get(2)?, row.get(3)?);
                    Ok((row.get(0)?, KnownThread { agent, conversation, cwd }))
                })?
                .collect()
        })
    }

    /// The usage since a quarter of an hour.
    pub fn buckets(&self, since: Option<i64>) -> Result<Vec<Bucket>, StoreError> {
        self.read(|c| {
            let all = "SELECT thread, slot, model, kind, messages, input, output, cache_read, \
                       cache_write, cache_write_1h FROM buckets";
            match since {
                None => c.prepare_cached(all)?.query_map([], bucket_from)?.collect(),
                Some(since) => c
                    .prepare_cached(&format!("{all} WHERE slot >= ?"))?
                    .query_map([since], bucket_from)?
                    .collect(),
            }
        })
    }

    /// The usage of one conversation since a quarter of an hour.
    pub fn buckets_of(
        &self,
        agent: &str,
        conversation: &str,
        since: i64,
    ) -> Result<Vec<Bucket>, StoreError> {
        self.read(|c| {
            c.prepare_cached(
                "SELECT thread, slot, model, kind, messages, input, output, cache_read, cache_write, \
                 cache_write_1h FROM buckets WHERE slot >= ?3 \
                 AND thread = (SELECT id FROM threads WHERE agent = ?1 AND conversation = ?2)",
            )?
            .query_map(params![agent, conversation, since], bucket_from)?
            .collect()
        })
    }

    /// The session that had a conversation last, by conversation.
    pub fn links(&self) -> Result<HashMap<String, String>, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT conversation, session FROM links")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })
    }

    /// The conversations that a session has had.
    pub fn conversations_of(&self, session: &str) -> Result<Vec<String>, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT conversation FROM links WHERE session = ?")?
                .query_map([session], |row| row.get(0))?
                .collect()
        })
    }

    pub fn is_linked(&self, conversation: &str, session: &str) -> Result<bool, StoreError> {
        let find = "SELECT 1 FROM links WHERE conversation = ? AND session = ?";
        self.read(|c| {
            c.prepare_cached(find)?.query_row([conversation, session], |_| Ok(())).optional()
        })
        .map(|found| found.is_some())
    }

    /// Notes that a session has a conversation.
    pub fn link(&mut self, conversation: &str, session: &str) -> Result<(), StoreError> {
        if self.is_linked(conversation, session)? {
            return Ok(());
        }
        self.read(|c| {
            c.prepare_cached("INSERT OR REPLACE INTO links VALUES (?, ?)")?
                .execute([conversation, session])
                .map(drop)
        })
    }

    /// Notes which conversations the sessions' hooks have named since this was last done.
    pub fn take_links(&mut self, store: &Store) -> Result<(), StoreError> {
        let mark = "SELECT value FROM marks WHERE name = 'signals'";
        let known: Option<i64> =
            self.read(|c| c.query_row(mark, [], |row| row.get(0)).optional())?;
        let (last, links) = store.conversations_after(known.unwrap_or(0))?;
        if known == Some(last) {
            return Ok(());
        }
        self.transaction(|tx| {
            for (session, conversation) in &links {
                tx.prepare_cached("INSERT OR REPLACE INTO links VALUES (?, ?)")?
                    .execute(params![conversation, session])?;
            }
            let mark = "INSERT OR REPLACE INTO marks VALUES ('signals', ?)";
            tx.execute(mark, [last]).map(drop)
        })
    }
}

impl Store {
    /// The conversations that hooks have named after a signal, in order, and the number of the last signal.
    fn conversations_after(&self, known: i64) -> Result<(i64, Vec<(String, String)>), StoreError> {
        self.read(|c| {
            let last: Option<i64> =
                c.query_row("SELECT max(id) FROM signals", [], |row| row.get(0))?;
            // After `gc`, numbers may begin anew.
            let from = if last.unwrap_or(0) < known { 0 } else { known };
            let sql = "SELECT session, json_extract(payload, '$.session_id') FROM signals \
                       WHERE id > ? AND event = 'SessionStart' AND json_valid(payload) ORDER BY id";
            let mut statement = c.prepare_cached(sql)?;
            let rows = statement
                .query_map([from], |row| Ok((row.get(0)?, row.get::<_, Option<String>>(1)?)))?;
            let mut links = Vec::new();
            for row in rows {
                let (session, conversation): (String, Option<String>) = row?;
                links.extend(conversation.map(|conversation| (session, conversation)));
            }
            Ok((last.unwrap_or(0), links))
        })
    }
}

fn file_from(row: &Row<'_>) -> rusqlite::Result<KnownFile> {
    Ok(KnownFile {
        size: row.get::<_, i64>(0)?.cast_unsigned(),
        modified: row.get(1)?,
        inode: row.get::<_, i64>(2)?.cast_unsigned(),
        offset: row.get::<_, i64>(3)?.cast_unsigned(),
        tail: row.get(4)?,
        state: row.get(5)?,
    })
}

fn bucket_from(row: &Row<'_>) -> rusqlite::Result<Bucket> {
    let kind: u8 = row.get(3)?;
    Ok(Bucket {
        thread: row.get(0)?,
        slot: row.get(1)?,
        model: row.get(2)?,
        is_subagent: kind & 1 == 1,
        length: kind >> 1,
        messages: row.get::<_, i64>(4)?.cast_unsigned(),
        tokens: tokens_from(row, 5)?,
    })
}

fn tokens_from(row: &Row<'_>, from: usize) -> rusqlite::Result<Tokens> {
    let mut numbers = [0_u64; 5];
    for (place, number) in numbers.iter_mut().enumerate() {
        *number = row.get::<_, i64>(from + place)?.cast_unsigned();
    }
    Ok(Tokens::from_numbers(numbers))
}

/// opencode's own database.
#[derive(Debug)]
pub struct OpencodeDatabase {
    connection: Connection,
    path: PathBuf,
}

/// A message of opencode's.
#[derive(Debug, Clone)]
pub struct OpencodeRow {
    pub id: String,
    /// Its session, or the first one that this one works for.
    pub conversation: String,
    pub is_subagent: bool,
    pub cwd: String,
    pub data: String,
}

impl OpencodeDatabase {
    /// Opens it for reading. Nothing is written to it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = |e: rusqlite::Error| StoreError::sql(path, &e);
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(Duration::from_millis(200)).map_err(failed)?;
        Ok(Self { connection, path: path.to_owned() })
    }

    /// The answers that were changed at that time or later (milliseconds), and the time of the last change.
    pub fn answers_since(&self, since: i64) -> Result<(i64, Vec<OpencodeRow>), StoreError> {
        let read = || {
            let sql = "SELECT m.id, coalesce(s.parent_id, m.session_id), s.parent_id IS NOT NULL, \
                       coalesce(s.directory, ''), m.data, m.time_updated FROM message m \
                       LEFT JOIN session s ON s.id = m.session_id WHERE m.time_updated >= ? \
                       AND m.data LIKE '%\"tokens\"%'";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([since], |row| {
                let row_of = OpencodeRow {
                    id: row.get(0)?,
                    conversation: row.get(1)?,
                    is_subagent: row.get(2)?,
                    cwd: row.get(3)?,
                    data: row.get(4)?,
                };
                Ok((row.get::<_, i64>(5)?, row_of))
            })?;
            let (mut last, mut found) = (since, Vec::new());
            for row in rows {
                let (at, row) = row?;
                last = last.max(at);
                found.push(row);
            }
            Ok((last, found))
        };
        read().map_err(|e: rusqlite::Error| StoreError::sql(&self.path, &e))
    }
}

#[cfg(test)]
mod tests;
