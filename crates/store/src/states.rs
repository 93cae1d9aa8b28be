//! The last seen status of each session. Every process that reads a status records changes, so that there is a history
//! without a running watcher.

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::{Subject, kind};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde_json::Value;

use crate::{Store, StoreError, journal};

/// A recorded status.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptState {
    /// Two verdicts with the same key are the same status.
    pub key: String,
    /// The earliest time at which it is known to have been in this status.
    pub since: Timestamp,
    /// When it was first seen in this status.
    pub seen: Timestamp,
    /// The status with its details.
    pub status: Value,
}

/// The result of recording a status.
#[derive(Debug, Clone, PartialEq)]
pub enum StateNews {
    /// The same as before.
    Same(KeptState),
    /// New, and now in the journal.
    New { before: Option<KeptState> },
    /// A later observation has recorded another status.
    Overtaken(KeptState),
}

impl Store {
    pub fn state(&self, session: &str) -> Result<Option<KeptState>, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT key, since, seen, status FROM states WHERE session = ?")?
                .query_row([session], from_row)
                .optional()
        })
    }

    /// Records the statuses that are new, in one transaction; returns the outcome of each, in their order.
    pub fn keep_states(
        &mut self,
        news: &[(Subject, KeptState)],
    ) -> Result<Vec<StateNews>, StoreError> {
        if news.is_empty() {
            return Ok(Vec::new());
        }
        self.transaction(|tx| {
            news.iter().map(|(subject, state)| keep(tx, subject, state)).collect()
        })
    }
}

fn keep(tx: &Transaction<'_>, subject: &Subject, state: &KeptState) -> rusqlite::Result<StateNews> {
    let session = subject.id.as_str();
    // Read under the lock: another process may have been first.
    let before = tx
        .prepare_cached("SELECT key, since, seen, status FROM states WHERE session = ?")?
        .query_row([session], from_row)
        .optional()?;
    match before {
        Some(before) if before.key == state.key => Ok(StateNews::Same(before)),
        Some(before) if before.seen > state.seen && !was_set_back(&before, state) => {
            Ok(StateNews::Overtaken(before))
        }
        before => {
            tx.prepare_cached(
                "INSERT INTO states (session, key, since, seen, status) VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT (session) DO UPDATE SET key = ?2, since = ?3, seen = ?4, status = ?5",
            )?
            .execute(params![
                session,
                state.key,
                state.since.as_millisecond(),
                state.seen.as_millisecond(),
                state.status.to_string()
            ])?;
            let data = journal_data(before.as_ref(), state);
            journal::append_of(tx, state.seen, session, Some(subject), kind::STATE, &data)?;
            Ok(StateNews::New { before })
        }
    }
}

/// The journal's data: the status, the one before, and since when it holds.
fn journal_data(before: Option<&KeptState>, state: &KeptState) -> Value {
    let mut data = state.status.clone();
    if let Some(data) = data.as_object_mut() {
        let from = before.and_then(|before| before.status.get("state").cloned());
        data.insert("from".into(), from.unwrap_or_default());
        data.insert("since".into(), Value::String(state.since.to_string()));
    }
    data
}

/// Two simultaneous observations differ by milliseconds; a larger difference means that the clock was set back.
fn was_set_back(before: &KeptState, state: &KeptState) -> bool {
    before.seen.duration_since(state.seen) > jiff::SignedDuration::from_secs(30)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<KeptState> {
    let time = |index| -> rusqlite::Result<Timestamp> {
        Ok(Timestamp::from_millisecond(row.get(index)?).unwrap_or_default())
    };
    let status =
        serde_json::from_str(&row.get::<_, String>(3)?).logged("read JSON").unwrap_or_default();
    Ok(KeptState { key: row.get(0)?, since: time(1)?, seen: time(2)?, status })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;
    use serde_json::json;

    fn kept(key: &str, seen: i64) -> KeptState {
        let at = Timestamp::from_second(1_794_700_000 + seen).unwrap();
        KeptState { key: key.into(), since: at, seen: at, status: json!({ "state": key }) }
    }

    #[test]
    fn a_change_is_recorded_once_and_in_order() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let subject = Subject { id: "a".into(), name: "n".into(), agent: "x".into() };
        let mut keep = |key: &str, seen| {
            let news = [(subject.clone(), kept(key, seen))];
            store.keep_states(&news).unwrap().remove(0)
        };
        assert_eq!(keep("idle", 0), StateNews::New { before: None });
        assert_eq!(keep("idle", 5), StateNews::Same(kept("idle", 0)));
        assert_eq!(keep("working", 9), StateNews::New { before: Some(kept("idle", 0)) });
        assert_eq!(keep("idle", 8), StateNews::Overtaken(kept("working", 9)), "a slow reader");
        let day = 86_400;
        assert_eq!(keep("idle", -day), StateNews::New { before: Some(kept("working", 9)) });
        let events = store.journal("a").unwrap().into_iter().map(|e| e.event);
        let changes: Vec<_> =
            events.map(|e| (e.data["from"].clone(), e.data["state"].clone())).collect();
        let pair = |from: Value, to: &str| (from, json!(to));
        let [idle, working] = ["idle", "working"].map(|word| json!(word));
        assert_eq!(
            changes,
            [pair(Value::Null, "idle"), pair(idle, "working"), pair(working, "idle")]
        );
    }
}
