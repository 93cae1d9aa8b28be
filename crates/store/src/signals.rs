//! Signals from agents' hooks.
//!
//! A hook must neither delay its agent nor lose a signal: it writes to the database if that is possible
//! immediately, else to a spool file that the next reader imports.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::status::backlog::{self, Event};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::state_dir::make_private;
use crate::{StateDir, Store, StoreError, read_regular};

/// How long a hook waits for another writer before it uses the spool.
const HOOK_PATIENCE: Duration = Duration::from_millis(20);
/// Larger than any spooled signal.
const MAX_SPOOLED: u64 = 64 * 1024 * 1024;

/// How often a session's number of signals is checked. A prime, so that no pattern of several agents always skips one of them.
const TRIM_EVERY: i64 = 251;
/// Signals of a session that are kept in any case.
const KEPT: i64 = 2_000;
/// Limit on the signals that mark the start and end of turns.
const MOST_KEPT: i64 = 10_000;

/// One call of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    pub session: String,
    pub at: Timestamp,
    pub agent: String,
    pub event: String,
    /// The payload as received, JSON.
    pub payload: String,
    /// It came through the spool, and may be out of order.
    #[serde(skip)]
    pub spooled: bool,
}

/// The number of a signal, in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct SignalNo(pub(crate) i64);

#[derive(Serialize, Deserialize)]
struct Spooled {
    key: String,
    signal: Signal,
}

impl Signal {
    /// Stores the signal, in the database or the spool. `key` must be unique.
    pub fn keep(&self, dir: &StateDir, key: &str) -> Result<(), StoreError> {
        let direct = Store::open_with_patience(dir, HOOK_PATIENCE).and_then(|store| {
            insert(&store.connection, self, None).map_err(|e| StoreError::sql(&store.path, &e))
        });
        let kept = direct.or_else(|_| self.spool(&dir.spool(), key));
        dir.tell_news(&self.session);
        kept
    }

    fn spool(&self, spool: &Path, key: &str) -> Result<(), StoreError> {
        make_private(spool)?;
        let path = spool.join(format!("{key}.json"));
        let write = || {
            let spooled = Spooled { key: key.to_owned(), signal: self.clone() };
            let bytes = serde_json::to_vec(&spooled)?;
            // Renamed when complete: a reader never sees half a file.
            let part = spool.join(format!(".{key}.part"));
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
            let written = file.write_all(&bytes).and_then(|()| fs::rename(&part, &path));
            // On a full disk the file is empty and would never be read.
            written.inspect_err(|_| drop(fs::remove_file(&part)))
        };
        write().map_err(|source| StoreError::writing(&path, source))
    }
}

impl Store {
    /// The last signals of a session in the order of arrival, after importing the spool. A session that runs for
    /// days has tens of thousands, and only the last turn counts.
    pub fn signals(&mut self, session: &str) -> Result<Vec<Signal>, StoreError> {
        let all = self.signals_after(session, SignalNo::default())?;
        Ok(all.into_iter().map(|(_, signal)| signal).collect())
    }

    /// The signals after a known one.
    pub fn signals_after(
        &mut self,
        session: &str,
        known: SignalNo,
    ) -> Result<Vec<(SignalNo, Signal)>, StoreError> {
        self.take_in_spool();
        self.read(|c| {
            c.prepare_cached(
                "SELECT id, session, at, agent, event, payload, spool_key IS NOT NULL FROM signals \
                 WHERE session = ? AND id > ? ORDER BY id DESC LIMIT 1000",
            )?
            .query_map(params![session, known.0], |row| {
                let signal = Signal {
                    session: row.get(1)?,
                    at: Timestamp::from_millisecond(row.get(2)?).unwrap_or_default(),
                    agent: row.get(3)?,
                    event: row.get(4)?,
                    payload: row.get(5)?,
                    spooled: row.get(6)?,
                };
                Ok((SignalNo(row.get(0)?), signal))
            })?
            .collect::<rusqlite::Result<Vec<_>>>()
        })
        .map(|mut newest_first| {
            newest_first.reverse();
            newest_first
        })
    }

    /// The payload of the last signal of a session that names a transcript.
    pub fn names_transcript(&self, session: &str) -> Result<Option<String>, StoreError> {
        self.read(|c| {
            c.prepare_cached(
                "SELECT payload FROM signals WHERE session = ? AND instr(payload, 'transcript_path') \
                 ORDER BY id DESC LIMIT 1",
            )?
            .query_row([session], |row| row.get(0))
            .optional()
        })
    }

