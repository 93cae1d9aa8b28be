use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::files::Files;
use crate::{StateDir, StoreError, log_index, recovery};

/// How long a command waits for another process's write. Writes take well under a millisecond each.
const PATIENCE: Duration = Duration::from_secs(5);

/// A store that was open for longer than this checks before each write whether its files still exist.
pub(crate) const SHORT: Duration = Duration::from_millis(500);

/// One entry per schema version, applied in order. Never change a released one: add another.
const MIGRATIONS: [&str; 26] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
    include_str!("schema/8.sql"),
    include_str!("schema/9.sql"),
    include_str!("schema/10.sql"),
    include_str!("schema/11.sql"),
    include_str!("schema/12.sql"),
    include_str!("schema/13.sql"),
    include_str!("schema/14.sql"),
    include_str!("schema/15.sql"),
    include_str!("schema/16.sql"),
    include_str!("schema/17.sql"),
    include_str!("schema/18.sql"),
    include_str!("schema/19.sql"),
    include_str!("schema/20.sql"),
    include_str!("schema/21.sql"),
    include_str!("schema/22.sql"),
    include_str!("schema/23.sql"),
    include_str!("schema/24.sql"),
    include_str!("schema/25.sql"),
    include_str!("schema/26.sql"),
];

/// The database of dogwatch's own state. Safe for many processes at the same time.
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(crate) dir: StateDir,
    pub(crate) files: Files,
    opened: Instant,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the database of a state directory; creates it or updates its schema if necessary.
    pub fn open(dir: &StateDir) -> Result<Self, StoreError> {
        Self::open_with_patience(dir, PATIENCE)
    }

    /// The same with less patience: for hooks, which must not delay an agent.
    pub fn open_with_patience(dir: &StateDir, patience: Duration) -> Result<Self, StoreError> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(5);
        loop {
            match Self::open_once(dir, patience) {
                // Processes that still use the old log notice at their next check, and end.
                Err(StoreError::LogGone { .. }) if begun.elapsed() < patience => {
                    // Processes that retry together keep the old index alive for each other, so their pauses must differ.
                    let odd = u64::from(begun.elapsed().subsec_nanos() % 64);
                    // sleep: no event reports that a deleted log is unused; with an odd part, so that processes get out of step.
                    std::thread::sleep(pause + Duration::from_millis(odd));
                    pause = (pause * 2).min(Duration::from_millis(160));
                }
                result => return result,
            }
        }
    }

    fn open_once(dir: &StateDir, patience: Duration) -> Result<Self, StoreError> {
        let path = dir.database();
        let failed = |e: rusqlite::Error| StoreError::sql(&path, &e);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
        connection.busy_timeout(patience).map_err(failed)?;
        // With a write-ahead log, NORMAL may lose the last commits in a power failure but never corrupts
        // the file; what must survive that (exit records) is in separate files.
        connection.pragma_update(None, "synchronous", "normal").map_err(failed)?;
        // Otherwise SQLite plans some queries anew for each value: 22 of 700 million instructions of a `status` of 200 sessions.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
        if !has_long_log(&path) {
            connection
                .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
                .map_err(failed)?;
        }
        let (dir, files, opened) = (dir.clone(), Files::default(), Instant::now());
        let mut store = Self { connection, path: path.clone(), dir, files, opened };
        store.migrate(patience)?;
        if !log_index::fits(&path) {
            return Err(StoreError::LogGone { path });
        }
        store.files = Files::of(&store.dir);
        Ok(store)
    }

    fn migrate(&mut self, patience: Duration) -> Result<(), StoreError> {
        let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
        let found = self.version()?;
        if found == known {
            return Ok(());
        }
        self.refuse_newer(found, known)?;
        restrict(&self.path);
        if found == 0 {
            // Only effective on an empty file; `shrink` converts older ones.
            self.connection
                .pragma_update(None, "auto_vacuum", "incremental")
                .map_err(|e| StoreError::sql(&self.path, &e))?;
        }
        self.keep_log(patience)?;
        let dir = self.dir.clone();
        self.transaction(|tx| {
            // Read again under the lock: another process may have been first.
            let found: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
            let done = usize::try_from(found).unwrap_or(usize::MAX);
            for migration in MIGRATIONS.iter().skip(done) {
                tx.execute_batch(migration)?;
            }
            if found == 0 {
                recovery::register_again(tx, &dir)?;
            }
            tx.pragma_update(None, "user_version", found.max(known))
        })?;
        // Checkpoint right away, as far as readers allow: if the log is deleted later, the tables are safe.
        self.read(|c| c.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())))
            .logged("fold the log of the database");
        Ok(())
    }

    /// Turns the write-ahead log on. SQLite does not wait for another process that does the same (it failed 14 of 300 times with
    /// eight processes), so we retry.
    fn keep_log(&self, patience: Duration) -> Result<(), StoreError> {
        let begun = Instant::now();
        loop {
            let turned = self.connection.pragma_update(None, "journal_mode", "wal");
            match turned.map_err(|e| StoreError::sql(&self.path, &e)) {
                Err(StoreError::Busy { .. }) if begun.elapsed() < patience => {
                    // sleep: SQLite does not wait for this lock by itself.
                    std::thread::sleep(Duration::from_millis(1));
                }
                result => return result,
            }
        }
    }

    fn version(&self) -> Result<i64, StoreError> {
        self.read(|c| c.pragma_query_value(None, "user_version", |row| row.get(0)))
    }

    fn refuse_newer(&self, found: i64, known: i64) -> Result<(), StoreError> {
        if found > known {
            return Err(StoreError::Newer { path: self.path.clone(), found, known });
        }
        Ok(())
    }

    /// Runs `work` in one transaction that holds the write lock from its start.
    pub(crate) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        // Writes into a deleted log are lost, and may corrupt what other processes write.
        if self.opened.elapsed() > SHORT {
            self.check_files()?;
        }
        let run = || {
            let tx = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&tx)?;
            tx.commit()?;
            Ok(result)
        };
        run().map_err(|e| StoreError::sql(&self.path, &e))
    }

    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        work(&self.connection).map_err(|e| StoreError::sql(&self.path, &e))
    }

    /// Changes with whatever another connection has written since it was last asked for; our own writes do not change it.
    pub fn version_of_others(&self) -> Result<i64, StoreError> {
        self.read(|c| c.pragma_query_value(None, "data_version", |row| row.get(0)))
    }

    /// Does several reads on one view of the data, with one lock in place of one for each.
    pub fn in_one_view<T>(&self, work: impl FnOnce() -> T) -> T {
        let _view = self.connection.unchecked_transaction();
        work()
    }

    /// Checks the integrity of the whole file, for `doctor`.
    pub fn check(&self) -> Result<(), StoreError> {
        let answer: String =
            self.read(|c| c.query_row("PRAGMA quick_check", [], |row| row.get(0)))?;
        if answer == "ok" {
            Ok(())
        } else {
            Err(StoreError::Corrupt { path: self.path.clone(), message: answer })
        }
    }
}

