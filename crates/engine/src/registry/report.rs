//! A monitor that reports to somebody: each new difference once, whatever happens to the monitor; that it is well; and until it
//! is wanted no longer.
//!
//! What it tells comes from the journal, where each difference is written in the transaction that says it was found, whoever
//! found it. How far it has told is kept, so a new process goes on where the last one was killed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dogwatch_core::interval::{Beat, Moment};
use dogwatch_core::notice::{Notice, Occasion};
use dogwatch_store::{Assignment, Store, ToldDrift};
use jiff::Timestamp;

use super::monitor::{Monitor, Turn};
use super::{ManagedRegistry, Pass};
use crate::Error;
use crate::error::ReportError;
use crate::notify::channels;
use crate::notify::report_target::{ReportTarget, Trouble};
use crate::observe::changes::Waker;

/// How often it is said that all is well.
pub const HEARTBEAT: Duration = Duration::from_mins(5);
/// How often it is asked whether to stop; passes may come much faster.
const LISTEN: Duration = Duration::from_mins(1);

/// A monitor with somebody to report to.
pub struct Reporter<'c> {
    managed: ManagedRegistry<'c>,
    desk: Box<dyn ReportTarget + 'c>,
    monitor: Monitor<'c>,
    store: Store,
    post: Assignment,
    begun: Instant,
    beat: Beat,
    listen: Beat,
    /// What the last pass found.
    pass: Pass,
    /// The last trouble of each kind, which is told once.
    troubles: Troubles,
}

/// What a turn brought, for whoever runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    Told(String),
    Beat(String),
    Trouble(String),
    /// The trouble is over.
    Well,
    /// Somebody wanted it to stop.
    Stopped {
        by: String,
    },
}

impl<'c> Reporter<'c> {
    /// Takes the post up, as it was left or anew.
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

    /// Waits for the next thing to do, and does it; `None` if it is told to stop (and woken). An error if the post is lost.
    pub fn next(&mut self, stop: &AtomicBool) -> Result<Option<Vec<Report>>, Error> {
        let Some(turn) = self.monitor.next(stop) else { return Ok(None) };
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut reports = Vec::new();
        match turn {
            Turn::Passed(pass) => {
                self.pass = pass;
                reports.extend(self.troubles.of_looking(None));
            }
            // As long as we stayed, no other command could use the database.
            Turn::Failed(error) if error.is_replaced() => return Err(error),
            Turn::Failed(error) => {
                reports.extend(self.troubles.of_looking(Some(error.to_string())));
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
        reports.extend(self.troubles.of_telling(problem));
        Ok(Some(reports))
    }

    fn report(&mut self, reports: &mut Vec<Report>) -> Result<(), Trouble> {
        let kept = |error: dogwatch_store::StoreError| Trouble::Passing(error.to_string());
        let (key, registry) = (self.desk.key(), self.managed.file.key());
        for drift in self.store.drifts_after(&registry, self.post.told).map_err(kept)? {
            let notice = notice(&drift);
            self.desk.tell(&notice)?;
            self.store.told_at(&key, &registry, drift.number).map_err(kept)?;
            self.post.told = drift.number;
            reports.push(Report::Told(notice.title));
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

/// What is in the way of looking, and of telling: each is told once, and that it is over when neither is left.
#[derive(Debug, Default)]
struct Troubles {
    looking: Option<String>,
    telling: Option<String>,
}

impl Troubles {
    fn of_looking(&mut self, now: Option<String>) -> Option<Report> {
        let before = std::mem::replace(&mut self.looking, now);
        news(before.as_deref(), self.looking.as_deref(), self.telling.is_some())
    }

    fn of_telling(&mut self, now: Option<String>) -> Option<Report> {
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

/// How often things are done.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// How often it is looked when nobody says anything.
    pub interval: Option<Duration>,
    pub heartbeat: Duration,
}

/// With its time: the same difference that comes back later is another one to tell.
fn notice(drift: &ToldDrift) -> Notice {
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
    fn a_trouble_is_told_once_and_over_when_it_is() {
        let trouble = |text: &str| Some(Report::Trouble(text.to_owned()));
        let mut troubles = Troubles::default();
        assert_eq!(troubles.of_looking(Some("bad file".into())), trouble("bad file"));
        assert_eq!(
            troubles.of_telling(None),
            None,
            "the card can be told, and the file is bad still"
        );
        assert_eq!(troubles.of_looking(Some("bad file".into())), None, "told before");
        assert_eq!(troubles.of_telling(Some("no board".into())), trouble("no board"));
        assert_eq!(troubles.of_looking(None), None, "the board is away still");
        assert_eq!(troubles.of_telling(None), Some(Report::Well));
        assert_eq!(troubles.of_telling(None), None);
    }
}
