//! Executes a run: read the journal, decide, act, record, repeat. Actions run on threads beside the deciding loop, so that parallel
//! stories do not wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use dogwatch_core::escalation::Action;
use dogwatch_core::workflow::{Dated, Decision, Fact, Run, Standing};
use dogwatch_store::{KeptRun, Settlement, lock_file};
use jiff::Timestamp;

use super::Settings;
use super::journal::Journal;
use super::perform::perform;
use super::questions::{self, escalate, question_key};
use crate::actions::escalation as ask;
use crate::error::WorkflowError;
use crate::observe::changes::{Changes, Interest};
use crate::workflow::run_context::RunContext;
use crate::workflow::state_document;
use crate::{Context, Error};

/// How often to check for changes that no event reports.
const OWN_PACE: Duration = Duration::from_secs(1);
/// How long to wait for the lock of a driver that was just killed.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    Complete,
    Paused {
        why: String,
    },
    Aborted {
        why: String,
    },
    /// Questions are open, and the caller does not wait for answers.
    Asked,
    /// Stopped by the caller; sessions keep running, and `resume` continues the run.
    Stopped,
}

/// How to execute a run.
pub struct RunOptions<'a> {
    /// The project's settings from the environment.
    pub home: dogwatch_bmad::Project,
    pub caller_env: Vec<(OsString, OsString)>,
    /// Whether to keep running while questions are open.
    pub wait_for_answers: bool,
    /// Set by the caller to stop.
    pub stop: &'a AtomicBool,
    /// Called for every new fact.
    pub tell: &'a (dyn Fn(&Run, &Dated) + Sync),
}

impl std::fmt::Debug for RunOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunOptions")
            .field("wait_for_answers", &self.wait_for_answers)
            .finish_non_exhaustive()
    }
}

/// Executes a run until it is over, paused, or blocked on an answer.
pub fn drive(
    context: &Context,
    kept: &KeptRun,
    terms: &RunOptions<'_>,
) -> Result<RunOutcome, Error> {
    let _lock = lock(context, &kept.project, PATIENCE)?;
    let journal = Journal::open(context, kept)?;
    let settings = Settings::of(kept)?;
    let halt = AtomicBool::new(false);
    let ctx = RunContext {
        context,
        project: kept.project.clone(),
        settings,
        home: dogwatch_bmad::Project { root: kept.project.clone(), ..terms.home.clone() },
        caller_env: terms.caller_env.clone(),
        journal: &journal,
        asking: std::sync::Mutex::default(),
        stop: &halt,
    };
    let left = std::thread::scope(|scope| {
        let (done, results) = mpsc::channel();
        let mut changes = Changes::new();
        let mut loop_ = Loop {
            ctx: &ctx,
            terms,
            reported: journal.facts_after(0).len(),
            at_work: BTreeSet::new(),
            delayed: BTreeMap::new(),
        };
        context.state.news();
        let interest = |name: &str| (Interest::File(context.state.news_of(name)), ());
        changes.set(BTreeSet::from([interest(&kept.id), interest("escalations")]));
        let waker = changes.waker();
        let left = loop {
            match loop_.turn(|decision| {
                let (ctx, done, waker, decision) =
                    (&ctx, done.clone(), waker.clone(), decision.clone());
                let (key, failed, again) = (decision.key(), done.clone(), waker.clone());
                let work = move || {
                    let result = perform(ctx, &decision);
                    let _ = done.send((decision.key(), result));
                    waker.wake();
                };
                if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, work) {
                    let _ = failed.send((key, Err(Error::io("start a thread")(error))));
                    again.wake();
                }
            }) {
                Ok(Turn::RunOutcome(left)) => break Ok(left),
                Ok(Turn::Wait(at_most)) => {
                    changes.wait(at_most);
                }
                Err(error) => break Err(error),
            }
            let mut failed = None;
            for (key, result) in results.try_iter() {
                failed = loop_.ended(key, result).err().or(failed);
            }
            if let Some(error) = failed {
                break Err(error);
            }
        };
        // Actions that wait for a session see this within a second.
        halt.store(true, Ordering::Relaxed);
        left
    });
    journal.refresh()?;
    // Aborted by an answer: the run is over, and its row in the database must say so.
    if let Ok(RunOutcome::Aborted { why }) = &left
        && context.store()?.run(&kept.id)?.is_some_and(|run| run.over.is_none())
    {
        journal.append(Fact::Aborted { by: "an answer".into(), why: why.clone() })?;
    }
    if matches!(left, Ok(RunOutcome::Aborted { .. })) {
        questions::close(context, &kept.id, questions::ABORTED)?;
    }
    state_document::keep(&ctx, &journal.run())?;
    left
}

