//! When a person last looked at a session.

use std::collections::BTreeMap;

use dogwatch_protocol::id::SessionId;
use jiff::Timestamp;
use rusqlite::params;

use crate::{Store, StoreError};

impl Store {
    /// All that are recorded.
    pub fn looked_at(&self) -> Result<BTreeMap<SessionId, Timestamp>, StoreError> {
        self.read(|c| {
            let mut query = c.prepare_cached("SELECT session, at FROM looked_at")?;
            let rows = query.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
            let mut all = BTreeMap::new();
            for row in rows {
                let (session, millis): (String, i64) = row?;
                if let Ok(at) = Timestamp::from_millisecond(millis) {
                    all.insert(SessionId::from(session), at);
                }
            }
            Ok(all)
        })
    }

    /// Records a look; an earlier one than the recorded is ignored. Records of sessions that the database no longer has are
    /// removed, except those that were made today: agents that dogwatch did not start are not in it.
    pub fn look_at(&mut self, session: &str, at: Timestamp) -> Result<(), StoreError> {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        let millis = at.as_millisecond();
        self.transaction(|tx| {
            tx.prepare_cached(
                "INSERT INTO looked_at (session, at) VALUES (?1, ?2)
                 ON CONFLICT (session) DO UPDATE SET at = max(at, excluded.at)",
            )?
            .execute(params![session, millis])?;
            tx.prepare_cached(
                "DELETE FROM looked_at WHERE at < ? AND session NOT IN (SELECT id FROM sessions)",
            )?
            .execute([millis - DAY])?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;

    #[test]
    fn the_last_look_counts_and_old_ones_of_unknown_sessions_go() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = |second| Timestamp::from_second(second).unwrap();
        store.look_at("a", at(100)).unwrap();
        store.look_at("a", at(50)).unwrap();
        store.look_at("b", at(70)).unwrap();
        let all = store.looked_at().unwrap();
        assert_eq!(
            all.into_iter().map(|(id, at)| (id.to_string(), at)).collect::<Vec<_>>(),
            [("a".to_owned(), at(100)), ("b".to_owned(), at(70))]
        );
        store.look_at("c", at(90 + 24 * 60 * 60)).unwrap();
        let left: Vec<String> =
            store.looked_at().unwrap().into_keys().map(|id| id.to_string()).collect();
        assert_eq!(left, ["a", "c"]);
    }
}
