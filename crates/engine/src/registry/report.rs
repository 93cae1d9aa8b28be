//! A monitor that reports to a report target: each new drift once, even over restarts; heartbeats; until it is asked to
//! stop.
//!
//! Reports come from the journal, which records each drift in the transaction that detects it, whichever process that is. The
//! number of the last reported one is stored, so a new process continues where the last one was killed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dogwatch_core::interval::{Beat, Moment};
use dogwatch_core::notice::{Notice, Occasion};
use dogwatch_store::{Assignment, JournalDrift, Store};
use jiff::Timestamp;

use super::monitor::{Monitor, Turn};
use super::{ManagedRegistry, Pass};
use crate::Error;
use crate::error::ReportError;
use crate::notify::channels;
use crate::notify::report_target::{ReportTarget, Trouble};
use crate::observe::changes::Waker;

/// Period of the heartbeat.
pub const HEARTBEAT: Duration = Duration::from_mins(5);
/// How often to ask the target whether to stop; passes may be much more frequent.
const LISTEN: Duration = Duration::from_mins(1);

/// A monitor with a report target.
pub struct Reporter<'c> {
    managed: ManagedRegistry<'c>,
    desk: Box<dyn ReportTarget + 'c>,
    monitor: Monitor<'c>,
    store: Store,
    post: Assignment,
    begun: Instant,
    beat: Beat,
    listen: Beat,
    pass: Pass,
    /// The last failure of each kind; each is reported once.
    troubles: Troubles,
}

/// A result of a turn, for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    Reported(String),
    Beat(String),
    Trouble(String),
    /// The failure is over.
    Well,
    /// The target asked it to stop.
    Stopped {
        by: String,
    },
}

impl<'c> Reporter<'c> {
    /// Takes over the assignment at the target, or starts a new one.
    pub fn new(
        managed: ManagedRegistry<'c>,
        mut desk: Box<dyn ReportTarget + 'c>,
        pace: Pace,
    ) -> Result<Self, Error> {
        let mut store = managed.context.store()?;
        let (key, registry) = (desk.key(), managed.file.key());
        let left = store.post_at(&key, &registry)?;
        let heard = desk.open(left.as_ref())?;
        let post = match left {
            Some(left) => left,
            None => store.begin_post(&key, &registry, heard, Timestamp::now())?,
        };
        let monitor = Monitor::new(managed.clone(), pace.interval)?;
        Ok(Self {
            managed,
            desk,
            monitor,
            store,
            post,
            begun: Instant::now(),
            beat: Beat::new(pace.heartbeat),
            listen: Beat::new(LISTEN.min(pace.interval.unwrap_or(LISTEN))),
            pass: Pass::default(),
            troubles: Troubles::default(),
        })
    }

    /// Ends a wait early, from another thread.
    pub fn waker(&self) -> Waker {
        self.monitor.waker()
    }

    /// Waits for the next event and handles it; `None` if `stop` was set and the waker called. Fails if the assignment is lost.
    pub fn next(&mut self, stop: &AtomicBool) -> Result<Option<Vec<Report>>, Error> {
        let Some(turn) = self.monitor.next(stop) else { return Ok(None) };
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut reports = Vec::new();
        match turn {
            Turn::Passed(pass) => {
                self.pass = pass;
                reports.extend(self.troubles.of_observing(None));
            }
            // The database was replaced: while this process lives, no other command could use it.
            Turn::Failed(error) if error.is_replaced() => return Err(error),
            Turn::Failed(error) => {
                reports.extend(self.troubles.of_observing(Some(error.to_string())));
            }
            Turn::Push { .. } => {}
        }
        let problem = match self.report(&mut reports) {
            Ok(()) => None,
            Err(Trouble::Passing(problem)) => Some(problem),
            Err(Trouble::Lost(problem)) => {
                self.store.end_post(&self.desk.key(), &self.managed.file.key())?;
                return Err(ReportError::Taken { target: self.desk.key(), problem }.into());
            }
        };
        reports.extend(self.troubles.of_reporting(problem));
        Ok(Some(reports))
    }

