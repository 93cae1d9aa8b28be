//! Usage limits: what to do about them, and what was done. A limit is settled in one transaction with the message that continues it, so
//! that it is continued once, whoever is killed.

use dogwatch_core::event::kind;
use dogwatch_core::limits::{Known, WhenLimited};
use dogwatch_protocol::event_data::{LimitAction, LimitChanged, Paused};
use dogwatch_protocol::id::SessionId;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::messages;
use crate::{NewMessage, Store, StoreError, journal};

/// The name of the pause.
const LIMITS: &str = "limits";

/// What a session does about limits, and whose they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitPolicy {
    pub session: SessionId,
    pub account: String,
    pub policy: WhenLimited,
    /// The message to the agent once a limit is over.
    pub message: String,
    /// How long to wait where the agent gave no time, in seconds.
    pub retry_after: u32,
}

/// A limit that was met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    pub id: i64,
    pub session: SessionId,
    pub account: String,
    pub began: Timestamp,
    pub until: Option<Timestamp>,
    pub due: Timestamp,
    pub told: bool,
    pub text: String,
    pub action: LimitAction,
    pub because: Option<String>,
    /// The message that continues it, or the session that was started instead.
    pub message: Option<String>,
    pub settled: Option<Timestamp>,
}

impl Limit {
    /// As the decision needs it; `resumed` is when the agent was given the message that continues it.
    fn known(&self, resumed: Option<Timestamp>) -> Known {
        Known {
            began: self.began,
            due: self.due,
            settled: self.settled,
            resumed,
            told: self.told,
            until: self.until,
        }
    }
}

#[derive(Debug, Clone)]
pub struct NewLimit<'a> {
    pub session: &'a str,
    pub account: &'a str,
    pub began: Timestamp,
    pub until: Option<Timestamp>,
    pub due: Timestamp,
    pub told: bool,
    pub guessed: bool,
    pub text: &'a str,
}

const POLICY: &str =
    "session, limit_policies.account, policy, limit_policies.message, limit_policies.retry_after";
const COLUMNS: &str =
    "id, session, account, began, until, due, told, text, state, because, message, settled";

