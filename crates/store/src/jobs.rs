//! Jobs of sessions and their progress. Each change is an event, in the same transaction.

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::kind;
use dogwatch_core::job::{JobState, Step};
use dogwatch_core::notify::Planned;
use dogwatch_protocol::event_data::JobChanged;
use dogwatch_protocol::id::{JobId, SessionId};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::{Deserialize, Serialize};

use crate::notify::{NotifyEvent, write_event};
use crate::{Store, StoreError, journal};

/// Longest stored result in bytes.
const MAX_RESULT: usize = 256 * 1024;

#[derive(Debug, Clone)]
pub struct NewJob<'a> {
    /// Also the id of the message with the prompt.
    pub id: &'a str,
    pub session: &'a str,
    pub prompt: &'a str,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: JobId,
    pub session: SessionId,
    pub prompt: String,
    pub submitted: Timestamp,
    pub state: JobState,
    pub delivered: Option<Timestamp>,
    pub running: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// The dialog that blocks it.
    pub waiting: Option<String>,
    /// Who asked to cancel it.
    pub cancelled_by: Option<String>,
}

impl Job {
    /// The job after these steps.
    #[must_use]
    pub fn advanced(mut self, steps: &[Step], waiting: Option<&str>) -> Self {
        for step in steps {
            self.state = cut(step.state.clone());
            let at = match self.state {
                JobState::Queued => continue,
                JobState::Delivered => &mut self.delivered,
                JobState::Running => &mut self.running,
                _ => &mut self.ended,
            };
            *at = Some(step.at);
        }
        self.waiting = waiting.filter(|_| self.ended.is_none()).map(ToOwned::to_owned);
        self
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Cancel {
    by: String,
    at: Timestamp,
}

const COLUMNS: &str =
    "id, session, prompt, submitted, state, delivered, running, ended, waiting, cancel";

impl Store {
    pub fn submit_job(&mut self, new: &NewJob<'_>) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute(
                "INSERT INTO jobs (id, session, prompt, submitted, state) VALUES (?, ?, ?, ?, ?)",
                params![
                    new.id,
                    new.session,
                    new.prompt,
                    new.at.as_millisecond(),
                    text(&JobState::Queued)
                ],
            )?;
            append_change(tx, new.session, new.id, new.at, &JobState::Queued)
        })
    }

    /// By its id, or a prefix of it.
    pub fn job(&self, target: &str) -> Result<Option<Job>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM jobs WHERE substr(id, 1, ?2) = ?1 LIMIT 2");
        let length = target.chars().count();
        let mut found: Vec<Job> = self.read(|c| {
            let values = params![target, i64::try_from(length).unwrap_or(0)];
            c.prepare_cached(&sql)?.query_map(values, from_row)?.collect()
        })?;
        Ok((length >= 8 && found.len() == 1).then(|| found.pop()).flatten())
    }

    /// The newest jobs, of one session or of all, oldest first.
    pub fn jobs(&self, session: Option<&str>, most: u32) -> Result<Vec<Job>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM jobs WHERE ?1 IS NULL OR session = ?1 ORDER BY number DESC LIMIT ?2"
        );
        let mut found: Vec<Job> = self.read(|c| {
            c.prepare_cached(&sql)?.query_map(params![session, most], from_row)?.collect()
        })?;
        found.reverse();
        Ok(found)
    }

    /// Unfinished jobs, oldest first.
    pub fn open_jobs(&self) -> Result<Vec<Job>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM jobs WHERE ended IS NULL ORDER BY number");
        self.read(|c| c.prepare_cached(&sql)?.query_map([], from_row)?.collect())
    }

    /// The newest job of each of these sessions.
    pub fn last_jobs<'s>(
        &self,
        sessions: impl IntoIterator<Item = &'s str>,
    ) -> Result<Vec<Job>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM jobs WHERE session = ? ORDER BY number DESC LIMIT 1");
        // One lock for all of them.
        self.in_one_view(|| {
            self.read(|c| {
                let mut newest = c.prepare_cached(&sql)?;
                let mut found = Vec::new();
                for session in sessions {
                    found.extend(newest.query_row([session], from_row).optional()?);
                }
                Ok(found)
            })
        })
    }

    /// Records a job's progress. Returns the job as recorded now, and whether this call recorded it: of several processes that see
    /// the same end, one records it and sends the notification. `news` is what people are notified of if it ends by these steps, and when:
    /// written with it, so that no kill comes between them.
    pub fn advance_job(
        &mut self,
        job: &Job,
        steps: &[Step],
        waiting: Option<&str>,
        news: Option<(&NotifyEvent<'_>, &[Planned])>,
    ) -> Result<(Job, bool), StoreError> {
        if steps.is_empty() && job.waiting.as_deref() == waiting {
            return Ok((job.clone(), false));
        }
        self.transaction(|tx| {
            let Some(kept) = find(tx, &job.id)? else { return Ok((job.clone(), false)) };
            if kept.state != job.state {
                return Ok((kept, false));
            }
            for step in steps.iter().filter(|step| step.state != JobState::Queued) {
                append_change(tx, &kept.session, &kept.id, step.at, &cut(step.state.clone()))?;
            }
            let kept = kept.advanced(steps, waiting);
            let ms = |at: Option<Timestamp>| at.map(Timestamp::as_millisecond);
            tx.execute(
                "UPDATE jobs SET state = ?, delivered = ?, running = ?, ended = ?, waiting = ? WHERE id = ?",
                params![text(&kept.state), ms(kept.delivered), ms(kept.running), ms(kept.ended), kept.waiting, kept.id.as_str()],
            )?;
            if let Some((event, planned)) = news.filter(|_| kept.state.is_over()) {
                write_event(tx, event, planned)?;
            }
            Ok((kept, true))
        })
    }

    /// Records a request to cancel a job; false if it is over already.
    pub fn want_cancelled(
        &mut self,
        id: &str,
        by: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let cancel = serde_json::to_string(&Cancel { by: by.to_owned(), at })
            .logged("write JSON")
            .unwrap_or_default();
        self.transaction(|tx| {
            let sql = "UPDATE jobs SET cancel = coalesce(cancel, ?) WHERE id = ? AND ended IS NULL";
            tx.execute(sql, params![cancel, id]).map(|changed| changed == 1)
        })
    }

    /// Removes a request to cancel that had no effect.
    pub fn keep_job(&mut self, id: &str) -> Result<(), StoreError> {
        self.transaction(|tx| {
            let sql = "UPDATE jobs SET cancel = NULL WHERE id = ? AND ended IS NULL";
            tx.execute(sql, [id]).map(drop)
        })
    }
}

