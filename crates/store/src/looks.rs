use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::{Store, StoreError};

/// A fingerprint of what a session looked like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub session: String,
    pub print: String,
    /// Since when it has looked like this.
    pub moved: Timestamp,
}

impl Look {
    /// Since when a session has looked as it does now, and the look to [keep](Store::keep_looks) if it is new. The first look
    /// counts as a change. A clock that was set back does not make a change older.
    pub fn compare(
        before: Option<&Self>,
        session: &str,
        print: &str,
        now: Timestamp,
    ) -> (Timestamp, Option<Self>) {
        let now = Self::as_stored(now);
        match before {
            Some(before) if before.print == print && before.moved <= now => (before.moved, None),
            _ => {
                let (session, print) = (session.to_owned(), print.to_owned());
                (now, Some(Self { session, print, moved: now }))
            }
        }
    }

    /// Rounded to what the database keeps of a moment.
    pub fn as_stored(at: Timestamp) -> Timestamp {
        to_millisecond(at.as_millisecond())
    }
}

fn to_millisecond(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or_default()
}

impl Store {
    /// The look of a session at its last change.
    pub fn last_look(&self, session: &str) -> Result<Option<Look>, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT print, moved FROM looks WHERE session = ?")?
                .query_row([session], |row| {
                    let moved = to_millisecond(row.get(1)?);
                    Ok(Look { session: session.to_owned(), print: row.get(0)?, moved })
                })
                .optional()
        })
    }

    /// Stores looks in one transaction: single writes would each take a lock and wait for the log.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;

    #[test]
    fn a_changed_fingerprint_is_a_change() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = |s: i64| Timestamp::from_second(1_794_700_000 + s).unwrap();
        let mut moved = |print: &str, s: i64| {
            let before = store.last_look("a").unwrap();
            let (moved, news) = Look::compare(before.as_ref(), "a", print, at(s));
            store.keep_looks(news.as_slice()).unwrap();
            moved
        };
        assert_eq!(moved("x", 0), at(0), "first sight");
        assert_eq!(moved("x", 60), at(0));
        assert_eq!(moved("y", 70), at(70));
        assert_eq!(moved("y", 10), at(10), "the clock was set back");
    }
}