/// The last process to close a database checkpoints its write-ahead log: four flushes, 1 ms on an idle disk and 10 to 40 on a busy
/// one (measured), in every short command and every hook. So only a process that finds a long log
/// does it.
fn has_long_log(database: &Path) -> bool {
    const LONG: u64 = 512 * 1024;
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|m| m.len() > LONG)
}

/// The directory is private already; this is for backups that keep the mode.
pub(crate) fn restrict(path: &Path) {
    std::fs::set_permissions(path, crate::state_dir::private_file())
        .logged("set the mode of a file");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const NEWEST: i64 = 26;

    #[test]
    fn an_older_schema_is_updated() {
        let (_tmp, dir) = dir();
        let connection = Connection::open(dir.database()).unwrap();
        connection.execute_batch(MIGRATIONS[0]).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        let looked = "INSERT INTO looks (session, print, moved) VALUES ('a', 'p', 7)";
        connection.execute(looked, []).unwrap();
        let noted = "INSERT INTO journal (at, session, event, data) VALUES (1794700000123, 'a', 'put_away', '{}')";
        connection.execute(noted, []).unwrap();
        drop(connection);
        let store = Store::open(&dir).unwrap();
        assert_eq!(store.version().unwrap(), NEWEST);
        assert_eq!(store.state("a").unwrap(), None);
        assert_eq!(store.last_look("a").unwrap().unwrap().moved.as_millisecond(), 7);
        let event = &store.journal("a").unwrap()[0].event;
        assert_eq!(event.kind, "deleted");
        let id = uuid::Uuid::parse_str(&event.id).unwrap();
        assert_eq!(id.get_version_num(), 7);
        assert_eq!(id.get_timestamp().unwrap().to_unix().0, 1_794_700_000);
    }

    fn dir() -> (tempfile::TempDir, StateDir) {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("state")).unwrap();
        (tmp, dir)
    }

    #[test]
    fn the_database_is_created_once() {
        let (_tmp, dir) = dir();
        Store::open(&dir).unwrap();
        let store = Store::open(&dir).unwrap();
        assert_eq!(store.version().unwrap(), NEWEST);
        store.check().unwrap();
    }

    #[test]
    fn what_others_write_is_noticed() {
        let (_tmp, dir) = dir();
        let (mut one, mut other) = (Store::open(&dir).unwrap(), Store::open(&dir).unwrap());
        let write = |store: &mut Store| {
            let wrote = store.transaction(|tx| {
                tx.execute("REPLACE INTO looks (session, print, moved) VALUES ('a', 'p', 7)", [])
            });
            wrote.unwrap();
        };
        let before = one.version_of_others().unwrap();
        assert_eq!(one.version_of_others().unwrap(), before);
        write(&mut one);
        assert_eq!(one.version_of_others().unwrap(), before, "its own");
        write(&mut other);
        assert_ne!(one.version_of_others().unwrap(), before);
    }

    #[test]
    fn a_damaged_database_is_reported_and_left_alone() {
        let (_tmp, dir) = dir();
        let garbage =
            b"this is not a database, and it is long enough to be looked at closely".repeat(9);
        fs::write(dir.database(), &garbage).unwrap();
        let error = Store::open(&dir).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert_eq!(fs::read(dir.database()).unwrap(), garbage);
    }

    #[test]
    fn a_newer_schema_is_reported_and_left_alone() {
        let (_tmp, dir) = dir();
        let connection = Connection::open(dir.database()).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
        connection.execute_batch("CREATE TABLE future (x)").unwrap();
        drop(connection);
        let before = fs::read(dir.database()).unwrap();
        let error = Store::open(&dir).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 99, known: NEWEST, .. }), "{error}");
        assert_eq!(fs::read(dir.database()).unwrap(), before);
    }

    #[test]
    fn many_processes_may_create_it_together() {
        let (_tmp, dir) = dir();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| Store::open(&dir).unwrap());
            }
        });
        assert_eq!(Store::open(&dir).unwrap().version().unwrap(), NEWEST);
    }
}
