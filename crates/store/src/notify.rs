//! Notifications on their way to people. An event is written once, whoever saw it, and each channel gets it from one process: the one
//! that took the delivery. A process that is killed while it sends leaves a lease that runs out, and another one sends again.

use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::kind;
use dogwatch_core::notice::Notice;
use dogwatch_core::notify::session::{is_same, names_dialog};
use dogwatch_core::notify::{Planned, UnlessAttached};
use dogwatch_protocol::notice::{Delivery, DeliveryState};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::{Store, StoreError};

/// Events that are kept for `notify log`.
const MOST_EVENTS: i64 = 5_000;
const TRIM_EVERY: i64 = 100;
/// A status that began so long after the last notification of the same status is another event.
const LATER: SignedDuration = SignedDuration::from_millis(1_500);

/// Why an entry that this version cannot read is not sent.
const UNREADABLE: &str = "it cannot be read";

/// An event to notify people of.
#[derive(Debug, Clone)]
pub struct NotifyEvent<'a> {
    pub at: Timestamp,
    /// Id of the session, or empty.
    pub session: &'a str,
    pub what: NotifyWhat<'a>,
    pub notice: &'a Notice,
}

/// What makes an event the same as another.
#[derive(Debug, Clone, Copy)]
pub enum NotifyWhat<'a> {
    /// There is one with this key.
    Key(&'a str),
    /// A session's status: the same until the session has worked again.
    Status { detail: &'a str, since: Option<Timestamp> },
}

/// A delivery that this process has taken.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenDelivery {
    pub id: i64,
    pub event: i64,
    /// When it happened.
    pub at: Timestamp,
    pub session: String,
    pub detail: String,
    pub notice: Notice,
    pub attempts: u32,
    pub is_deferred: bool,
    pub unless_attached: Option<UnlessAttached>,
}

/// The result of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome<'a> {
    Sent,
    Again {
        at: Timestamp,
        because: &'a str,
    },
    /// It was not tried.
    Later {
        at: Timestamp,
        because: &'a str,
    },
    Failed {
        because: &'a str,
    },
    Skipped {
        because: &'a str,
    },
}

/// How a channel has worked lately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelHealth {
    pub label: String,
    /// The last try.
    pub tried: Timestamp,
    /// Why it failed; `None` if it went well.
    pub because: Option<String>,
    /// Notifications that are tried again, and when the first of them is.
    pub waiting: u32,
    pub next: Option<Timestamp>,
    /// Notifications that were given up.
    pub failed: u32,
}

impl Store {
    /// Writes an event down with its deliveries; `false` if that was done before.
    pub fn add_notification(
        &mut self,
        event: &NotifyEvent<'_>,
        planned: &[Planned],
    ) -> Result<bool, StoreError> {
        // Usually it is recorded already, and that needs no write lock.
        if self.read(|c| known(c, event))? == Known::Yes {
            return Ok(false);
        }
        self.transaction(|tx| write_event(tx, event, planned))
    }

    /// Channels with something to send, and when: not before all that can be sent together has come.
    pub fn ready_channels(&self, now: Timestamp) -> Result<Vec<(String, Timestamp)>, StoreError> {
        self.read(|c| {
            c.prepare_cached(
                "SELECT channel, min(due + CASE WHEN attempts = 0 THEN batch ELSE 0 END) \
                 FROM notify_deliveries WHERE state = 'waiting' AND (lease IS NULL OR lease <= ?) \
                 GROUP BY channel",
            )?
            .query_map([now.as_millisecond()], |row| Ok((row.get(0)?, time(row.get(1)?))))?
            .collect()
        })
    }

