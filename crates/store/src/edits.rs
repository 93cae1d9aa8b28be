//! Files that sessions edit, and those that two of them edit.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use dogwatch_core::event::kind;
use dogwatch_protocol::event_data::{Collision, LoopInterrupted};
use dogwatch_protocol::id::SessionId;
use jiff::Timestamp;
use rusqlite::{Transaction, params};

use crate::{Store, StoreError, journal};

/// Most collisions that are read at once; the newest.
const MOST: u32 = 1_000;

/// A file of a project, the same one in all worktrees of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedFile {
    /// The repository's folder; empty outside of git.
    pub repository: PathBuf,
    /// Below the work tree; outside of git absolute.
    pub path: PathBuf,
    pub tree: PathBuf,
}

/// An edit of the same file by another session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OthersEdit {
    pub session: SessionId,
    pub tree: PathBuf,
}

/// Two sessions that edit a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptCollision {
    pub session: SessionId,
    pub other: SessionId,
    pub path: PathBuf,
    pub at: Timestamp,
}

/// What is new about two sessions that edit the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollisionNews {
    None,
    /// One of the pairs.
    Pair,
    /// They are known, and for the first time the agent can be told before it writes.
    Held,
}

impl Store {
    /// Records that a session has changed files.
    pub fn keep_edits(
        &mut self,
        session: &str,
        files: &[EditedFile],
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if files.is_empty() {
            return Ok(());
        }
        self.transaction(|tx| {
            let mut insert = tx.prepare_cached(
                "INSERT INTO edits (session, repository, path, tree, at) VALUES (?, ?, ?, ?, ?) \
                 ON CONFLICT DO UPDATE SET tree = excluded.tree, at = excluded.at",
            )?;
            for file in files {
                let at = at.as_millisecond();
                let EditedFile { repository, path, tree } = file;
                insert.execute(params![
                    session,
                    bytes(repository),
                    bytes(path),
                    bytes(tree),
                    at
                ])?;
            }
            Ok(())
        })
    }

    /// Other sessions that have changed this file.
    pub fn edits_of_others(
        &self,
        session: &str,
        file: &EditedFile,
    ) -> Result<Vec<OthersEdit>, StoreError> {
        self.read(|c| {
            c.prepare_cached(
                "SELECT session, tree FROM edits WHERE repository = ? AND path = ? AND session <> ?",
            )?
            .query_map(params![bytes(&file.repository), bytes(&file.path), session], |row| {
                let session: String = row.get(0)?;
                Ok(OthersEdit { session: session.into(), tree: path(row.get(1)?) })
            })?
            .collect()
        })
    }

    /// Records that a session edits a file that these others have edited. What is new is in the journal.
    pub fn add_collision(
        &mut self,
        session: &str,
        others: &[&str],
        file: &EditedFile,
        data: &Collision,
        at: Timestamp,
    ) -> Result<CollisionNews, StoreError> {
        self.transaction(|tx| {
            let mut is_new = false;
            let mut was_held = was_held(tx, session, data)?;
            for other in others {
                is_new |= add_pair(tx, session, other, file, at)?;
                was_held |= self::was_held(tx, other, data)?;
            }
            let news = match (is_new, data.held && !was_held) {
                (true, _) => CollisionNews::Pair,
                (false, true) => CollisionNews::Held,
                (false, false) => return Ok(CollisionNews::None),
            };
            journal::append(tx, at, session, kind::COLLISION, data)?;
            Ok(news)
        })
    }

    /// The newest collisions, oldest first, whether or not their sessions still live.
    pub fn collisions(&self) -> Result<Vec<KeptCollision>, StoreError> {
        let mut all: Vec<KeptCollision> = self.read(|c| {
            c.prepare_cached(
                "SELECT session, other, path, at FROM collisions ORDER BY at DESC LIMIT ?",
            )?
            .query_map([MOST], |row| {
                let (session, other): (String, String) = (row.get(0)?, row.get(1)?);
                let at = Timestamp::from_millisecond(row.get(3)?).unwrap_or_default();
                let path = path(row.get(2)?);
                Ok(KeptCollision { session: session.into(), other: other.into(), path, at })
            })?
            .collect()
        })?;
        all.reverse();
        Ok(all)
    }

    /// Records that a loop is to be interrupted. Returns false if it was before: then it must not be again.
    pub fn interrupt_loop(
        &mut self,
        session: &str,
        since: Timestamp,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.transaction(|tx| {
            let sql =
                "INSERT OR IGNORE INTO interrupted_loops (session, began, at) VALUES (?, ?, ?)";
            let (began, ms) = (since.as_millisecond(), at.as_millisecond());
            tx.prepare_cached(sql)?.execute(params![session, began, ms])?;
            let sql =
                "SELECT pressed IS NULL FROM interrupted_loops WHERE session = ? AND began = ?";
            tx.prepare_cached(sql)?.query_row(params![session, began], |row| row.get(0))
        })
    }

