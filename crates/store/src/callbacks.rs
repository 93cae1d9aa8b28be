//! Which session subscribed to what (`--notify-me`), and events that are not sent yet. Each event is recorded once, whichever process sees
//! it, and is part of one message.

use dogwatch_core::callback;
use dogwatch_protocol::id::{JobId, SessionId};
use jiff::Timestamp;
use rusqlite::{Row, Transaction, params};

use crate::messages::{self, NewMessage};
use crate::{Store, StoreError};

#[derive(Debug, Clone)]
pub struct NewCallback<'a> {
    /// The session that gets the messages.
    pub subscriber: &'a str,
    /// The session that works.
    pub session: &'a str,
    pub job: Option<&'a str>,
    pub at: Timestamp,
}

/// Work that a session subscribes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    pub number: i64,
    pub session: SessionId,
    pub job: Option<JobId>,
    pub created: Timestamp,
    /// The key of the last event in a message.
    pub told: Option<String>,
}

/// An event that is not in a message yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallbackNews {
    pub number: i64,
    pub at: Timestamp,
    pub text: String,
}

impl Store {
    /// A job that this session waits for already is not added again.
    pub fn add_callback(&mut self, new: &NewCallback<'_>) -> Result<(), StoreError> {
        self.transaction(|tx| insert(tx, new))
    }

    /// The work that this session still waits for.
    pub fn callbacks(&self, subscriber: &str) -> Result<Vec<Callback>, StoreError> {
        let sql = "SELECT number, session, job, created, told FROM callbacks \
                   WHERE subscriber = ? AND over IS NULL ORDER BY number";
        self.read(|c| c.prepare_cached(sql)?.query_map([subscriber], from_row)?.collect())
    }

    /// Whether a session waits for this job.
    pub fn is_subscribed(&self, job: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM callbacks WHERE job = ? AND over IS NULL)";
        self.read(|c| c.prepare_cached(sql)?.query_row([job], |row| row.get(0)))
    }

    /// Records an event, unless it was recorded before; whether this call did. Several rows may be about one session (`spawn`,
    /// then `job submit`): what it does on the way is one event for all of them.
    pub fn tell_callback(
        &mut self,
        number: i64,
        key: &str,
        text: &str,
        is_end: bool,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let now = at.as_millisecond();
        self.transaction(|tx| {
            let changed = tx.execute(
                "UPDATE callbacks SET told = ?1, over = CASE WHEN ?2 THEN ?3 END \
                 WHERE number = ?4 AND over IS NULL AND told IS NOT ?1",
                params![key, is_end, now, number],
            )?;
            let is_new = changed == 1 && (is_end || !is_told_by_another(tx, number, key)?);
            if is_new {
                insert_news(tx, number, text, now)?;
            }
            Ok(is_new)
        })
    }

    /// The worker goes on: what it does next is a new event.
    pub fn forget_told(&mut self, number: i64) -> Result<(), StoreError> {
        self.transaction(|tx| {
            let sql = "UPDATE callbacks SET told = NULL WHERE number = ? AND told IS NOT NULL";
            tx.execute(sql, [number]).map(drop)
        })
    }

    /// Events that this session has yet to get, oldest first.
    pub fn callback_news(&self, subscriber: &str) -> Result<Vec<CallbackNews>, StoreError> {
        let sql = "SELECT number, at, text FROM callback_news \
                   WHERE subscriber = ? AND message IS NULL ORDER BY number";
        self.read(|c| {
            c.prepare_cached(sql)?
                .query_map([subscriber], |row| {
                    Ok(CallbackNews {
                        number: row.get(0)?,
                        at: Timestamp::from_millisecond(row.get(1)?).unwrap_or_default(),
                        text: row.get(2)?,
                    })
                })?
                .collect()
        })
    }

    /// Posts one message with these events; false if another process has posted one of them before, and then nothing was changed.
    pub fn post_callback_news(
        &mut self,
        new: &NewMessage<'_>,
        news: &[i64],
    ) -> Result<bool, StoreError> {
        self.transaction(|tx| {
            for number in news {
                let open: bool = tx.query_row(
                    "SELECT message IS NULL FROM callback_news WHERE number = ?",
                    [number],
                    |row| row.get(0),
                )?;
                if !open {
                    return Ok(false);
                }
            }
            for number in news {
                let sql = "UPDATE callback_news SET message = ? WHERE number = ?";
                tx.execute(sql, params![new.id, number])?;
            }
            messages::insert(tx, new)?;
            Ok(true)
        })
    }

    /// Sessions that wait for work of others, or have yet to get its events.
    pub fn callback_subscribers(&self) -> Result<Vec<SessionId>, StoreError> {
        let sql = "SELECT subscriber FROM callbacks WHERE over IS NULL \
                   UNION SELECT subscriber FROM callback_news WHERE message IS NULL";
        self.read(|c| {
            c.prepare_cached(sql)?
                .query_map([], |row| Ok(row.get::<_, String>(0)?.into()))?
                .collect()
        })
    }

    /// A session that has ended gets no more messages.
    pub fn drop_callbacks(&mut self, subscriber: &str, at: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute(
                "UPDATE callbacks SET over = ? WHERE subscriber = ? AND over IS NULL",
                params![at.as_millisecond(), subscriber],
            )?;
            let sql =
                "UPDATE callback_news SET message = '' WHERE subscriber = ? AND message IS NULL";
            tx.execute(sql, [subscriber]).map(drop)
        })
    }
}