    /// Takes everything that is due on a channel: no other process sends it until then.
    pub fn take_deliveries(
        &mut self,
        channel: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<TakenDelivery>, StoreError> {
        self.transaction(|tx| {
            let found: Vec<Result<TakenDelivery, i64>> = tx
                .prepare_cached(
                    "SELECT d.id, e.session, e.detail, e.notice, d.attempts, d.deferred, d.unless_attached, e.number, e.at \
                     FROM notify_deliveries d JOIN notify_events e ON e.number = d.event \
                     WHERE d.state = 'waiting' AND d.channel = ?1 AND d.due <= ?2 \
                     AND (d.lease IS NULL OR d.lease <= ?2) ORDER BY d.event LIMIT 100",
                )?
                .query_map(params![channel, now.as_millisecond()], taken)?
                .collect::<rusqlite::Result<_>>()?;
            let mut taken = Vec::new();
            for one in found {
                match one {
                    Ok(one) => {
                        tx.prepare_cached("UPDATE notify_deliveries SET lease = ? WHERE id = ?")?
                            .execute(params![until.as_millisecond(), one.id])?;
                        taken.push(one);
                    }
                    // It would be due for ever.
                    Err(id) => {
                        tx.prepare_cached(
                            "UPDATE notify_deliveries SET state = ?, because = ?, tried = ? WHERE id = ?",
                        )?
                        .execute(params![
                            DeliveryState::Failed.as_str(),
                            UNREADABLE,
                            now.as_millisecond(),
                            id
                        ])?;
                    }
                }
            }
            Ok(taken)
        })
    }

    /// Records the outcome of deliveries that were taken.
    pub fn settle_deliveries(
        &mut self,
        ids: &[i64],
        how: DeliveryOutcome<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (state, due, because, tries) = match how {
            DeliveryOutcome::Sent => (DeliveryState::Sent, None, None, 1),
            DeliveryOutcome::Again { at, because } => {
                (DeliveryState::Waiting, Some(at.as_millisecond()), Some(because), 1)
            }
            DeliveryOutcome::Later { at, because } => {
                (DeliveryState::Waiting, Some(at.as_millisecond()), Some(because), 0)
            }
            DeliveryOutcome::Failed { because } => (DeliveryState::Failed, None, Some(because), 1),
            DeliveryOutcome::Skipped { because } => {
                (DeliveryState::Skipped, None, Some(because), 0)
            }
        };
        self.transaction(|tx| {
            for id in ids {
                tx.prepare_cached(
                    "UPDATE notify_deliveries SET state = ?2, due = coalesce(?3, due), because = ?4, \
                     attempts = attempts + ?5, tried = ?6, lease = NULL, deferred = max(deferred, ?3 IS NOT NULL) \
                     WHERE id = ?1",
                )?
                .execute(params![id, state.as_str(), due, because, tries, now.as_millisecond()])?;
            }
            Ok(())
        })
    }

    /// Whether a session was seen at work, or its hooks reported anything but its beginning and its end.
    pub fn has_worked(&self, session: &str) -> Result<bool, StoreError> {
        self.read(|c| {
            c.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM signals WHERE session = ?1 \
                 AND event NOT IN ('SessionStart', 'SessionEnd', 'Notification', 'PromptHeld') \
                 AND event NOT LIKE 'Arrived:%') \
                 OR EXISTS (SELECT 1 FROM journal WHERE session = ?1 AND event = ?2 \
                 AND json_extract(data, '$.state') = 'working')",
            )?
            .query_row(params![session, kind::STATE], |row| row.get(0))
        })
    }

    /// How many events of a session had this very status since then. Of a dialog that cannot be seen yet, it is not known whether it is
    /// one of those before.
    pub fn times_of_event(
        &self,
        session: &str,
        detail: &str,
        since: Timestamp,
    ) -> Result<u32, StoreError> {
        let since = since.as_millisecond();
        let of_status =
            "SELECT count(*) FROM notify_events WHERE session = ? AND detail = ? AND at >= ?";
        self.read(|c| {
            c.prepare_cached(of_status)?
                .query_row(params![session, detail, since], |row| row.get(0))
        })
    }

    /// The status that the last event of a session was about.
    pub fn last_event_detail(&self, session: &str) -> Result<Option<String>, StoreError> {
        self.read(|c| {
            c.prepare_cached(
                "SELECT detail FROM notify_events WHERE session = ? AND detail <> '' \
                 ORDER BY number DESC LIMIT 1",
            )?
            .query_row([session], |row| row.get(0))
            .optional()
        })
    }

    /// Whether another event of the same session came after this one.
    pub fn has_later_event(&self, session: &str, event: i64) -> Result<bool, StoreError> {
        self.read(|c| {
            c.prepare_cached(
                "SELECT 1 FROM notify_events WHERE session = ? AND number > ? AND detail <> '' LIMIT 1",
            )?
            .query_row(params![session, event], |_| Ok(()))
            .optional()
            .map(|found| found.is_some())
        })
    }

    /// When the next delivery of a session's events is sent, or of any: not before all that can be sent together has come.
    pub fn next_delivery(&self, session: Option<&str>) -> Result<Option<Timestamp>, StoreError> {
        self.read(|c| {
            c.prepare_cached(
                "SELECT min(max(d.due + CASE WHEN d.attempts = 0 THEN d.batch ELSE 0 END, coalesce(d.lease, 0))) \
                 FROM notify_deliveries d \
                 JOIN notify_events e ON e.number = d.event \
                 WHERE d.state = 'waiting' AND (?1 IS NULL OR e.session = ?1)",
            )?
            .query_row([session], |row| row.get::<_, Option<i64>>(0))
        })
        .map(|ms| ms.map(time))
    }

    /// The last deliveries, oldest first.
    pub fn notify_log(&self, last: u32) -> Result<Vec<Delivery>, StoreError> {
        let mut found: Vec<Delivery> = self.read(|c| {
            c.prepare_cached(
                "SELECT e.at, e.notice, d.label, d.state, d.attempts, d.tried, d.due, d.because \
                 FROM notify_deliveries d JOIN notify_events e ON e.number = d.event \
                 ORDER BY d.event DESC, d.id DESC LIMIT ?",
            )?
            .query_map([last], logged)?
            .collect::<rusqlite::Result<Vec<_>>>()
            .map(|rows| rows.into_iter().flatten().collect())
        })?;
        found.reverse();
        Ok(found)
    }

    /// How each channel that was used has worked lately.
    pub fn channel_health(&self) -> Result<Vec<ChannelHealth>, StoreError> {
        self.read(|c| {
            c.prepare_cached(
                "SELECT label, max(tried), \
                 sum(state = 'waiting' AND attempts > 0), min(CASE WHEN state = 'waiting' THEN due END), \
                 sum(state = 'failed'), \
                 (SELECT because FROM notify_deliveries l WHERE l.channel = d.channel AND l.attempts > 0 \
                  AND l.state <> 'skipped' ORDER BY tried DESC, id DESC LIMIT 1) \
                 FROM notify_deliveries d WHERE attempts > 0 AND state <> 'skipped' \
                 GROUP BY channel ORDER BY label",
            )?
            .query_map([], |row| {
                Ok(ChannelHealth {
                    label: row.get(0)?,
                    tried: time(row.get::<_, Option<i64>>(1)?.unwrap_or_default()),
                    waiting: row.get(2)?,
                    next: row.get::<_, Option<i64>>(3)?.map(time),
                    failed: row.get(4)?,
                    because: row.get(5)?,
                })
            })?
            .collect()
        })
    }
}

