use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::{Store, StoreError};

/// What a session was seen to look like, as a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub session: String,
    pub print: String,
    /// Since when it looks like this.
    pub moved: Timestamp,
}

impl Store {
    /// Since when a session looks as it does now, and a look to [keep](Self::keep_looks) if that is news. The first look
    /// counts as a change. A clock that was set back does not make movement older than it is.
    pub fn look(
        &self,
        session: &str,
        print: &str,
        now: Timestamp,
    ) -> Result<(Timestamp, Option<Look>), StoreError> {
        let before: Option<(String, i64)> = self.read(|c| {
            c.prepare_cached("SELECT print, moved FROM looks WHERE session = ?")?
                .query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })?;
        let time = |ms| Timestamp::from_millisecond(ms).unwrap_or_default();
        let now = now.as_millisecond();
        match before {
            Some((old, moved)) if old == print && moved <= now => Ok((time(moved), None)),
            _ => {
                let moved = time(now);
                let look = Look { session: session.to_owned(), print: print.to_owned(), moved };
                Ok((moved, Some(look)))
            }
        }
    }

    /// Writes looks down, all at once: each write by itself would take a lock and a wait for the log.
    pub fn keep_looks(&mut self, looks: &[Look]) -> Result<(), StoreError> {
        if looks.is_empty() {
            return Ok(());
        }
        self.transaction(|tx| {
            let mut keep = tx.prepare_cached(
                "INSERT INTO looks (session, print, moved) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (session) DO UPDATE SET print = ?2, moved = ?3",
            )?;
            for Look { session, print, moved } in looks {
                keep.execute(params![session, print, moved.as_millisecond()])?;
            }
            Ok(())
        })
    }

    /// When a session was last seen to have changed, without looking at it now.
    pub fn last_movement(&self, session: &str) -> Result<Option<Timestamp>, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT moved FROM looks WHERE session = ?")?
                .query_row([session], |row| row.get(0))
                .optional()
        })
        .map(|ms| ms.and_then(|ms| Timestamp::from_millisecond(ms).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;

    #[test]
    fn movement_is_a_change_between_looks() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = |s: i64| Timestamp::from_second(1_794_700_000 + s).unwrap();
        let mut moved = |print: &str, s: i64| {
            let (moved, news) = store.look("a", print, at(s)).unwrap();
            store.keep_looks(news.as_slice()).unwrap();
            moved
        };
        assert_eq!(moved("x", 0), at(0), "first sight");
        assert_eq!(moved("x", 60), at(0));
        assert_eq!(moved("y", 70), at(70));
        assert_eq!(moved("y", 10), at(10), "the clock was set back");
    }
}