impl Store {
    pub fn set_limit_policy(&mut self, new: &LimitPolicy, at: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| insert_policy(tx, new, at))
    }

    /// What the session does about limits; `None` if nothing was recorded.
    pub fn limit_policy(&self, session: &str) -> Result<Option<LimitPolicy>, StoreError> {
        let sql = format!("SELECT {POLICY} FROM limit_policies WHERE session = ?");
        self.read(|c| c.prepare_cached(&sql)?.query_row([session], policy).optional())
    }

    /// The policies of sessions that were not archived and have not ended.
    pub fn limit_policies(&self) -> Result<Vec<LimitPolicy>, StoreError> {
        let sql = format!(
            "SELECT {POLICY} FROM limit_policies JOIN sessions ON sessions.id = session \
             WHERE put_away IS NULL AND over IS NULL ORDER BY created"
        );
        self.read(|c| c.prepare_cached(&sql)?.query_map([], policy)?.collect())
    }

    /// The newest limit of a session.
    pub fn last_limit(&self, session: &str) -> Result<Option<Limit>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM limits WHERE session = ? ORDER BY id DESC LIMIT 1");
        self.read(|c| c.prepare_cached(&sql)?.query_row([session], limit).optional())
    }

    /// A limit as the decision needs it.
    pub fn known_limit(&self, limit: &Limit) -> Result<Known, StoreError> {
        let message = limit.message.as_deref().map(|id| self.message(id)).transpose()?.flatten();
        let resumed = message.and_then(|message| message.submitted.or(message.staged));
        Ok(limit.known(resumed))
    }

    /// All limits that are to be acted on, by session.
    pub fn open_limits(&self) -> Result<Vec<Limit>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM limits WHERE settled IS NULL ORDER BY id");
        self.read(|c| c.prepare_cached(&sql)?.query_map([], limit)?.collect())
    }

    /// The newest limits of an account whose end lies ahead, unless a session of it has worked since.
    pub fn account_limits(&self, account: &str, now: Timestamp) -> Result<Vec<Limit>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM limits WHERE account = ?1 AND until > ?2 AND over IS NULL \
             AND NOT EXISTS (SELECT 1 FROM states WHERE states.session = limits.session \
                 AND states.since > limits.began + 10000 AND (key LIKE 'idle%' OR key LIKE 'working%')) \
             ORDER BY until DESC LIMIT 20"
        );
        let values = params![account, now.as_millisecond()];
        self.read(|c| c.prepare_cached(&sql)?.query_map(values, limit)?.collect())
    }

    /// How often a session was continued since a turn of it last ended well.
    pub fn continued_in_a_row(&self, session: &str) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM limits WHERE session = ? AND over IS NULL AND message IS NOT NULL";
        self.read(|c| c.prepare_cached(sql)?.query_row([session], |row| row.get(0)))
    }

    /// Records that a turn of the session ended well.
    pub fn limits_are_over(&mut self, session: &str, at: Timestamp) -> Result<(), StoreError> {
        if self.continued_in_a_row(session)? == 0 {
            return Ok(());
        }
        self.transaction(|tx| {
            tx.execute(
                "UPDATE limits SET over = ? WHERE session = ? AND over IS NULL AND settled IS NOT NULL",
                params![at.as_millisecond(), session],
            )
            .map(drop)
        })
    }

    /// Records a limit that is to be acted on; false if another process was first.
    pub fn arm_limit(&mut self, new: &NewLimit<'_>, at: Timestamp) -> Result<bool, StoreError> {
        let ms = |at: Timestamp| at.as_millisecond();
        self.transaction(|tx| {
            let changed = tx.execute(
                "INSERT OR IGNORE INTO limits (session, account, began, until, due, told, text, state) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    new.session,
                    new.account,
                    ms(new.began),
                    new.until.map(ms),
                    ms(new.due),
                    new.told,
                    new.text,
                    LimitAction::Armed.as_str(),
                ],
            )?;
            if changed == 0 {
                return Ok(false);
            }
            // What a newer limit takes the place of needs no action any more.
            tx.execute(
                "UPDATE limits SET settled = ?1, state = ?2, because = ?3 \
                 WHERE session = ?4 AND settled IS NULL AND id <> last_insert_rowid()",
                params![ms(at), LimitAction::Left.as_str(), "limited again", new.session],
            )?;
            let because = new.guessed.then(|| "the agent gave no time".to_owned());
            let data = LimitChanged {
                action: LimitAction::Armed,
                account: new.account.to_owned(),
                began: new.began,
                until: new.until,
                due: Some(new.due),
                because,
                message: None,
            };
            journal::append(tx, at, new.session, kind::LIMIT, &data)?;
            Ok(true)
        })
        .inspect(|_| self.dir.tell_news(new.session))
    }

    /// Settles a limit, with the messages that continue it; false if another process was first. `result` is the message or session
    /// that comes of it.
    pub fn settle_limit(
        &mut self,
        id: i64,
        action: LimitAction,
        because: Option<&str>,
        result: Option<&str>,
        messages: &[NewMessage<'_>],
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.transaction(|tx| {
            let changed = tx.execute(
                "UPDATE limits SET settled = ?, state = ?, because = ?, message = ? WHERE id = ? AND settled IS NULL",
                params![at.as_millisecond(), action.as_str(), because, result, id],
            )?;
            if changed == 0 {
                return Ok(false);
            }
            for message in messages {
                messages::insert(tx, message)?;
            }
            tell(tx, id, at)?;
            Ok(true)
        })
    }

    /// Records the outcome of a limit that was acted on; false if it is known.
    pub fn finish_limit(
        &mut self,
        id: i64,
        action: LimitAction,
        because: Option<&str>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.transaction(|tx| {
            let changed = tx.execute(
                "UPDATE limits SET state = ?, because = ? WHERE id = ? AND state = ?",
                params![action.as_str(), because, id, LimitAction::Acting.as_str()],
            )?;
            if changed > 0 {
                tell(tx, id, at)?;
            }
            Ok(changed > 0)
        })
    }

    /// When a person paused automatic continuation.
    pub fn limits_paused(&self) -> Result<Option<Timestamp>, StoreError> {
        let sql = "SELECT since FROM pauses WHERE what = ?";
        let at: Option<i64> =
            self.read(|c| c.prepare_cached(sql)?.query_row([LIMITS], |row| row.get(0)).optional())?;
        Ok(at.and_then(|at| Timestamp::from_millisecond(at).ok()))
    }

    /// Pauses or resumes automatic continuation; false if it was so already.
    pub fn pause_limits(
        &mut self,
        paused: bool,
        by: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.transaction(|tx| {
            let changed = if paused {
                let sql = "INSERT OR IGNORE INTO pauses (what, since) VALUES (?, ?)";
                tx.execute(sql, params![LIMITS, at.as_millisecond()])?
            } else {
                tx.execute("DELETE FROM pauses WHERE what = ?", [LIMITS])?
            };
            if changed > 0 {
                let kind = if paused { kind::LIMITS_PAUSED } else { kind::LIMITS_RESUMED };
                journal::append_of(tx, at, "", None, kind, &Paused { by: by.to_owned() })?;
            }
            Ok(changed > 0)
        })
    }
}

