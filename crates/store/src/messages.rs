//! Messages to agents, stored until their outcome is known.

use dogwatch_base::log::Logged as _;
use dogwatch_core::delivery::{Outcome, Phase, Seen};
use dogwatch_core::event::kind;
use dogwatch_core::record::ProcessIdent;
use dogwatch_protocol::event_data::{MessagePosted, MessageSettled};
use dogwatch_protocol::id::{MessageId, SessionId};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde_json::Value;

use crate::{SignalNo, Store, StoreError, journal};

#[derive(Debug, Clone)]
pub struct NewMessage<'a> {
    pub id: &'a str,
    pub session: &'a str,
    pub text: &'a str,
    pub slash: bool,
    /// Data that the sender needs again, or the process that takes the message over.
    pub terms: &'a Value,
    pub sender: ProcessIdent,
    pub posted: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub id: MessageId,
    pub session: SessionId,
    pub text: String,
    pub slash: bool,
    pub terms: Value,
    pub sender: ProcessIdent,
    pub posted: Timestamp,
    pub phase: Phase,
    /// The last signal before the message was put into the input box.
    pub heard: SignalNo,
    /// What was seen of the agent then; nothing of messages of an older version.
    pub seen: Option<Seen>,
    pub staged: Option<Timestamp>,
    pub submitted: Option<Timestamp>,
    pub outcome: Option<Outcome>,
    pub done: Option<Timestamp>,
    /// Why it was not delivered yet when the supervisor looked last.
    pub held: Option<String>,
}

/// The sender of a message that no process waits for.
pub const NOBODY: ProcessIdent = ProcessIdent { pid: 0, start: 0 };

const COLUMNS: &str = "id, session, text, slash, terms, sender_pid, sender_start, posted, phase, heard, staged, submitted, outcome, done, seen, held";

/// Adds a message, with its event.
pub(crate) fn insert(tx: &Transaction<'_>, new: &NewMessage<'_>) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO messages (id, session, text, slash, terms, posted, sender_pid, sender_start, phase, heard) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
        params![
            new.id,
            new.session,
            new.text,
            new.slash,
            new.terms.to_string(),
            new.posted.as_millisecond(),
            new.sender.pid,
            new.sender.start.cast_signed(),
            word(Phase::Before),
        ],
    )?;
    let data = MessagePosted { id: new.id.into() };
    journal::append(tx, new.posted, new.session, kind::MESSAGE_POSTED, &data)
}

impl Store {
    pub fn post(&mut self, new: &NewMessage<'_>) -> Result<(), StoreError> {
        self.transaction(|tx| insert(tx, new))
    }