    /// The last events of a session in the order of arrival, without their payloads: those after a known one, back to an event
    /// that is sufficient.
    pub fn events_after(
        &self,
        session: &str,
        known: SignalNo,
        mut is_enough: impl FnMut(&Event) -> bool,
    ) -> Result<Vec<(SignalNo, Event)>, StoreError> {
        self.read(|c| {
            let mut statement = c.prepare_cached(
                "SELECT id, at, event, spool_key IS NOT NULL FROM signals \
                 WHERE session = ? AND id > ? ORDER BY id DESC LIMIT 1000",
            )?;
            let mut rows = statement.query(params![session, known.0])?;
            let mut events = Vec::new();
            while let Some(row) = rows.next()? {
                let at = Timestamp::from_millisecond(row.get(1)?).unwrap_or_default();
                let event = Event { name: row.get(2)?, at, late: row.get(3)? };
                let last = is_enough(&event);
                events.push((SignalNo(row.get(0)?), event));
                if last {
                    break;
                }
            }
            events.reverse();
            Ok(events)
        })
    }

    /// The payload of one signal.
    pub fn payload(&self, number: SignalNo) -> Result<String, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT payload FROM signals WHERE id = ?")?
                .query_row([number.0], |row| row.get(0))
        })
    }

    /// What the session's statusline was last given, and when.
    pub fn statusline(&self, session: &str) -> Result<Option<(Timestamp, String)>, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT at, payload FROM heartbeats WHERE session = ?")?
                .query_row([session], |row| {
                    let at = Timestamp::from_millisecond(row.get(0)?).unwrap_or_default();
                    Ok((at, row.get(1)?))
                })
                .optional()
        })
    }

    /// When the session's statusline was last refreshed.
    pub fn last_heartbeat(&self, session: &str) -> Result<Option<Timestamp>, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT at FROM heartbeats WHERE session = ?")?
                .query_row([session], |row| row.get(0))
                .optional()
        })
        .map(|ms| ms.and_then(|ms| Timestamp::from_millisecond(ms).ok()))
    }

    /// Imports spooled signals into the database. A file is removed only after its signal is committed,
    /// and a signal is not imported twice.
    pub fn take_in_spool(&mut self) {
        for path in spooled_files(&self.dir.spool()) {
            let Some(bytes) =
                read_regular(&path, MAX_SPOOLED).logged_unless_missing("read a signal")
            else {
                continue;
            };
            let Some(spooled) = serde_json::from_slice::<Spooled>(&bytes).logged("read a signal")
            else {
                continue;
            };
            if insert(&self.connection, &spooled.signal, Some(&spooled.key)).is_ok() {
                fs::remove_file(&path).logged_unless_missing("remove a file");
            }
        }
    }

    /// Stores many signals in one transaction.
    pub fn keep_signals(&mut self, signals: &[Signal]) -> Result<(), StoreError> {
        self.transaction(|tx| signals.iter().try_for_each(|signal| insert(tx, signal, None)))
    }

    /// Removes old signals of every session that has too many.
    pub fn trim_signals(&mut self) -> Result<(), StoreError> {
        self.transaction(|tx| {
            let many = "SELECT session FROM signals GROUP BY session HAVING count(*) > ?";
            let sessions: Vec<String> =
                tx.prepare(many)?.query_map([KEPT], |row| row.get(0))?.collect::<Result<_, _>>()?;
            sessions.iter().try_for_each(|session| trim(tx, session))
        })
    }

    /// Overwrites the last statusline call of a session.
    pub fn heartbeat(&self, session: &str, at: Timestamp, payload: &str) -> Result<(), StoreError> {
        self.connection
            .execute(
                "INSERT INTO heartbeats (session, at, payload) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (session) DO UPDATE SET at = ?2, payload = ?3",
                params![session, at.as_millisecond(), payload],
            )
            .map(drop)
            .map_err(|e| StoreError::sql(&self.path, &e))
    }
}

fn insert(connection: &Connection, signal: &Signal, key: Option<&str>) -> rusqlite::Result<()> {
    connection.execute(
            "INSERT OR IGNORE INTO signals (session, at, agent, event, payload, spool_key) VALUES (?, ?, ?, ?, ?, ?)",
            params![signal.session, signal.at.as_millisecond(), signal.agent, signal.event, signal.payload, key],
        )?;
    if connection.last_insert_rowid() % TRIM_EVERY == 0 {
        // The signal is stored; trimming can wait.
        trim(connection, &signal.session).logged("forget old signals");
    }
    Ok(())
}