    /// Records that this was done, with its event if keys were pressed.
    pub fn loop_is_interrupted(
        &mut self,
        session: &str,
        data: &LoopInterrupted,
        has_pressed: bool,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.transaction(|tx| {
            let sql = "UPDATE interrupted_loops SET pressed = ? WHERE session = ? AND began = ? AND pressed IS NULL";
            let (began, ms) = (data.since.as_millisecond(), at.as_millisecond());
            let is_new = tx.prepare_cached(sql)?.execute(params![ms, session, began])? > 0;
            if is_new && has_pressed {
                journal::append(tx, at, session, kind::LOOP_INTERRUPTED, data)?;
            }
            Ok(())
        })
    }
}

/// Whether a session was held before an edit of this file.
fn was_held(tx: &Transaction<'_>, session: &str, data: &Collision) -> rusqlite::Result<bool> {
    tx.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM journal WHERE session = ? AND event = 'collision' \
         AND json_extract(data, '$.path') = ? AND json_extract(data, '$.held') = 1)",
    )?
    .query_row(params![session, data.path], |row| row.get(0))
}

/// The pair counts in either order.
fn add_pair(
    tx: &Transaction<'_>,
    session: &str,
    other: &str,
    file: &EditedFile,
    at: Timestamp,
) -> rusqlite::Result<bool> {
    let (repository, path) = (bytes(&file.repository), bytes(&file.path));
    let mut insert = tx.prepare_cached(
        "INSERT INTO collisions (session, other, repository, path, at) SELECT ?1, ?2, ?3, ?4, ?5 \
         WHERE NOT EXISTS (SELECT 1 FROM collisions WHERE repository = ?3 AND path = ?4 \
         AND ((session = ?1 AND other = ?2) OR (session = ?2 AND other = ?1)))",
    )?;
    Ok(insert.execute(params![session, other, repository, path, at.as_millisecond()])? > 0)
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_794_700_000 + second).unwrap()
    }

    fn file(tree: &str, path: &str) -> EditedFile {
        EditedFile { repository: "/r".into(), path: path.into(), tree: tree.into() }
    }

    #[test]
    fn a_pair_collides_once_for_each_file() {
        use CollisionNews::{Held, None, Pair};
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let x = file("/r", "x.rs");
        store.keep_edits("a", &[x.clone(), file("/r", "y.rs")], at(0)).unwrap();
        store.keep_edits("a", std::slice::from_ref(&x), at(1)).unwrap();
        assert_eq!(store.edits_of_others("a", &x).unwrap(), []);
        let of_b = file("/w", "x.rs");
        let found = store.edits_of_others("b", &of_b).unwrap();
        assert_eq!(found, [OthersEdit { session: "a".to_owned().into(), tree: "/r".into() }]);
        assert_eq!(store.edits_of_others("b", &file("/w", "z.rs")).unwrap(), []);
        let data = Collision {
            path: "x.rs".into(),
            with: vec!["a".into()],
            text: "both".into(),
            held: false,
        };
        let mut add = |session, others: &[&str], s, held| {
            let data = Collision { held, ..data.clone() };
            store.add_collision(session, others, &of_b, &data, at(s)).unwrap()
        };
        assert_eq!(add("b", &["a"], 2, false), Pair);
        assert_eq!(add("b", &["a"], 3, false), None, "once");
        assert_eq!(add("a", &["b"], 4, false), None, "in either order");
        assert_eq!(add("c", &["a", "b"], 5, false), Pair, "another one");
        assert_eq!(add("c", &["a", "b"], 6, true), Held, "it can be told now");
        assert_eq!(add("c", &["a", "b"], 7, true), None, "once");
        assert_eq!(add("b", &["c"], 8, true), None, "the other was");
        let all = store.collisions().unwrap();
        let pairs: Vec<_> = all.iter().map(|c| (c.session.as_str(), c.other.as_str())).collect();
        assert_eq!(pairs[0], ("b", "a"));
        assert_eq!(pairs.len(), 3);
        assert_eq!(store.journal("b").unwrap().len(), 1);
    }

    #[test]
    fn a_loop_is_interrupted_once() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let data = |since| LoopInterrupted { what: "make".into(), times: 7, since: at(since) };
        assert!(store.interrupt_loop("a", at(0), at(9)).unwrap());
        assert!(store.interrupt_loop("a", at(0), at(10)).unwrap(), "nothing was pressed yet");
        for has_pressed in [true, true, false] {
            store.loop_is_interrupted("a", &data(0), has_pressed, at(11)).unwrap();
        }
        assert!(!store.interrupt_loop("a", at(0), at(12)).unwrap());
        assert!(store.interrupt_loop("a", at(20), at(30)).unwrap(), "another one");
        store.loop_is_interrupted("a", &data(20), false, at(31)).unwrap();
        let events = store.journal("a").unwrap();
        assert_eq!(events.len(), 1, "once, and only of keys that were pressed: {events:?}");
        assert!(store.interrupt_loop("b", at(0), at(30)).unwrap());
    }
}
