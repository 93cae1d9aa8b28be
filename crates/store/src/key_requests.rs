//! Requests that a session's keys be pressed: stored before that is done, and what came of it after.

use dogwatch_base::log::Logged as _;
use dogwatch_protocol::error::ErrorDetail;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::keys::{KeyOutcome, KeyRequest};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

use crate::{Store, StoreError};

/// A request as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct PostedKeys {
    pub id: String,
    pub session: SessionId,
    /// Missing if what is stored is damaged, or of a newer version: it must not be guessed.
    pub request: Option<KeyRequest>,
    pub posted: Timestamp,
    pub begun: Option<Begun>,
    pub outcome: Option<KeyOutcome>,
}

/// From then on keys may have been pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    pub at: Timestamp,
    /// The mark of the dialog that was open.
    pub dialog: Option<String>,
}

const COLUMNS: &str = "id, session, request, posted, begun, dialog, outcome";

impl Store {
    /// Posts a request. One that is known by this id is not posted again.
    pub fn post_keys(
        &mut self,
        id: &str,
        session: &str,
        request: &KeyRequest,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        // Types of the protocol have no keys but texts.
        let request = serde_json::to_string(request).logged("write JSON").unwrap_or_default();
        let sql =
            "INSERT OR IGNORE INTO key_requests (id, session, request, posted) VALUES (?, ?, ?, ?)";
        let values = params![id, session, request, at.as_millisecond()];
        self.transaction(|tx| tx.execute(sql, values).map(drop))
    }

    pub fn posted_keys(&self, id: &str) -> Result<Option<PostedKeys>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM key_requests WHERE id = ?");
        self.read(|c| c.prepare_cached(&sql)?.query_row([id], from_row).optional())
    }

    /// The next request for a session, in the order of posting.
    pub fn next_keys(&self, session: &str) -> Result<Option<PostedKeys>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM key_requests WHERE session = ? AND outcome IS NULL ORDER BY number LIMIT 1"
        );
        self.read(|c| c.prepare_cached(&sql)?.query_row([session], from_row).optional())
    }

    /// The session of each open request.
    pub fn open_keys(&self) -> Result<Vec<SessionId>, StoreError> {
        let sql = "SELECT session FROM key_requests WHERE outcome IS NULL";
        let id = |row: &Row<'_>| row.get::<_, String>(0).map(SessionId::from);
        self.read(|c| c.prepare_cached(sql)?.query_map([], id)?.collect())
    }

    /// Records that keys are about to be pressed, for this dialog. False if the request was withdrawn before.
    pub fn begin_keys(
        &mut self,
        id: &str,
        dialog: Option<&str>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE key_requests SET begun = ?, dialog = ? WHERE id = ? AND outcome IS NULL";
        let values = params![at.as_millisecond(), dialog, id];
        self.transaction(|tx| tx.execute(sql, values).map(|changed| changed == 1))
    }

    /// Records what came of a request.
    pub fn settle_keys(
        &mut self,
        id: &str,
        outcome: &KeyOutcome,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.settle_keys_if("outcome IS NULL", id, outcome, at).map(drop)
    }

    /// Withdraws a request, unless keys may have been pressed for it or it is settled.
    pub fn withdraw_keys(
        &mut self,
        id: &str,
        because: ErrorDetail,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let outcome = KeyOutcome::Failed(because);
        self.settle_keys_if("outcome IS NULL AND begun IS NULL", id, &outcome, at)
    }

    fn settle_keys_if(
        &mut self,
        condition: &str,
        id: &str,
        outcome: &KeyOutcome,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let outcome = serde_json::to_string(outcome).logged("write JSON").unwrap_or_default();
        let sql =
            format!("UPDATE key_requests SET outcome = ?, done = ? WHERE id = ? AND {condition}");
        let values = params![outcome, at.as_millisecond(), id];
        self.transaction(|tx| tx.execute(&sql, values).map(|changed| changed == 1))
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<PostedKeys> {
    let time = |ms: i64| Timestamp::from_millisecond(ms).unwrap_or_default();
    let (request, outcome): (String, Option<String>) = (row.get(2)?, row.get(6)?);
    let begun: Option<i64> = row.get(4)?;
    let dialog = row.get(5)?;
    Ok(PostedKeys {
        id: row.get(0)?,
        session: row.get::<_, String>(1)?.into(),
        request: serde_json::from_str(&request).logged("read JSON"),
        posted: time(row.get(3)?),
        begun: begun.map(|at| Begun { at: time(at), dialog }),
        outcome: outcome.map(|text| {
            let read: Result<KeyOutcome, _> = serde_json::from_str(&text);
            read.unwrap_or_else(|error| {
                let message = format!("what came of it cannot be read: {error}");
                KeyOutcome::Failed(ErrorDetail { code: "store".to_owned(), message, hint: None })
            })
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;
    use dogwatch_protocol::keys::Interrupted;

    #[test]
    fn a_request_is_done_once() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = Timestamp::from_second(1_794_700_000).unwrap();
        let answer = KeyRequest::Answer { choice: "2".to_owned(), dialog: None, by_agent: false };
        for id in ["a", "a", "b", "c"] {
            store.post_keys(id, "s", &answer, at).unwrap();
        }
        let next = |store: &Store| store.next_keys("s").unwrap().map(|one| one.id);
        assert_eq!(next(&store).as_deref(), Some("a"));
        assert_eq!(store.open_keys().unwrap().len(), 3);
        assert_eq!(store.next_keys("other").unwrap(), None);
        let withdrawn =
            || ErrorDetail { code: "cancelled".into(), message: "withdrawn".into(), hint: None };
        assert!(store.begin_keys("a", Some("mark"), at).unwrap());
        assert!(!store.withdraw_keys("a", withdrawn(), at).unwrap(), "keys may have been pressed");
        let kept = store.posted_keys("a").unwrap().unwrap();
        assert_eq!(kept.request, Some(answer));
        assert_eq!(kept.begun, Some(Begun { at, dialog: Some("mark".to_owned()) }));
        let done = KeyOutcome::Interrupted(Interrupted::Pressed);
        store.settle_keys("a", &done, at).unwrap();
        store.settle_keys("a", &KeyOutcome::Failed(withdrawn()), at).unwrap();
        assert_eq!(store.posted_keys("a").unwrap().unwrap().outcome, Some(done), "once");
        assert!(store.withdraw_keys("b", withdrawn(), at).unwrap());
        assert!(!store.begin_keys("b", None, at).unwrap(), "it was withdrawn");
        store
            .connection
            .execute("UPDATE key_requests SET request = '{' WHERE id = 'c'", [])
            .unwrap();
        assert_eq!(store.next_keys("s").unwrap().map(|one| one.request), Some(None), "damaged");
    }
}