    /// The next message for a session. One that is being delivered comes first, then those that may be delivered
    /// while the agent works; otherwise in the order of sending.
    pub fn next_message(&self, session: &str) -> Result<Option<Message>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM messages WHERE session = ? AND outcome IS NULL \
             ORDER BY phase = 'before', \
                 coalesce(CASE WHEN json_valid(terms) THEN json_extract(terms, '$.when') END, '') <> 'now', number LIMIT 1"
        );
        self.read(|c| c.prepare_cached(&sql)?.query_row([session], from_row).optional())
    }

    pub fn message(&self, id: &str) -> Result<Option<Message>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM messages WHERE id = ?");
        self.read(|c| c.prepare_cached(&sql)?.query_row([id], from_row).optional())
    }

    /// The newest message to a session with this text that was sent since then.
    pub fn message_like(
        &self,
        session: &str,
        text: &str,
        since: Timestamp,
    ) -> Result<Option<Message>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM messages WHERE session = ? AND text = ? AND posted >= ? ORDER BY number DESC LIMIT 1"
        );
        let values = params![session, text, since.as_millisecond()];
        self.read(|c| c.prepare_cached(&sql)?.query_row(values, from_row).optional())
    }

    /// The newest messages, to one session or to all, oldest first.
    pub fn messages(&self, session: Option<&str>, most: u32) -> Result<Vec<Message>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM messages WHERE ?1 IS NULL OR session = ?1 ORDER BY number DESC LIMIT ?2"
        );
        let mut found: Vec<Message> = self.read(|c| {
            c.prepare_cached(&sql)?.query_map(params![session, most], from_row)?.collect()
        })?;
        found.reverse();
        Ok(found)
    }

    /// Records why a message is not delivered yet.
    pub fn hold(&mut self, id: &str, because: &str) -> Result<(), StoreError> {
        let sql = "UPDATE messages SET held = ? WHERE id = ? AND outcome IS NULL";
        self.transaction(|tx| tx.execute(sql, params![because, id]).map(drop))
    }

    /// From now on this process does not wait for this message any more; it stays queued.
    pub fn leave(&mut self, id: &str, sender: ProcessIdent) -> Result<(), StoreError> {
        let sql = "UPDATE messages SET sender_pid = 0, sender_start = 0 \
                   WHERE id = ? AND outcome IS NULL AND sender_pid = ? AND sender_start = ?";
        let values = params![id, sender.pid, sender.start.cast_signed()];
        self.transaction(|tx| tx.execute(sql, values).map(drop))
    }

    /// This process waits for the message, unless it is settled, and does so until then.
    pub fn await_message(
        &mut self,
        id: &str,
        me: ProcessIdent,
        until: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE messages SET sender_pid = ?1, sender_start = ?2, \
                   terms = CASE WHEN NOT json_valid(terms) THEN terms WHEN ?3 IS NULL THEN json_remove(terms, '$.until') \
                   ELSE json_set(terms, '$.until', ?3) END \
                   WHERE id = ?4 AND outcome IS NULL";
        let until = until.map(|until| until.to_string());
        let values = params![me.pid, me.start.cast_signed(), until, id];
        self.transaction(|tx| tx.execute(sql, values).map(drop))
    }

    /// Records that a message is about to be put into the input box: from now on it must not be put there again, nor cancelled. False
    /// if it was cancelled before.
    pub fn staging(
        &mut self,
        id: &str,
        heard: SignalNo,
        seen: &Seen,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let seen = serde_json::to_string(seen).logged("write JSON");
        self.transaction(|tx| {
            tx.execute(
                "UPDATE messages SET phase = ?, heard = ?, staged = ?, seen = ? WHERE id = ? AND outcome IS NULL AND staged IS NULL",
                params![word(Phase::Staged), heard.0, at.as_millisecond(), seen, id],
            )
            .map(|changed| changed == 1)
        })
    }

    /// Takes [`Store::staging`] back: the text was not put into the box, and whoever should have done so never will.
    pub fn unstage(&mut self, id: &str) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute(
                "UPDATE messages SET phase = ?, staged = NULL, seen = NULL WHERE id = ? AND phase = ? AND outcome IS NULL",
                params![word(Phase::Before), id, word(Phase::Staged)],
            )
            .map(drop)
        })
    }

    pub fn submitting(&mut self, id: &str, at: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute(
                "UPDATE messages SET phase = ?, submitted = ? WHERE id = ?",
                params![word(Phase::Submitted), at.as_millisecond(), id],
            )
            .map(drop)
        })
    }

    /// Records the outcome of a message. A queued one stays to be delivered.
    pub fn settle(&mut self, id: &str, outcome: &Outcome, at: Timestamp) -> Result<(), StoreError> {
        if matches!(outcome, Outcome::Queued { .. }) {
            return Ok(());
        }
        self.settle_if("outcome IS NULL", id, outcome, at).map(drop)
    }

    /// Cancels a message, unless it is in the input box or settled: the deliverer checks under the same lock.
    pub fn take_back(&mut self, id: &str, at: Timestamp) -> Result<bool, StoreError> {
        let outcome = Outcome::Refused { because: "cancelled".to_owned() };
        self.settle_if("outcome IS NULL AND staged IS NULL", id, &outcome, at)
    }

    /// Settles all messages to a session that were not put into its input box: they never will be.
    pub fn settle_unsent(
        &mut self,
        session: &str,
        because: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let sql =
            "SELECT id FROM messages WHERE session = ? AND outcome IS NULL AND staged IS NULL";
        let ids: Vec<String> = self
            .read(|c| c.prepare_cached(sql)?.query_map([session], |row| row.get(0))?.collect())?;
        let outcome = Outcome::Failed { because: because.to_owned() };
        for id in ids {
            self.settle_if("outcome IS NULL AND staged IS NULL", &id, &outcome, at)?;
        }
        Ok(())
    }

    /// Settles all messages to a session, also those that are in its input box: nobody can see any more what came of them.
    pub fn settle_all(
        &mut self,
        session: &str,
        because: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "SELECT id FROM messages WHERE session = ? AND outcome IS NULL";
        let ids: Vec<String> = self
            .read(|c| c.prepare_cached(sql)?.query_map([session], |row| row.get(0))?.collect())?;
        let outcome = Outcome::Failed { because: because.to_owned() };
        for id in ids {
            self.settle_if("outcome IS NULL", &id, &outcome, at)?;
        }
        Ok(())
    }

    /// Sessions with undelivered messages.
    pub fn awaited(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT DISTINCT session FROM messages WHERE outcome IS NULL";
        self.read(|c| c.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect())
    }

    /// The session of each undelivered message.
    pub fn open_messages(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT session FROM messages WHERE outcome IS NULL";
        self.read(|c| c.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect())
    }

    fn settle_if(
        &mut self,
        condition: &str,
        id: &str,
        outcome: &Outcome,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let outcome_json = serde_json::to_value(outcome).logged("write JSON").unwrap_or_default();
        let sql = format!(
            "UPDATE messages SET outcome = ?, done = ? WHERE id = ? AND {condition} RETURNING session"
        );
        self.transaction(|tx| {
            let values = params![outcome_json.to_string(), at.as_millisecond(), id];
            let session: Option<String> =
                tx.query_row(&sql, values, |row| row.get(0)).optional()?;
            let Some(session) = session else { return Ok(false) };
            let data = MessageSettled { id: id.into(), outcome: outcome.clone() };
            journal::append(tx, at, &session, kind::MESSAGE_SETTLED, &data).map(|()| true)
        })
    }

    /// The number of the last signal of a session.
    pub fn last_signal(&self, session: &str) -> Result<SignalNo, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT coalesce(max(id), 0) FROM signals WHERE session = ?")?
                .query_row([session], |row| row.get(0).map(SignalNo))
        })
    }
}

