//! The state that each session was last seen in. Whoever looks writes down what is new, so that there is a history
//! whether or not anybody watches.

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::{Subject, kind};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};
use serde_json::Value;

use crate::{Store, StoreError, journal};

/// A state that a session was seen in.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptState {
    /// What makes two verdicts the same state.
    pub key: String,
    /// The first moment at which it is known to have been in it.
    pub since: Timestamp,
    /// When it was last looked at and found in it for the first time.
    pub seen: Timestamp,
    /// The state with what belongs to it.
    pub status: Value,
}

/// What became of a state that was to be written down.
#[derive(Debug, Clone, PartialEq)]
pub enum StateNews {
    /// It is in the same state as before.
    Same(KeptState),
    /// It is news, and in the journal now.
    New { before: Option<KeptState> },
    /// Somebody who looked later has written down another one.
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

    /// Writes down the state that a session was found in, if that is news.
    pub fn keep_state(
        &mut self,
        subject: &Subject,
        state: &KeptState,
    ) -> Result<StateNews, StoreError> {
        let session = subject.id.as_str();
        // Nearly always the same as before: that needs no write lock.
        if let Some(before) = self.state(session)?
            && before.key == state.key
        {
            return Ok(StateNews::Same(before));
        }
        self.transaction(|tx| {
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
                    let data = told(before.as_ref(), state);
                    journal::append_of(tx, state.seen, session, Some(subject), kind::STATE, &data)?;
                    Ok(StateNews::New { before })
                }
            }
        })
    }
}

/// What is told of it: the state, the one before, and since when it holds.
fn told(before: Option<&KeptState>, state: &KeptState) -> Value {
    let mut data = state.status.clone();
    if let Some(data) = data.as_object_mut() {
        let from = before.and_then(|before| before.status.get("state").cloned());
        data.insert("from".into(), from.unwrap_or_default());
        data.insert("since".into(), Value::String(state.since.to_string()));
    }
    data
}

/// Two that look at once differ by milliseconds; by more only a clock that was set back does.
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
    fn news_is_told_once_and_in_order() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let subject = Subject { id: "a".into(), name: "n".into(), agent: "x".into() };
        let mut keep = |key: &str, seen| store.keep_state(&subject, &kept(key, seen)).unwrap();
        assert_eq!(keep("idle", 0), StateNews::New { before: None });
        assert_eq!(keep("idle", 5), StateNews::Same(kept("idle", 0)));
        assert_eq!(keep("working", 9), StateNews::New { before: Some(kept("idle", 0)) });
        assert_eq!(keep("idle", 8), StateNews::Overtaken(kept("working", 9)), "a slow reader");
        let day = 86_400;
        assert_eq!(keep("idle", -day), StateNews::New { before: Some(kept("working", 9)) });
        let told = store.journal("a").unwrap().into_iter().map(|e| e.event);
        let told: Vec<_> =
            told.map(|e| (e.data["from"].clone(), e.data["state"].clone())).collect();
        let pair = |from: Value, to: &str| (from, json!(to));
        let [idle, working] = ["idle", "working"].map(|word| json!(word));
        assert_eq!(told, [pair(Value::Null, "idle"), pair(idle, "working"), pair(working, "idle")]);
    }
}