fn append_change(
    tx: &Transaction<'_>,
    session: &str,
    id: &str,
    at: Timestamp,
    state: &JobState,
) -> rusqlite::Result<()> {
    // Events leave the host.
    let data = JobChanged { id: id.into(), state: state.without_result() };
    journal::append(tx, at, session, kind::JOB, &data)
}

/// Cuts a result to the stored length.
fn cut(state: JobState) -> JobState {
    let short = |text: String| {
        if text.len() <= MAX_RESULT {
            return text;
        }
        let end = text.floor_char_boundary(MAX_RESULT);
        format!("{}… [{} bytes left out]", &text[..end], text.len() - end)
    };
    match state {
        JobState::Done { result } => JobState::Done { result: result.map(short) },
        JobState::Failed { because, result } => {
            JobState::Failed { because, result: result.map(short) }
        }
        state => state,
    }
}

fn text(state: &JobState) -> String {
    serde_json::to_string(state).logged("write JSON").unwrap_or_default()
}

fn find(tx: &Transaction<'_>, id: &str) -> rusqlite::Result<Option<Job>> {
    let sql = format!("SELECT {COLUMNS} FROM jobs WHERE id = ?");
    tx.prepare_cached(&sql)?.query_row([id], from_row).optional()
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Job> {
    let time = |ms: Option<i64>| ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let state = serde_json::from_str(&row.get::<_, String>(4)?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(4, rusqlite::types::Type::Text, error.into())
    })?;
    let cancel: Option<String> = row.get(9)?;
    let cancel = cancel.and_then(|text| serde_json::from_str::<Cancel>(&text).logged("read JSON"));
    Ok(Job {
        id: row.get::<_, String>(0)?.into(),
        session: row.get::<_, String>(1)?.into(),
        prompt: row.get(2)?,
        submitted: time(row.get(3)?).unwrap_or_default(),
        state,
        delivered: time(row.get(5)?),
        running: time(row.get(6)?),
        ended: time(row.get(7)?),
        waiting: row.get(8)?,
        cancelled_by: cancel.map(|cancel| cancel.by),
    })
}