pub(crate) fn insert(tx: &Transaction<'_>, new: &NewCallback<'_>) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO callbacks (subscriber, session, job, created) SELECT ?1, ?2, ?3, ?4 \
         WHERE NOT EXISTS (SELECT 1 FROM callbacks WHERE subscriber = ?1 AND job = ?3)",
        params![new.subscriber, new.session, new.job, new.at.as_millisecond()],
    )
    .map(drop)
}

/// Whether another open row of the same subscriber and session has reported this event.
fn is_told_by_another(tx: &Transaction<'_>, number: i64, key: &str) -> rusqlite::Result<bool> {
    tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM callbacks AS one JOIN callbacks AS other \
         ON other.subscriber = one.subscriber AND other.session = one.session \
         WHERE one.number = ?1 AND other.number != ?1 AND other.over IS NULL AND other.told = ?2)",
        params![number, key],
        |row| row.get(0),
    )
}

/// The same text that is not in a message yet is the same event: of a removed session each of its rows would say that it is gone.
fn insert_news(tx: &Transaction<'_>, number: i64, text: &str, at: i64) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO callback_news (subscriber, session, at, text) \
         SELECT subscriber, session, ?1, ?2 FROM callbacks WHERE number = ?3 AND NOT EXISTS \
         (SELECT 1 FROM callback_news AS known WHERE known.subscriber = callbacks.subscriber \
         AND known.session = callbacks.session AND known.text = ?2 AND known.message IS NULL)",
        params![at, text, number],
    )
    .map(drop)
}