    fn report(&mut self, reports: &mut Vec<Report>) -> Result<(), Trouble> {
        let kept = |error: dogwatch_store::StoreError| Trouble::Passing(error.to_string());
        let (key, registry) = (self.desk.key(), self.managed.file.key());
        for drift in self.store.drifts_after(&registry, self.post.reported).map_err(kept)? {
            let notice = notice(&drift);
            self.desk.report(&notice)?;
            self.store.set_reported(&key, &registry, drift.number).map_err(kept)?;
            self.post.reported = drift.number;
            reports.push(Report::Reported(notice.title));
        }
        let now = self.now();
        if self.beat.is_due(now) {
            let note = self.note();
            self.desk.beat(&note)?;
            self.beat.done(now);
            reports.push(Report::Beat(note));
        }
        if self.listen.is_due(now) {
            self.listen.done(now);
            if let Some(by) = self.desk.stopped_by(self.post.heard)? {
                self.desk.close(&by)?;
                self.store.end_post(&key, &registry).map_err(kept)?;
                reports.push(Report::Stopped { by });
            }
        }
        Ok(())
    }

    fn now(&self) -> Moment {
        Moment { steady: self.begun.elapsed(), wall: Timestamp::now() }
    }

    fn note(&self) -> String {
        let Pass { checked, standing, checked_at, .. } = &self.pass;
        let known = standing.len();
        let last = if *checked_at == Timestamp::default() {
            "never checked".to_owned()
        } else {
            format!("{checked} sessions, {known} known differences, checked at {checked_at:.0}")
        };
        match &self.troubles.looking {
            Some(problem) => format!("cannot check now: {problem}; {last}"),
            None => last,
        }
    }
}

/// Failures of observing and of reporting: each is reported once, and the recovery when none is left.
#[derive(Debug, Default)]
struct Troubles {
    looking: Option<String>,
    telling: Option<String>,
}

impl Troubles {
    fn of_observing(&mut self, now: Option<String>) -> Option<Report> {
        let before = std::mem::replace(&mut self.looking, now);
        news(before.as_deref(), self.looking.as_deref(), self.telling.is_some())
    }

    fn of_reporting(&mut self, now: Option<String>) -> Option<Report> {
        let before = std::mem::replace(&mut self.telling, now);
        news(before.as_deref(), self.telling.as_deref(), self.looking.is_some())
    }
}

fn news(before: Option<&str>, now: Option<&str>, is_another: bool) -> Option<Report> {
    match now {
        Some(problem) if before != now => Some(Report::Trouble(problem.to_owned())),
        None if before.is_some() && !is_another => Some(Report::Well),
        _ => None,
    }
}

impl std::fmt::Debug for Reporter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reporter").field("desk", &self.desk.key()).finish_non_exhaustive()
    }
}

/// How often to act.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Period of passes without any report.
    pub interval: Option<Duration>,
    pub heartbeat: Duration,
}

/// With its time: a drift that comes back later is reported again.
fn notice(drift: &JournalDrift) -> Notice {
    let word = |key: &str| drift.data[key].as_str().unwrap_or_default().to_owned();
    let title = format!("[{}] {}", word("class"), word("message"));
    let hint = drift.data["hint"].as_str().map(|hint| format!("\n{hint}")).unwrap_or_default();
    let text = format!("{title}{hint}\n({:.0})", drift.at);
    let session = drift.data["session"].as_str().map(ToOwned::to_owned);
    let notice = channels::notice(Occasion::Drift, title, text, &drift.data);
    Notice { at: drift.at, session, ..notice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_reported_once_and_so_is_its_end() {
        let trouble = |text: &str| Some(Report::Trouble(text.to_owned()));
        let mut troubles = Troubles::default();
        assert_eq!(troubles.of_observing(Some("bad file".into())), trouble("bad file"));
        assert_eq!(
            troubles.of_reporting(None),
            None,
            "the card works again, the file is still bad"
        );
        assert_eq!(troubles.of_observing(Some("bad file".into())), None, "reported before");
        assert_eq!(troubles.of_reporting(Some("no board".into())), trouble("no board"));
        assert_eq!(troubles.of_observing(None), None, "the board is still away");
        assert_eq!(troubles.of_reporting(None), Some(Report::Well));
        assert_eq!(troubles.of_reporting(None), None);
    }
}
