//! Requests of other hosts: recorded before they are executed, so that none is executed twice.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::{Store, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// New, to be executed.
    New,
    /// It came before; with the last reply, if there was one.
    Before { reply: Option<String> },
}

impl Store {
    pub fn take_request(
        &mut self,
        id: &str,
        verb: &str,
        at: Timestamp,
    ) -> Result<Taken, StoreError> {
        self.transaction(|tx| {
            let before = tx
                .query_row("SELECT reply FROM requests WHERE id = ?", [id], |row| row.get(0))
                .optional()?;
            if let Some(reply) = before {
                return Ok(Taken::Before { reply });
            }
            let sql = "INSERT INTO requests (id, at, verb) VALUES (?, ?, ?)";
            tx.execute(sql, params![id, at.as_millisecond(), verb])?;
            Ok(Taken::New)
        })
    }

    pub fn answer_request(&mut self, id: &str, reply: &str) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute("UPDATE requests SET reply = ? WHERE id = ?", [reply, id]).map(drop)
        })
    }

    /// Removes requests from before that time: they have long expired.
    pub fn forget_requests(&mut self, before: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute("DELETE FROM requests WHERE at < ?", [before.as_millisecond()]).map(drop)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;

    #[test]
    fn a_request_is_taken_once() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = Timestamp::from_second(1_794_700_000).unwrap();
        assert_eq!(store.take_request("r", "kill", at).unwrap(), Taken::New);
        assert_eq!(store.take_request("r", "kill", at).unwrap(), Taken::Before { reply: None });
        store.answer_request("r", "done").unwrap();
        let reply = Some("done".to_owned());
        assert_eq!(store.take_request("r", "kill", at).unwrap(), Taken::Before { reply });
        store.forget_requests(at).unwrap();
        assert_ne!(store.take_request("r", "kill", at).unwrap(), Taken::New, "not old enough");
        store.forget_requests(at + jiff::SignedDuration::from_secs(1)).unwrap();
        assert_eq!(store.take_request("r", "kill", at).unwrap(), Taken::New);
    }
}
