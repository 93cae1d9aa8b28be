//! What rules have answered, and whether they may.

use dogwatch_core::collision::edit_call;
use dogwatch_core::event::kind;
use dogwatch_core::rules::{Answer, Held, Pace, Past, may_answer};
use dogwatch_protocol::event_data::Paused;
use dogwatch_protocol::rules::{RulesAnswered, RulesHeld};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{Signal, Store, StoreError, journal};

/// The automatism's name in the table of pauses.
const RULES: &str = "rules";
/// More answers than any pace allows without a pause.
const MOST_PAST: u32 = 1_000;

/// A request for permission, as its hook reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRequest {
    pub number: i64,
    pub signal: Signal,
}

/// A selection of requests, the newest first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Requests<'a> {
    pub since: Option<Timestamp>,
    /// By its id.
    pub session: Option<&'a str>,
    pub number: Option<i64>,
    pub most: u32,
}

impl Store {
    /// Since when rules are paused.
    pub fn rules_paused(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT since FROM pauses WHERE what = ?")?
                .query_row([RULES], |row| row.get(0))
                .optional()
        })
        .map(|since: Option<i64>| {
            since.map(|ms| Timestamp::from_millisecond(ms).unwrap_or_default())
        })
    }

    /// Stops rules from answering, or lets them answer again; whether that is new.
    pub fn switch_rules(&mut self, on: bool, by: &str, now: Timestamp) -> Result<bool, StoreError> {
        self.transaction(|tx| {
            let changed = if on {
                tx.execute("DELETE FROM pauses WHERE what = ?", [RULES])?
            } else {
                let insert =
                    "INSERT INTO pauses (what, since) VALUES (?, ?) ON CONFLICT (what) DO NOTHING";
                tx.execute(insert, params![RULES, now.as_millisecond()])?
            };
            if changed > 0 {
                let kind = if on { kind::RULES_RESUMED } else { kind::RULES_PAUSED };
                journal::append(tx, now, "", kind, &Paused { by: by.to_owned() })?;
            }
            Ok(changed > 0)
        })
    }

    /// Whether rules may answer a session's request, or have answered too often: then that is recorded. Looking takes no lock, so
    /// that an answer is not late because others write.
    pub fn may_answer_by_rule(
        &mut self,
        session: &str,
        pace: Pace,
        answer: &RulesAnswered,
        now: Timestamp,
    ) -> Result<Result<(), Held>, StoreError> {
        let held = self.read(|tx| {
            let past = past(tx, session)?;
            let prompted = prompted(tx, session)?;
            let held = may_answer(pace, &past, prompted, &answer.request, now);
            if matches!(held, Err(Held::Same(_) | Held::Refused(_)))
                && let Some(edited) = edited(tx, session, prompted)?
            {
                return Ok(may_answer(pace, &past, Some(edited), &answer.request, now));
            }
            Ok(held)
        })?;
        if let Err(held) = &held {
            let (tool, asks) = (answer.tool.clone(), answer.asks.clone());
            let data = RulesHeld { tool, asks, because: held.to_string() };
            self.transaction(|tx| journal::append(tx, now, session, kind::RULES_HELD, &data))?;
        }
        Ok(held)
    }

    /// Records the answer that a rule has given.
    pub fn record_rule_answer(
        &mut self,
        session: &str,
        answer: &RulesAnswered,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.transaction(|tx| journal::append(tx, now, session, kind::RULES_ANSWERED, answer))
    }

    /// Requests for permission, whether a rule answered them or not.
    pub fn permission_requests(
        &mut self,
        which: Requests<'_>,
    ) -> Result<Vec<PermissionRequest>, StoreError> {
        self.take_in_spool();
        self.read(|c| {
            c.prepare_cached(
                "SELECT id, session, at, agent, event, payload FROM signals \
                 WHERE event IN ('PermissionRequest', 'PermissionAnswered') AND at >= ?1 \
                 AND (?2 IS NULL OR session = ?2) AND (?3 IS NULL OR id = ?3) ORDER BY id DESC LIMIT ?4",
            )?
            .query_map(
                params![which.since.map_or(i64::MIN, Timestamp::as_millisecond), which.session, which.number, which.most],
                request,
            )?
            .collect()
        })
    }
}