/// The session is removed: its unreported events are kept for subscribers that still wait, with its end.
pub(crate) fn session_removed(
    tx: &Transaction<'_>,
    session: &str,
    name: &str,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let now = at.as_millisecond();
    let sql = "SELECT number FROM callbacks WHERE session = ? AND over IS NULL";
    let open: Vec<i64> = tx
        .prepare_cached(sql)?
        .query_map([session], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for number in open {
        insert_news(tx, number, &callback::removed(name), now)?;
    }
    // Those of a removed subscriber have no reader; a message that was posted is kept with the messages.
    for table in ["callbacks", "callback_news"] {
        tx.prepare_cached(&format!("DELETE FROM {table} WHERE subscriber = ?"))?
            .execute([session])?;
    }
    tx.prepare_cached("DELETE FROM callbacks WHERE session = ?")?.execute([session])?;
    let sql = "DELETE FROM callback_news WHERE session = ? AND (message IS NOT NULL \
               OR subscriber NOT IN (SELECT id FROM sessions))";
    tx.prepare_cached(sql)?.execute([session]).map(drop)
}

/// Removes old data about sessions without a row in `sessions`, unless a session has yet to get it.
pub(crate) fn forget_strangers(tx: &Transaction<'_>, before: Timestamp) -> rusqlite::Result<()> {
    for (table, time, is_over) in
        [("callbacks", "created", "over"), ("callback_news", "at", "message")]
    {
        let sql = format!(
            "DELETE FROM {table} WHERE {time} < ? AND session NOT IN (SELECT id FROM sessions) \
             AND ({is_over} IS NOT NULL OR subscriber NOT IN (SELECT id FROM sessions))"
        );
        tx.execute(&sql, [before.as_millisecond()])?;
    }
    Ok(())
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Callback> {
    Ok(Callback {
        number: row.get(0)?,
        session: row.get::<_, String>(1)?.into(),
        job: row.get::<_, Option<String>>(2)?.map(Into::into),
        created: Timestamp::from_millisecond(row.get(3)?).unwrap_or_default(),
        told: row.get(4)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;
    use dogwatch_core::record::ProcessIdent;
    use serde_json::Value;

    #[test]
    fn an_event_is_reported_once_in_one_message() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = Timestamp::from_second(1_794_700_000).unwrap();
        for session in ["a", "b"] {
            let new = NewCallback { subscriber: "lead", session, job: None, at };
            store.add_callback(&new).unwrap();
        }
        let [a, b] = store.callbacks("lead").unwrap().try_into().unwrap();
        assert!(store.tell_callback(a.number, "waiting x", "a waits", false, at).unwrap());
        assert!(!store.tell_callback(a.number, "waiting x", "a waits", false, at).unwrap());
        store.forget_told(a.number).unwrap();
        assert!(store.tell_callback(a.number, "end done", "a is done", true, at).unwrap());
        assert!(!store.tell_callback(a.number, "end lost", "a is lost", true, at).unwrap(), "over");
        assert!(store.tell_callback(b.number, "end done", "b is done", true, at).unwrap());
        assert!(store.callbacks("lead").unwrap().is_empty());
        let news = store.callback_news("lead").unwrap();
        let texts: Vec<&str> = news.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["a waits", "a is done", "b is done"]);
        let numbers: Vec<i64> = news.iter().map(|one| one.number).collect();
        let message = |id| NewMessage {
            id,
            session: "lead",
            text: "all",
            slash: false,
            terms: &Value::Null,
            sender: ProcessIdent { pid: 1, start: 1 },
            posted: at,
        };
        assert!(store.post_callback_news(&message("m1"), &numbers).unwrap());
        assert!(!store.post_callback_news(&message("m2"), &numbers[1..]).unwrap());
        assert_eq!(store.messages(Some("lead"), 9).unwrap().len(), 1, "one message");
        assert!(store.callback_subscribers().unwrap().is_empty());
    }

    fn texts(store: &Store, subscriber: &str) -> Vec<String> {
        store.callback_news(subscriber).unwrap().into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn a_session_with_two_callbacks_is_reported_once() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = Timestamp::from_second(1_794_700_000).unwrap();
        for (subscriber, job) in [("lead", None), ("lead", Some("j")), ("other", None)] {
            store.add_callback(&NewCallback { subscriber, session: "a", job, at }).unwrap();
        }
        let [turn, job] = store.callbacks("lead").unwrap().try_into().unwrap();
        let [other] = store.callbacks("other").unwrap().try_into().unwrap();
        assert!(store.tell_callback(turn.number, "waiting x", "a waits", false, at).unwrap());
        assert!(!store.tell_callback(job.number, "waiting x", "a waits", false, at).unwrap());
        assert!(store.tell_callback(other.number, "waiting x", "a waits", false, at).unwrap());
        assert_eq!(texts(&store, "lead"), ["a waits"]);
        assert_eq!(texts(&store, "other"), ["a waits"]);
        for one in [&turn, &job] {
            store.forget_told(one.number).unwrap();
        }
        assert!(store.tell_callback(job.number, "limited", "a is limited", false, at).unwrap());
        assert!(!store.tell_callback(turn.number, "limited", "a is limited", false, at).unwrap());
        let told = store.callbacks("lead").unwrap();
        assert!(told.iter().all(|one| one.told.as_deref() == Some("limited")), "{told:?}");
        assert!(store.tell_callback(turn.number, "end done", "a is done", true, at).unwrap());
        assert!(store.tell_callback(job.number, "end done", "a finished j", true, at).unwrap());
        assert_eq!(texts(&store, "lead"), ["a waits", "a is limited", "a is done", "a finished j"]);
    }
}