pub(crate) fn insert_policy(
    tx: &Transaction<'_>,
    new: &LimitPolicy,
    at: Timestamp,
) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO limit_policies (session, account, policy, message, retry_after, changed) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT (session) DO UPDATE SET account = ?2, policy = ?3, message = ?4, retry_after = ?5, changed = ?6",
        params![
            new.session.as_str(),
            new.account,
            new.policy.to_string(),
            new.message,
            new.retry_after,
            at.as_millisecond(),
        ],
    )
    .map(drop)
}

/// Journals a limit as it is now.
fn tell(tx: &Transaction<'_>, id: i64, at: Timestamp) -> rusqlite::Result<()> {
    let sql = format!("SELECT {COLUMNS} FROM limits WHERE id = ?");
    let limit = tx.prepare_cached(&sql)?.query_row([id], limit)?;
    let data = LimitChanged {
        action: limit.action,
        account: limit.account,
        began: limit.began,
        until: limit.until,
        due: None,
        because: limit.because,
        message: limit.message,
    };
    journal::append(tx, at, &limit.session, kind::LIMIT, &data)
}

fn policy(row: &Row<'_>) -> rusqlite::Result<LimitPolicy> {
    let text: String = row.get(2)?;
    Ok(LimitPolicy {
        session: row.get::<_, String>(0)?.into(),
        account: row.get(1)?,
        // One of a newer version: nothing is done that is not understood.
        policy: WhenLimited::parse(&text).unwrap_or_default(),
        message: row.get(3)?,
        retry_after: row.get(4)?,
    })
}

fn limit(row: &Row<'_>) -> rusqlite::Result<Limit> {
    let time = |ms: Option<i64>| ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let state: String = row.get(8)?;
    Ok(Limit {
        id: row.get(0)?,
        session: row.get::<_, String>(1)?.into(),
        account: row.get(2)?,
        began: time(row.get(3)?).unwrap_or_default(),
        until: time(row.get(4)?),
        due: time(row.get(5)?).unwrap_or_default(),
        told: row.get(6)?,
        text: row.get(7)?,
        action: LimitAction::parse(&state),
        because: row.get(9)?,
        message: row.get(10)?,
        settled: time(row.get(11)?),
    })
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