fn number_of(tx: &Transaction<'_>, key: &str) -> rusqlite::Result<Option<i64>> {
    tx.prepare_cached("SELECT number FROM notify_events WHERE key = ?")?
        .query_row([key], |row| row.get(0))
        .optional()
}

/// Writes an event down with its deliveries, in the transaction of what happened; `false` if that was done before.
pub(crate) fn write_event(
    tx: &Transaction<'_>,
    event: &NotifyEvent<'_>,
    planned: &[Planned],
) -> rusqlite::Result<bool> {
    if let NotifyWhat::Key(key) = event.what
        && let Some(number) = number_of(tx, key)?
    {
        // Whoever wrote it down may have been killed, and the channels may be others since.
        let added: usize =
            planned.iter().map(|one| insert(tx, number, one)).sum::<rusqlite::Result<_>>()?;
        return Ok(added > 0);
    }
    let known = known(tx, event)?;
    let (key, detail) = match event.what {
        NotifyWhat::Key(key) => (Some(key), ""),
        NotifyWhat::Status { detail, .. } => (None, detail),
    };
    if matches!(known, Known::Yes | Known::WithoutDialog) {
        if known == Known::WithoutDialog {
            let named = "UPDATE notify_events SET detail = ?1 WHERE number = \
                         (SELECT max(number) FROM notify_events WHERE session = ?2 AND detail <> '')";
            tx.prepare_cached(named)?.execute(params![detail, event.session])?;
        }
        return Ok(false);
    }
    let notice = serde_json::to_string(event.notice).logged("write JSON").unwrap_or_default();
    tx.prepare_cached(
        "INSERT INTO notify_events (key, at, session, detail, notice) VALUES (?, ?, ?, ?, ?)",
    )?
    .execute(params![key, event.at.as_millisecond(), event.session, detail, notice])?;
    let number = tx.last_insert_rowid();
    for one in planned {
        insert(tx, number, one)?;
    }
    if number % TRIM_EVERY == 0 {
        trim(tx, number - MOST_EVENTS)?;
    }
    Ok(true)
}

