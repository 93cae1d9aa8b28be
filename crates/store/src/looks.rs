use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::{Store, StoreError};

/// When something was last seen to have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub moved: Timestamp,
}

impl Store {
    /// Notes what a session looks like now, as a fingerprint, and returns when that last changed. The first look
    /// counts as a change. A clock that was set back does not make movement older than it is.
    pub fn look(&mut self, session: &str, print: &str, now: Timestamp) -> Result<Look, StoreError> {
        let time = |ms| Timestamp::from_millisecond(ms).unwrap_or_default();
        self.transaction(|tx| {
            let before: Option<(String, i64)> = tx
                .prepare_cached("SELECT print, moved FROM looks WHERE session = ?")?
                .query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let now_ms = now.as_millisecond();
            let moved = match before {
                // Nothing to write down, unless the clock was set back.
                Some((old, moved)) if old == print && moved <= now_ms => {
                    return Ok(Look { moved: time(moved) });
                }
                _ => now_ms,
            };
            tx.prepare_cached(
                "INSERT INTO looks (session, print, moved) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (session) DO UPDATE SET print = ?2, moved = ?3",
            )?
            .execute(params![session, print, moved])?;
            Ok(Look { moved: time(moved) })
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
        let mut moved = |print: &str, s: i64| store.look("a", print, at(s)).unwrap().moved;
        assert_eq!(moved("x", 0), at(0), "first sight");
        assert_eq!(moved("x", 60), at(0));
        assert_eq!(moved("y", 70), at(70));
        assert_eq!(moved("y", 10), at(10), "the clock was set back");
    }
}