enum Turn {
    RunOutcome(RunOutcome),
    Wait(Duration),
}

struct Loop<'a> {
    ctx: &'a RunContext<'a>,
    terms: &'a RunOptions<'a>,
    /// How many facts were reported to the caller.
    reported: usize,
    /// Decisions that a thread is executing.
    at_work: BTreeSet<String>,
    /// Decisions that failed because of dogwatch's own errors, and when to retry them.
    delayed: BTreeMap<String, (u32, Instant)>,
}

impl Loop<'_> {
    fn turn(&mut self, mut begin: impl FnMut(&Decision)) -> Result<Turn, Error> {
        let journal = self.ctx.journal;
        journal.refresh()?;
        self.take_answers()?;
        self.report_facts();
        let run = journal.run();
        state_document::keep(self.ctx, &run)?;
        if self.terms.stop.load(Ordering::Relaxed) {
            return Ok(Turn::RunOutcome(RunOutcome::Stopped));
        }
        if matches!(run.standing, Standing::Aborted { .. }) {
            self.ctx.stop.store(true, Ordering::Relaxed);
        }
        let now = Timestamp::now();
        let mut wake = OWN_PACE;
        let mut waits_for_a_person = false;
        let mut is_idle = true;
        for decision in run.next(now) {
            let left = match &decision {
                Decision::Rest { until, .. } => {
                    Some(until.duration_since(now).try_into().unwrap_or(OWN_PACE))
                }
                Decision::AwaitAnswer { .. } => {
                    waits_for_a_person = true;
                    continue;
                }
                decision => self.delay_of(decision),
            };
            is_idle = false;
            if let Some(left) = left {
                wake = wake.min(left);
                continue;
            }
            if self.at_work.insert(decision.key()) {
                begin(&decision);
            }
        }
        // Agents that wait at a dialog keep waiting without a driver.
        let asking = self.ctx.asking();
        let only_asks = !self.at_work.is_empty() && self.at_work.is_subset(&asking);
        if only_asks && !self.terms.wait_for_answers && wake >= OWN_PACE {
            return Ok(Turn::RunOutcome(RunOutcome::Asked));
        }
        if !self.at_work.is_empty() || !is_idle {
            return Ok(Turn::Wait(wake));
        }
        Ok(match run.standing {
            Standing::Complete => Turn::RunOutcome(RunOutcome::Complete),
            Standing::Aborted { why } => Turn::RunOutcome(RunOutcome::Aborted { why }),
            Standing::Paused { why } => Turn::RunOutcome(RunOutcome::Paused { why }),
            Standing::Going if waits_for_a_person && !self.terms.wait_for_answers => {
                Turn::RunOutcome(RunOutcome::Asked)
            }
            Standing::Going => Turn::Wait(wake),
        })
    }

    /// Takes the result of a decision. One that failed because of an error of dogwatch's own is retried a few times.
    fn ended(&mut self, key: String, result: Result<(), Error>) -> Result<(), Error> {
        self.at_work.remove(&key);
        let Err(error) = result else {
            self.delayed.remove(&key);
            return Ok(());
        };
        let tries = self.delayed.get(&key).map_or(0, |(tries, _)| *tries) + 1;
        if tries > 3 {
            return Err(error);
        }
        let at = Instant::now() + Duration::from_secs(u64::from(tries));
        self.delayed.insert(key, (tries, at));
        Ok(())
    }

    /// How long a failed decision still has to wait.
    fn delay_of(&self, decision: &Decision) -> Option<Duration> {
        let (_, at) = self.delayed.get(&decision.key())?;
        Some(at.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    fn report_facts(&mut self) {
        let run = self.ctx.journal.run();
        for dated in self.ctx.journal.facts_after(self.reported) {
            self.reported += 1;
            (self.terms.tell)(&run, &dated);
        }
    }

    /// Records people's answers, and withdraws questions that are no longer needed.
    fn take_answers(&self) -> Result<(), Error> {
        let journal = self.ctx.journal;
        let run = journal.run();
        if run.asked == 0 {
            return Ok(());
        }
        let prefix = question_key(&journal.id, "");
        let mut gone: BTreeSet<&String> = run.questions.keys().collect();
        for escalation in ask::list(self.ctx.context, true)? {
            let Some(id) = escalation.key.strip_prefix(&prefix) else { continue };
            gone.remove(&id.to_owned());
            let is_open = run.questions.contains_key(id);
            match escalation.settled.map(|settled| settled.outcome) {
                Some(Settlement::Answered { action, by, note, .. }) if is_open => {
                    let agent = note.filter(|_| action == Action::OtherAgent);
                    let other = || questions::other_agent(self.ctx, &run, id);
                    let agent = agent.or_else(|| (action == Action::OtherAgent).then(other)?);
                    journal.append(Fact::Answered { id: id.to_owned(), action, by, agent })?;
                }
                Some(Settlement::Withdrawn { because }) if is_open => {
                    let (id, action) = (id.to_owned(), Action::Pause);
                    journal.append(Fact::Answered { id, action, by: because, agent: None })?;
                }
                None if !is_open && run.has_asked(id) => {
                    let because = match run.standing {
                        Standing::Aborted { .. } => questions::ABORTED,
                        _ => "the run continued without it",
                    };
                    ask::withdraw(self.ctx.context, &escalation.key, because)?;
                }
                _ => {}
            }
        }
        // Old escalations are purged; in a run that rested for long, raise the question again.
        for (id, question) in run.questions.iter().filter(|(id, _)| gone.contains(id)) {
            escalate(self.ctx, id, &question.job, question.trigger, &question.why)?;
        }
        Ok(())
    }
}

/// One driver per project. A child of a driver that was killed can hold the inherited lock for a moment, until it has executed
/// another program.
fn lock(context: &Context, project: &Path, patience: Duration) -> Result<File, Error> {
    let name = format!("run-{}", mark_of(project));
    let path: PathBuf = context.state.lock_named(&name)?;
    let begun = Instant::now();
    loop {
        match lock_file::try_lock(&path) {
            Ok(file) => return Ok(file),
            Err(error) if error.kind() != ErrorKind::WouldBlock => {
                return Err(Error::io(format!("lock {}", path.display()))(error));
            }
            // The kernel does not notify when a lock is released.
            Err(_) if begun.elapsed() < patience => {
                // sleep: the kernel has no wait for a lock with a time limit.
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(_) => {
                return Err(WorkflowError::RunIsAttended { project: project.to_owned() }.into());
            }
        }
    }
}

/// Whether a driver is executing a run of the project now.
pub fn is_attended(context: &Context, project: &Path) -> bool {
    matches!(
        lock(context, project, Duration::ZERO),
        Err(Error::Workflow(WorkflowError::RunIsAttended { .. }))
    )
}

/// Stable across builds, so that different dogwatch versions exclude each other.
fn mark_of(project: &Path) -> String {
    let bytes = project.as_os_str().as_encoded_bytes();
    let mark = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |mark, byte| {
        (mark ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{mark:016x}")
}