/// Whether a status of a session was written down before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    No,
    Yes,
    /// It was, before its dialog could be read. Now another dialog can be distinguished from it.
    WithoutDialog,
}

fn known(connection: &rusqlite::Connection, event: &NotifyEvent<'_>) -> rusqlite::Result<Known> {
    let NotifyWhat::Status { detail, since } = event.what else { return Ok(Known::No) };
    let last: Option<(i64, String)> = connection
        .prepare_cached(
            "SELECT at, detail FROM notify_events WHERE session = ? AND detail <> '' \
             ORDER BY number DESC LIMIT 1",
        )?
        .query_row([event.session], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((at, known)) = last.filter(|(_, last)| is_same(last, detail)) else {
        return Ok(Known::No);
    };
    if since.is_some_and(|since| since.duration_since(time(at)) > LATER) {
        return Ok(Known::No);
    }
    let has_worked = connection
        .prepare_cached(
            "SELECT 1 FROM journal WHERE session = ? AND event = ? AND at > ? \
             AND json_extract(data, '$.state') IN ('working', 'starting') LIMIT 1",
        )?
        .query_row(params![event.session, kind::STATE, at], |_| Ok(()))
        .optional()?;
    Ok(match has_worked {
        Some(()) => Known::No,
        None if names_dialog(detail) && !names_dialog(&known) => Known::WithoutDialog,
        None => Known::Yes,
    })
}

/// Returns how many it added: one, or none if the event has the channel already.
fn insert(tx: &Transaction<'_>, event: i64, one: &Planned) -> rusqlite::Result<usize> {
    let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    tx.prepare_cached(
        "INSERT OR IGNORE INTO notify_deliveries (event, channel, label, state, due, batch, deferred, unless_attached) \
         VALUES (?, ?, ?, 'waiting', ?, ?, ?, ?)",
    )?
    .execute(params![
        event,
        one.channel,
        one.label,
        one.due.as_millisecond(),
        millis(one.batch),
        one.is_deferred,
        one.unless_attached.map(UnlessAttached::as_str),
    ])
}

fn trim(tx: &Transaction<'_>, up_to: i64) -> rusqlite::Result<()> {
    tx.execute("DELETE FROM notify_deliveries WHERE event <= ?", [up_to])?;
    tx.execute("DELETE FROM notify_events WHERE number <= ?", [up_to]).map(drop)
}

/// The id alone if its notice cannot be read.
fn taken(row: &Row<'_>) -> rusqlite::Result<Result<TakenDelivery, i64>> {
    let (id, notice): (i64, String) = (row.get(0)?, row.get(3)?);
    let Some(notice) = serde_json::from_str(&notice).logged("read JSON") else {
        return Ok(Err(id));
    };
    let unless: Option<String> = row.get(6)?;
    Ok(Ok(TakenDelivery {
        id,
        at: time(row.get(8)?),
        event: row.get(7)?,
        session: row.get(1)?,
        detail: row.get(2)?,
        notice,
        attempts: row.get(4)?,
        is_deferred: row.get(5)?,
        unless_attached: unless.as_deref().and_then(UnlessAttached::from_word),
    }))
}

fn logged(row: &Row<'_>) -> rusqlite::Result<Option<Delivery>> {
    let notice: String = row.get(1)?;
    let Some(notice) = serde_json::from_str::<Notice>(&notice).logged("read JSON") else {
        return Ok(None);
    };
    let state: String = row.get(3)?;
    let state = DeliveryState::from_word(&state).unwrap_or(DeliveryState::Failed);
    Ok(Some(Delivery {
        at: time(row.get(0)?),
        occasion: notice.occasion,
        session: notice.session,
        title: notice.title,
        channel: row.get(2)?,
        state,
        attempts: row.get(4)?,
        tried: row.get::<_, Option<i64>>(5)?.map(time),
        due: (state == DeliveryState::Waiting).then_some(time(row.get(6)?)),
        because: row.get(7)?,
    }))
}

fn time(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default()
}

#[cfg(test)]
#[path = "notify_tests.rs"]
mod tests;