/// The last answers, oldest first.
fn past(tx: &Connection, session: &str) -> rusqlite::Result<Vec<Past>> {
    let mut past = tx
        .prepare_cached(
            "SELECT at, data FROM journal WHERE session = ? AND event = 'rules_answered' ORDER BY id DESC LIMIT ?",
        )?
        .query_map(params![session, MOST_PAST], |row| {
            let data: String = row.get(1)?;
            let answer = serde_json::from_str::<RulesAnswered>(&data).ok();
            let is_refusal = answer.as_ref().is_some_and(|answer| answer.answer == Answer::Deny);
            let request = answer.map(|answer| answer.request).unwrap_or_default();
            Ok(Past { at: time(row, 0)?, is_refusal, request })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    past.reverse();
    Ok(past)
}

fn time(row: &Row<'_>, at: usize) -> rusqlite::Result<Timestamp> {
    Ok(Timestamp::from_millisecond(row.get(at)?).unwrap_or_default())
}

/// When a person last wrote something. A message with which dogwatch itself continued the session is none; it has a guard.
fn prompted(tx: &Connection, session: &str) -> rusqlite::Result<Option<Timestamp>> {
    tx.prepare_cached(
        "SELECT at FROM signals AS s WHERE session = ?1 AND event = 'UserPromptSubmit' AND NOT EXISTS ( \
             SELECT 1 FROM messages AS m WHERE m.session = ?1 AND json_valid(m.terms) AND json_valid(s.payload) \
             AND json_extract(m.terms, '$.guard') IS NOT NULL AND json_extract(s.payload, '$.prompt') = m.text) \
         ORDER BY id DESC LIMIT 1",
    )?
    .query_row([session], |row| time(row, 0))
    .optional()
}

/// When the agent last changed a file, by its hooks, since a person wrote.
fn edited(
    tx: &Connection,
    session: &str,
    since: Option<Timestamp>,
) -> rusqlite::Result<Option<Timestamp>> {
    let mut select = tx.prepare_cached(
        "SELECT at, payload FROM signals WHERE session = ? AND event IN ('PostToolUse', 'AfterTool') AND at >= ? \
         ORDER BY id DESC LIMIT ?",
    )?;
    let since = since.map_or(i64::MIN, Timestamp::as_millisecond);
    let mut rows = select.query(params![session, since, MOST_PAST])?;
    while let Some(row) = rows.next()? {
        let payload: String = row.get(1)?;
        let payload = serde_json::from_str(&payload).unwrap_or_default();
        if edit_call(&payload).is_some() {
            return time(row, 0).map(Some);
        }
    }
    Ok(None)
}

fn request(row: &Row<'_>) -> rusqlite::Result<PermissionRequest> {
    let signal = Signal {
        session: row.get(1)?,
        at: time(row, 2)?,
        agent: row.get(3)?,
        event: row.get(4)?,
        payload: row.get(5)?,
        spooled: false,
    };
    Ok(PermissionRequest { number: row.get(0)?, signal })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;

    #[test]
    fn answers_are_counted_since_the_last_progress() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("s")).unwrap();
        let mut store = Store::open(&dir).unwrap();
        let at = |s: i64| Timestamp::from_second(1_794_700_000 + s).unwrap();
        let pace = Pace { per_minute: 100, without_progress: 2 };
        let answer = RulesAnswered {
            tool: "Bash".into(),
            asks: "make".into(),
            answer: Answer::Allow,
            rules: vec!["x".into()],
            request: "r".into(),
        };
        let mut give = |s| {
            let may = store.may_answer_by_rule("a", pace, &answer, at(s)).unwrap();
            if may.is_ok() {
                store.record_rule_answer("a", &answer, at(s)).unwrap();
            }
            may
        };
        assert_eq!((give(0), give(1), give(2)), (Ok(()), Ok(()), Err(Held::Same(2))));
        let signal = |event: &str, s| Signal {
            session: "a".into(),
            at: at(s),
            agent: "claude".into(),
            event: event.into(),
            payload: "{}".into(),
            spooled: false,
        };
        let keep = |event: &str, s, payload: &str| {
            let key = format!("{event} {s}");
            Signal { payload: payload.into(), ..signal(event, s) }.keep(&dir, &key).unwrap();
        };
        keep("UserPromptSubmit", 3, "{}");
        signal("PermissionRequest", 4).keep(&dir, "k2").unwrap();
        assert_eq!((give(5), give(6), give(7)), (Ok(()), Ok(()), Err(Held::Same(2))));
        // An edit that failed changes nothing; one that was made does.
        let edit = |response: &str| {
            format!(
                r#"{{"hook_event_name":"PostToolUse","tool_name":"Edit","tool_input":{{"file_path":"/a"}},"tool_response":{response}}}"#
            )
        };
        keep("PostToolUse", 8, &edit(r#"{"error":"x"}"#));
        assert_eq!(give(9), Err(Held::Same(2)));
        keep("PostToolUse", 10, &edit("{}"));
        assert_eq!((give(11), give(12), give(13)), (Ok(()), Ok(()), Err(Held::Same(2))));
        // What dogwatch itself sends is not a person's.
        let mut own = Store::open(&dir).unwrap();
        let message = |guard| serde_json::json!({"when": "idle", "guard": guard});
        for (id, text, guard) in [
            ("m1", "go on", message(serde_json::json!({}))),
            ("m2", "hello", message(serde_json::Value::Null)),
        ] {
            own.post(&crate::NewMessage {
                id,
                session: "a",
                text,
                slash: false,
                terms: &guard,
                sender: dogwatch_core::record::ProcessIdent { pid: 0, start: 0 },
                posted: at(13),
            })
            .unwrap();
        }
        keep("UserPromptSubmit", 14, r#"{"prompt":"go on"}"#);
        assert_eq!(give(15), Err(Held::Same(2)));
        keep("UserPromptSubmit", 16, r#"{"prompt":"hello"}"#);
        assert_eq!(give(17), Ok(()));
        let all = store.permission_requests(Requests { most: 10, ..Requests::default() }).unwrap();
        assert_eq!(all.len(), 1);
        let number = Some(all[0].number);
        assert_eq!(
            store.permission_requests(Requests { number, most: 1, ..Requests::default() }).unwrap(),
            all
        );
        let later = Requests { since: Some(at(50)), most: 10, ..Requests::default() };
        assert_eq!(store.permission_requests(later).unwrap(), []);
    }

    /// An answer that is not given leaves no trace, and others that write do not hold one up.
    #[test]
    fn what_may_be_answered_is_not_an_answer() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("s")).unwrap();
        let mut store = Store::open(&dir).unwrap();
        let other = Store::open(&dir).unwrap();
        other.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        let answer = RulesAnswered {
            tool: "Bash".into(),
            asks: "make".into(),
            answer: Answer::Allow,
            rules: vec!["x".into()],
            request: "r".into(),
        };
        let now = Timestamp::from_second(1_794_700_000).unwrap();
        let may = store.may_answer_by_rule("a", Pace::default(), &answer, now).unwrap();
        assert_eq!(may, Ok(()));
        other.connection.execute_batch("ROLLBACK").unwrap();
        assert!(store.journal("a").unwrap().is_empty());
        store.record_rule_answer("a", &answer, now).unwrap();
        assert_eq!(store.journal("a").unwrap().len(), 1);
    }

    #[test]
    fn paused_and_resumed_once() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let now = Timestamp::from_second(1_794_700_000).unwrap();
        assert_eq!(store.rules_paused().unwrap(), None);
        assert!(store.switch_rules(false, "ann", now).unwrap());
        assert!(!store.switch_rules(false, "ann", now).unwrap());
        assert_eq!(store.rules_paused().unwrap(), Some(now));
        assert!(store.switch_rules(true, "ann", now).unwrap());
        assert!(!store.switch_rules(true, "ann", now).unwrap());
    }
}