fn word(phase: Phase) -> &'static str {
    match phase {
        Phase::Before => "before",
        Phase::Staged => "staged",
        Phase::Submitted => "submitted",
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Message> {
    let time = |ms: Option<i64>| ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let phase: String = row.get(8)?;
    let outcome: Option<String> = row.get(12)?;
    let seen: Option<String> = row.get(14)?;
    Ok(Message {
        id: row.get::<_, String>(0)?.into(),
        session: row.get::<_, String>(1)?.into(),
        text: row.get(2)?,
        slash: row.get(3)?,
        terms: serde_json::from_str(&row.get::<_, String>(4)?)
            .logged("read JSON")
            .unwrap_or_default(),
        sender: ProcessIdent { pid: row.get(5)?, start: row.get::<_, i64>(6)?.cast_unsigned() },
        posted: time(row.get(7)?).unwrap_or_default(),
        phase: match phase.as_str() {
            "before" => Phase::Before,
            "submitted" => Phase::Submitted,
            // A message in an unknown phase must not be pasted again.
            _ => Phase::Staged,
        },
        heard: SignalNo(row.get(9)?),
        seen: seen.and_then(|text| serde_json::from_str(&text).logged("read JSON")),
        staged: time(row.get(10)?),
        submitted: time(row.get(11)?),
        outcome: outcome.and_then(|text| serde_json::from_str(&text).logged("read JSON")),
        done: time(row.get(13)?),
        held: row.get(15)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;
    use dogwatch_core::delivery::Proof;
    use serde_json::json;

    #[test]
    fn messages_are_delivered_in_order_until_settled() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = Timestamp::from_second(1_794_700_000).unwrap();
        let me = ProcessIdent { pid: 7, start: 99 };
        for id in ["m1", "m2"] {
            let terms = json!({ "when": "idle" });
            let (session, text) = ("s", "hi\n'there'");
            let new = NewMessage {
                id,
                session,
                text,
                slash: false,
                terms: &terms,
                sender: me,
                posted: at,
            };
            store.post(&new).unwrap();
        }
        let next = |store: &Store| store.next_message("s").unwrap().map(|m| m.id);
        assert_eq!(next(&store).as_deref(), Some("m1"));
        assert_eq!(store.next_message("other").unwrap(), None);
        let seen =
            Seen { state: "working".into(), is_asserted: false, was_working: true, is_noted: true };
        assert_eq!(store.message("m1").unwrap().unwrap().seen, None);
        store.staging("m1", SignalNo(5), &seen, at).unwrap();
        store.submitting("m1", at).unwrap();
        let kept = store.message("m1").unwrap().unwrap();
        assert_eq!(kept.seen.as_ref(), Some(&seen), "for whoever goes on with it");
        assert_eq!(
            (kept.phase, kept.heard, kept.text.as_str()),
            (Phase::Submitted, SignalNo(5), "hi\n'there'")
        );
        let queued = Outcome::Queued { because: "busy".into() };
        store.settle("m1", &queued, at).unwrap();
        assert_eq!(next(&store).as_deref(), Some("m1"), "queued is not settled");
        let delivered = Outcome::Delivered { proof: Proof::Hook, while_working: false };
        store.settle("m1", &delivered, at).unwrap();
        store.settle("m1", &Outcome::Failed { because: "late".into() }, at).unwrap();
        assert_eq!(next(&store).as_deref(), Some("m2"));
        let now = json!({ "when": "now" });
        let urgent = NewMessage {
            id: "m3",
            session: "s",
            text: "x",
            slash: false,
            terms: &now,
            sender: me,
            posted: at,
        };
        store.post(&urgent).unwrap();
        assert_eq!(next(&store).as_deref(), Some("m3"), "it need not wait for an idle agent");
        store.staging("m2", SignalNo(5), &seen, at).unwrap();
        assert_eq!(next(&store).as_deref(), Some("m2"), "it is on its way");
        assert!(!store.take_back("m2", at).unwrap(), "it is in the box");
        assert!(store.take_back("m3", at).unwrap());
        assert!(!store.staging("m3", SignalNo(5), &seen, at).unwrap(), "cancelled");
        let m3 = store.message("m3").unwrap().unwrap();
        assert_eq!((m3.staged, m3.outcome.map(|o| o.as_str())), (None, Some("refused")));
        store.hold("m2", "it is working").unwrap();
        store.leave("m2", ProcessIdent { pid: 8, start: 1 }).unwrap();
        assert_eq!(store.message("m2").unwrap().unwrap().sender, me, "another waits for it");
        store.leave("m2", me).unwrap();
        let m2 = store.message("m2").unwrap().unwrap();
        assert_eq!((m2.sender, m2.held.as_deref()), (NOBODY, Some("it is working")));
        store.await_message("m2", me, Some(at)).unwrap();
        let m2 = store.message("m2").unwrap().unwrap();
        assert_eq!((m2.sender, m2.terms["until"].as_str()), (me, Some(&*at.to_string())));
        store.await_message("m2", me, None).unwrap();
        let m2 = store.message("m2").unwrap().unwrap();
        assert_eq!((&m2.terms["until"], m2.terms["when"].as_str()), (&Value::Null, Some("idle")));
        // Damaged terms of one message keep no other from being found.
        store.connection.execute("UPDATE messages SET terms = '{' WHERE id = 'm2'", []).unwrap();
        assert_eq!(next(&store).as_deref(), Some("m2"));
        store.await_message("m2", me, Some(at)).unwrap();
        assert_eq!(
            store.messages(Some("s"), 10).unwrap()[0].outcome,
            Some(delivered),
            "settled once"
        );
    }
}