/// Keeps the last signals of a session, and those that began and ended its turns.
fn trim(connection: &Connection, session: &str) -> rusqlite::Result<()> {
    let older = "DELETE FROM signals WHERE session = ?1 AND id <= \
                 (SELECT id FROM signals WHERE session = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)";
    let passing = backlog::PASSING.map(|event| format!("'{event}'")).join(", ");
    connection.execute(&format!("{older} AND event IN ({passing})"), params![session, KEPT])?;
    connection.execute(older, params![session, MOST_KEPT]).map(drop)
}

fn spooled_files(spool: &Path) -> Vec<PathBuf> {
    let Some(entries) = fs::read_dir(spool).logged_unless_missing("list a folder") else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(event: &str) -> Signal {
        Signal {
            session: "s".into(),
            at: Timestamp::from_second(1_794_700_000).unwrap(),
            agent: "claude".into(),
            event: event.into(),
            payload: "{}".into(),
            spooled: false,
        }
    }

    fn events(store: &mut Store) -> Vec<String> {
        store.signals("s").unwrap().into_iter().map(|s| s.event).collect()
    }

    #[test]
    fn a_busy_database_sends_signals_to_the_spool_and_none_is_lost_or_doubled() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("state")).unwrap();
        let mut store = Store::open(&dir).unwrap();
        signal("A").keep(&dir, "k1").unwrap();
        store.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        signal("B").keep(&dir, "k2").unwrap();
        assert_eq!(spooled_files(&dir.spool()).len(), 1);
        store.connection.execute_batch("COMMIT").unwrap();
        // The same file again, as after a crash between commit and removal.
        let again = fs::read(&spooled_files(&dir.spool())[0]).unwrap();
        assert_eq!(events(&mut store), ["A", "B"]);
        assert!(spooled_files(&dir.spool()).is_empty());
        fs::write(dir.spool().join("k2.json"), again).unwrap();
        assert_eq!(events(&mut store), ["A", "B"]);
    }

    #[test]
    fn events_without_their_payloads() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("state")).unwrap();
        for name in ["A", "B", "C"] {
            signal(name).keep(&dir, name).unwrap();
        }
        let store = Store::open(&dir).unwrap();
        let seen = |known, enough: &str| -> (Vec<SignalNo>, Vec<String>) {
            let seen = store.events_after("s", known, |event| event.name == enough).unwrap();
            seen.into_iter().map(|(number, event)| (number, event.name)).unzip()
        };
        let (numbers, names) = seen(SignalNo::default(), "");
        assert_eq!(names, ["A", "B", "C"]);
        assert_eq!(seen(numbers[0], "").1, ["B", "C"], "after one that is known");
        assert_eq!(seen(SignalNo::default(), "B").1, ["B", "C"], "back to one that is enough");
        assert_eq!(store.payload(numbers[2]).unwrap(), "{}");
    }

    #[test]
    fn the_signals_of_a_long_session_are_limited() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("state")).unwrap();
        let mut store = Store::open(&dir).unwrap();
        let kept = |store: &Store, event: &str| -> i64 {
            let sql = "SELECT count(*) FROM signals WHERE session = 's' AND event = ?";
            store.connection.query_row(sql, [event], |row| row.get(0)).unwrap()
        };
        store.connection.execute_batch("BEGIN").unwrap();
        insert(&store.connection, &signal("UserPromptSubmit"), None).unwrap();
        for _ in 0..6_000 {
            insert(&store.connection, &signal("PostToolUse"), None).unwrap();
        }
        store.connection.execute_batch("COMMIT").unwrap();
        assert!(kept(&store, "PostToolUse") <= KEPT + TRIM_EVERY);
        assert_eq!(kept(&store, "UserPromptSubmit"), 1, "the beginning of the turn still shows");
        store.trim_signals().unwrap();
        assert_eq!(kept(&store, "PostToolUse"), KEPT);
        store.connection.execute_batch("BEGIN").unwrap();
        for _ in 0..MOST_KEPT + 2 * TRIM_EVERY {
            insert(&store.connection, &signal("Notification"), None).unwrap();
        }
        store.connection.execute_batch("COMMIT").unwrap();
        store.trim_signals().unwrap();
        assert_eq!(kept(&store, "Notification"), MOST_KEPT);
    }

    #[test]
    fn signals_are_spooled_without_a_database() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("state")).unwrap();
        fs::write(dir.database(), b"damaged ".repeat(200)).unwrap();
        signal("A").keep(&dir, "k1").unwrap();
        fs::remove_file(dir.database()).unwrap();
        assert_eq!(events(&mut Store::open(&dir).unwrap()), ["A"]);
    }
}