#[cfg(test)]
mod tests {
    use dogwatch_core::notice::{Notice, Occasion};

    use super::*;
    use crate::StateDir;
    use crate::notify::NotifyWhat;

    #[test]
    fn each_change_is_recorded_once() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = |second: i64| Timestamp::from_second(1_794_700_000 + second).unwrap();
        let id = "01a1df96-f67d";
        store.submit_job(&NewJob { id, session: "s", prompt: "do it", at: at(0) }).unwrap();
        let queued = store.job("01a1df96").unwrap().unwrap();
        assert_eq!((&queued.state, queued.prompt.as_str()), (&JobState::Queued, "do it"));
        let step = |second, state| Step { at: at(second), state };
        let first = [step(1, JobState::Delivered), step(2, JobState::Running)];
        let (running, is_written) =
            store.advance_job(&queued, &first, Some("permission"), None).unwrap();
        assert!(is_written);
        assert_eq!((running.delivered, running.running), (Some(at(1)), Some(at(2))));
        assert_eq!(running.waiting.as_deref(), Some("permission"));
        let again = store.advance_job(&queued, &first, None, None).unwrap();
        assert_eq!(again, (running, false), "another process was first");
        assert!(store.want_cancelled(id, "ann", at(3)).unwrap());
        assert_eq!(store.open_jobs().unwrap()[0].cancelled_by.as_deref(), Some("ann"));
        store.keep_job(id).unwrap();
        let running = store.open_jobs().unwrap().pop().unwrap();
        let done = [step(4, JobState::Done { result: Some("é".repeat(MAX_RESULT)) })];
        let (done, _) = store.advance_job(&running, &done, Some("x"), None).unwrap();
        let result = done.state.result().unwrap();
        assert!(result.len() < MAX_RESULT + 40 && result.ends_with(" bytes left out]"));
        assert_eq!((done.ended, &done.waiting), (Some(at(4)), &None));
        assert!(store.open_jobs().unwrap().is_empty());
        assert!(!store.want_cancelled(id, "ann", at(5)).unwrap());
        assert_eq!(store.last_jobs(["s"]).unwrap(), store.jobs(Some("s"), 9).unwrap());
        let word = |e: crate::Entry| e.event.data["state"].as_str().unwrap().to_owned();
        let states: Vec<String> = store.journal("s").unwrap().into_iter().map(word).collect();
        assert_eq!(states, ["queued", "delivered", "running", "done"]);
        assert_eq!(store.job("01a1").unwrap(), None, "too short");
    }

    #[test]
    fn the_notification_of_a_jobs_end_is_written_with_it() {
        let tmp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        let at = Timestamp::from_second(1_794_700_000).unwrap();
        store.submit_job(&NewJob { id: "01a1df96", session: "s", prompt: "do it", at }).unwrap();
        let queued = store.job("01a1df96").unwrap().unwrap();
        let notice = Notice {
            occasion: Occasion::JobDone,
            at,
            host: "desk".into(),
            title: "done".into(),
            text: String::new(),
            session: None,
            data: serde_json::Value::Null,
            several: Vec::new(),
        };
        let what = NotifyWhat::Key("job/01a1df96/job_done");
        let event = NotifyEvent { at, session: "s", what, notice: &notice };
        let planned = [Planned {
            channel: "desktop".into(),
            label: "desktop".into(),
            due: at,
            is_deferred: false,
            batch: std::time::Duration::ZERO,
            unless_attached: None,
        }];
        let news = Some((&event, &planned[..]));
        let step = |state| [Step { at, state }];
        let (running, _) =
            store.advance_job(&queued, &step(JobState::Running), None, news).unwrap();
        assert_eq!(store.next_delivery(None).unwrap(), None, "it has not ended");
        let done = step(JobState::Done { result: None });
        assert!(store.advance_job(&running, &done, None, news).unwrap().1);
        assert_eq!(store.next_delivery(Some("s")).unwrap(), Some(at));
        assert!(!store.advance_job(&running, &done, None, news).unwrap().1, "another was first");
        assert_eq!(store.notify_log(9).unwrap().len(), 1);
    }
}
