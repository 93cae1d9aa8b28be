//! Where a run stands: all that its journal says, folded. Reading the same journal twice gives the same state.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::definition::{Failure, Per, Step, Work, Workflow};
use super::fact::{Dated, Fact, How, Job, Subject};
use super::plan::{Crew, Plan, Spent};
use crate::escalation::Action;
use crate::escalation::Trigger;

/// Where one step of one item stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// Nothing was done yet, or everything is to be done over.
    Todo,
    /// An attempt is under way.
    Trying(Attempt),
    /// The last attempt failed; the next may begin at this time.
    Resting {
        until: Timestamp,
    },
    /// All attempts are used up, and nobody was asked yet.
    Exhausted {
        failure: Failure,
        why: String,
    },
    /// A person was asked.
    Asked {
        id: String,
    },
    /// A person says that it is done now, or that it is to be looked at again after a pause.
    LookAgain {
        asked_by_pause: bool,
    },
    Over(Outcome),
}

/// One attempt, as far as it has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    pub n: u32,
    pub at: Timestamp,
    pub agent: String,
    pub model: Option<String>,
    /// What its session is to be called: by this it is found again if nobody wrote down that it was made.
    pub name: Option<String>,
    pub head: Option<String>,
    pub held: bool,
    pub session: Option<String>,
    pub ended: Option<How>,
    pub output: Option<String>,
}

/// How a step ended for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Verified {
        evidence: String,
    },
    /// Left out, or given up because it may be.
    Skipped {
        why: String,
    },
    /// A person took it as it is.
    Accepted,
    /// The item was given up.
    Dropped {
        why: String,
    },
}

impl Outcome {
    pub fn is_good(&self) -> bool {
        !matches!(self, Self::Dropped { .. })
    }

    pub fn word(&self) -> &'static str {
        match self {
            Self::Verified { .. } => "done",
            Self::Skipped { .. } => "skip",
            Self::Accepted => "accepted",
            Self::Dropped { .. } => "dropped",
        }
    }
}

/// One step of one item or group, with what was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct JobState {
    pub phase: Phase,
    /// How often it was attempted, over all rounds.
    pub attempts: u32,
    /// Sessions that are over for us and still have a pane: attempt and session.
    pub to_close: Vec<(u32, String)>,
    pub round: Round,
    pub spent: Spent,
    /// When each attempt failed, and why: for the report and for whoever is asked.
    pub failures: Vec<(u32, Failure, String)>,
}

/// What was tried since the beginning, or since a person said "again".
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Round {
    /// Attempts that count.
    pub attempts: u32,
    /// Which of the crew is at it: 0 is the primary.
    pub agent: usize,
    /// An agent that a person chose.
    pub chosen: Option<String>,
    /// Failures of each kind with this agent.
    pub failures: BTreeMap<Failure, u32>,
    /// What was reached at each failure that says something about the work, with the agent's number.
    pub progress: Vec<(usize, Option<u32>)>,
    /// All of its failures were reviews that did their part.
    pub not_clean: u32,
}

impl Default for JobState {
    fn default() -> Self {
        Self {
            phase: Phase::Todo,
            attempts: 0,
            to_close: vec![],
            round: Round::default(),
            spent: Spent::default(),
            failures: vec![],
        }
    }
}

impl JobState {
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.phase {
            Phase::Over(outcome) => Some(outcome),
            _ => None,
        }
    }
}

/// A question that nobody answered yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub job: Job,
    pub trigger: Trigger,
    pub critical: bool,
    pub why: String,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ItemState {
    pub begun: Option<Timestamp>,
    pub base: Option<String>,
    pub worktree: Option<String>,
    /// It was given up.
    pub dropped: Option<String>,
    pub deferred: bool,
    pub finished: Option<Timestamp>,
    /// How often a person allowed it as much again.
    pub raised: u32,
}

/// Whether the run as a whole goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Going,
    Paused { why: String },
    Aborted { why: String },
    Complete,
}

/// A run: what it is to do, and what has happened.
#[derive(Debug, Clone)]
pub struct Run {
    pub workflow: Workflow,
    pub plan: Plan,
    pub items: BTreeMap<String, ItemState>,
    pub jobs: BTreeMap<Job, JobState>,
    /// Groups that were looked at when their items were done, and whether they are complete.
    pub groups: BTreeMap<String, bool>,
    pub questions: BTreeMap<String, Question>,
    pub standing: Standing,
    pub asked: u32,
    pub last: Option<Timestamp>,
}

impl Run {
    pub fn new(workflow: Workflow, plan: Plan) -> Self {
        let workflow = if plan.has_worktrees() { workflow.with_merges() } else { workflow };
        let workflow = workflow.with_limits(plan.cycles, plan.crash_retries);
        let items = plan.items.iter().map(|i| (i.id.clone(), ItemState::default())).collect();
        Self {
            workflow,
            plan,
            items,
            jobs: BTreeMap::new(),
            groups: BTreeMap::new(),
            questions: BTreeMap::new(),
            standing: Standing::Going,
            asked: 0,
            last: None,
        }
    }

    pub fn replay<'f>(
        workflow: Workflow,
        plan: Plan,
        facts: impl IntoIterator<Item = &'f Dated>,
    ) -> Self {
        let mut run = Self::new(workflow, plan);
        for fact in facts {
            run.take(fact);
        }
        run
    }

    pub fn job(&self, job: &Job) -> JobState {
        self.jobs.get(job).cloned().unwrap_or_default()
    }

    pub fn step(&self, job: &Job) -> Option<&Step> {
        self.workflow.step(&job.step)
    }

    /// The jobs of an item or a group, in order.
    pub fn jobs_of(&self, subject: &Subject) -> Vec<Job> {
        let per = match subject {
            Subject::Item(_) => Per::Item,
            Subject::Group(_) => Per::Group,
        };
        let of = |step: &Step| Job { subject: subject.clone(), step: step.id.clone() };
        self.workflow.steps_per(per).map(of).collect()
    }

    pub fn crew(&self, job: &Job) -> Crew {
        let of = |crews: &BTreeMap<String, Crew>| crews.get(&job.step).cloned();
        let planned = match &job.subject {
            Subject::Item(item) => self.plan.item(item).and_then(|item| of(&item.agents)),
            Subject::Group(_) => of(&self.plan.group_agents),
        };
        planned.unwrap_or_else(|| {
            let step = self.step(job);
            let text = |pick: fn(&Step) -> &Option<String>| step.and_then(|s| pick(s).clone());
            Crew {
                primary: text(|s| &s.agent).unwrap_or_default(),
                fallback: text(|s| &s.fallback),
                model: text(|s| &s.model),
            }
        })
    }

    /// When the attempt that is under way began.
    pub fn attempt_at(&self, job: &Job) -> Option<Timestamp> {
        match &self.jobs.get(job)?.phase {
            Phase::Trying(attempt) => Some(attempt.at),
            _ => None,
        }
    }

    /// Whether a question was written down, answered or not.
    pub fn has_asked(&self, id: &str) -> bool {
        let number = id.rsplit_once('?').and_then(|(_, number)| number.parse::<u32>().ok());
        number.is_some_and(|number| number <= self.asked)
    }

    pub fn is_blocking(&self, job: &Job) -> bool {
        job.item().and_then(|item| self.plan.item(item)).is_some_and(|item| item.blocking)
    }

    pub fn spent(&self, item: &str) -> Spent {
        let of_item = self.jobs.iter().filter(|(job, _)| job.item() == Some(item));
        of_item.fold(Spent::default(), |sum, (_, state)| sum.and(state.spent))
    }

    /// Takes a fact in. One that does not fit, such as the end of an attempt that another has replaced, changes nothing.
    pub fn take(&mut self, dated: &Dated) {
        let at = dated.at;
        self.last = Some(at);
        match &dated.fact {
            Fact::Begun { item, base, worktree } => {
                let state = self.items.entry(item.clone()).or_default();
                state.begun.get_or_insert(at);
                state.base.clone_from(base);
                state.worktree.clone_from(worktree);
            }
            Fact::Skipped { job, why } => {
                self.settle(job, Outcome::Skipped { why: why.clone() }, at);
            }
            Fact::Attempted { job, n, agent, model, name, head, held } => {
                let attempt = Attempt {
                    n: *n,
                    at,
                    agent: agent.clone(),
                    model: model.clone(),
                    name: name.clone(),
                    head: head.clone(),
                    held: *held,
                    session: None,
                    ended: None,
                    output: None,
                };
                let state = self.state(job);
                if matches!(state.phase, Phase::Todo | Phase::Resting { .. }) && *n > state.attempts
                {
                    state.attempts = *n;
                    state.phase = Phase::Trying(attempt);
                }
            }
            Fact::Spawned { job, n, session } => {
                if let Some(attempt) = self.attempt(job, *n) {
                    attempt.session = Some(session.clone());
                }
            }
            Fact::Ended { job, n, how, output, spent } => {
                let state = self.state(job);
                if let Phase::Trying(attempt) = &mut state.phase
                    && attempt.n == *n
                    && attempt.ended.is_none()
                {
                    attempt.ended = Some(how.clone());
                    attempt.output.clone_from(output);
                    if let Some(session) = attempt.session.clone() {
                        state.to_close.push((*n, session));
                    }
                    state.spent = state.spent.and(*spent);
                }
            }
            Fact::Verified { job, n, evidence } => {
                let state = self.state(job);
                let awaited = match &state.phase {
                    Phase::Trying(attempt) => attempt.n == *n,
                    Phase::LookAgain { .. } => true,
                    _ => false,
                };
                if awaited {
                    self.settle(job, Outcome::Verified { evidence: evidence.clone() }, at);
                }
            }
            Fact::Failed { job, n, failure, why, until, progress, not_clean } => {
                self.fail(job, *n, (*failure, why), *until, *progress, *not_clean, at);
            }
            Fact::Closed { job, n } => {
                let state = self.state(job);
                state.to_close.retain(|(of, _)| of != n);
                // Ended by us in the middle of its work: the run was aborted.
                if let Some(attempt) = self.attempt(job, *n)
                    && attempt.ended.is_none()
                {
                    let (failure, why) = (Failure::Crash, "the run was aborted".into());
                    attempt.ended = Some(How::Failed { failure, why, until: None });
                }
            }
            Fact::Escalated { id, job, trigger, critical, why } => {
                self.asked += 1;
                let question = Question {
                    job: job.clone(),
                    trigger: *trigger,
                    critical: *critical,
                    why: why.clone(),
                    at,
                };
                self.questions.insert(id.clone(), question);
                self.state(job).phase = Phase::Asked { id: id.clone() };
            }
            Fact::Answered { id, action, agent, .. } => {
                self.answer(id, *action, agent.as_deref(), at)
            }
            Fact::Deferred { job, why } => {
                if let Some(item) = job.item().map(ToOwned::to_owned) {
                    self.items.entry(item.clone()).or_default().deferred = true;
                    self.drop_item(&item, why, at);
                }
            }
            Fact::GroupChecked { group, complete, .. } => {
                self.groups.insert(group.clone(), *complete);
            }
            Fact::Paused { why, .. } => {
                if self.standing == Standing::Going {
                    self.standing = Standing::Paused { why: why.clone() };
                }
            }
            Fact::Resumed { .. } => {
                if matches!(self.standing, Standing::Paused { .. }) {
                    self.standing = Standing::Going;
                }
            }
            Fact::Aborted { why, .. } => {
                if self.standing != Standing::Complete {
                    self.standing = Standing::Aborted { why: why.clone() };
                }
            }
            Fact::Completed => self.standing = Standing::Complete,
        }
    }

    fn state(&mut self, job: &Job) -> &mut JobState {
        self.jobs.entry(job.clone()).or_default()
    }

    fn attempt(&mut self, job: &Job, n: u32) -> Option<&mut Attempt> {
        match &mut self.state(job).phase {
            Phase::Trying(attempt) if attempt.n == n => Some(attempt),
            _ => None,
        }
    }

    /// A step that is over stays so.
    fn settle(&mut self, job: &Job, outcome: Outcome, at: Timestamp) {
        let state = self.state(job);
        if state.outcome().is_none() {
            state.phase = Phase::Over(outcome);
        }
        if let Some(item) = job.item() {
            let all_over =
                self.jobs_of(&job.subject).iter().all(|job| self.job(job).outcome().is_some());
            let state = self.items.entry(item.to_owned()).or_default();
            if all_over {
                state.finished.get_or_insert(at);
            }
        }
    }

    fn drop_item(&mut self, item: &str, why: &str, at: Timestamp) {
        let why = why.to_owned();
        self.items.entry(item.to_owned()).or_default().dropped.get_or_insert(why.clone());
        for job in self.jobs_of(&Subject::Item(item.to_owned())) {
            self.settle(&job, Outcome::Dropped { why: why.clone() }, at);
        }
        self.questions.retain(|_, question| question.job.item() != Some(item));
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one fact")]
    fn fail(
        &mut self,
        job: &Job,
        n: u32,
        (failure, why): (Failure, &str),
        until: Option<Timestamp>,
        progress: Option<u32>,
        not_clean: bool,
        at: Timestamp,
    ) {
        let Some(step) = self.step(job).cloned() else { return };
        let has_fallback = self.crew(job).fallback.is_some();
        let blocking = self.is_blocking(job);
        let state = self.state(job);
        match &state.phase {
            Phase::Trying(attempt) if attempt.n == n => {}
            Phase::LookAgain { asked_by_pause } => {
                state.phase = if *asked_by_pause {
                    Phase::Todo
                } else {
                    Phase::Exhausted { failure, why: why.to_owned() }
                };
                return;
            }
            _ => return,
        }
        state.failures.push((n, failure, why.to_owned()));
        let rule = step.rule(failure);
        let round = &mut state.round;
        let count = round.failures.entry(failure).or_default();
        *count += 1;
        let times = rule.times_if_blocking.filter(|_| blocking).unwrap_or(rule.times);
        let rule_is_used_up = *count > times;
        if !failure.is_nobodys_fault() {
            round.attempts += 1;
            round.progress.push((round.agent, progress));
        }
        round.not_clean += u32::from(not_clean);
        let is_used_up = round.attempts >= step.attempts;
        let next_agent = rule_is_used_up
            && has_fallback
            && round.agent == 0
            && round.chosen.is_none()
            && !step.is_loop
            && matches!(step.work, Work::Agent { .. });
        if is_used_up || (rule_is_used_up && !next_agent) {
            state.phase = Phase::Exhausted { failure, why: why.to_owned() };
            return;
        }
        if next_agent {
            round.agent = 1;
            round.failures.clear();
        }
        // Another agent has other limits, and need not wait for this one's to be over.
        let delay = if next_agent { jiff::SignedDuration::ZERO } else { rule.delay };
        let earliest = at.checked_add(delay).unwrap_or(at);
        let until = if next_agent { earliest } else { until.map_or(earliest, |u| u.max(at)) };
        state.phase = Phase::Resting { until };
    }

    fn answer(&mut self, id: &str, action: Action, agent: Option<&str>, at: Timestamp) {
        let Some(question) = self.questions.remove(id) else { return };
        let job = question.job;
        let item = job.item().map(ToOwned::to_owned);
        let is_asked = matches!(&self.job(&job).phase, Phase::Asked { id: asked } if asked == id);
        match action {
            Action::AbortRun => {
                self.standing = Standing::Aborted { why: "somebody chose so".into() };
            }
            Action::SkipStory | Action::AbortStory => {
                let why = if action == Action::SkipStory { "skipped" } else { "aborted" };
                match &item {
                    Some(item) => self.drop_item(item, &format!("{why} by a person"), at),
                    None => self.settle(&job, Outcome::Skipped { why: why.into() }, at),
                }
            }
            Action::Pause => {
                self.standing = Standing::Paused { why: "somebody chose so".into() };
                if is_asked {
                    self.again(&job, Phase::LookAgain { asked_by_pause: true }, None);
                }
            }
            _ if !is_asked => {}
            Action::RaiseBudget => {
                if let Some(item) = item {
                    self.items.entry(item).or_default().raised += 1;
                }
                // It was stopped before it began: what was tried before still counts.
                self.state(&job).phase = Phase::Todo;
            }
            Action::Retry | Action::GoOn => self.again(&job, Phase::Todo, None),
            Action::OtherAgent => {
                let crew = self.crew(&job);
                let other = agent.map(ToOwned::to_owned).or(crew.fallback);
                self.again(&job, Phase::Todo, other);
            }
            Action::FixByHand => self.again(&job, Phase::LookAgain { asked_by_pause: false }, None),
            Action::Accept | Action::GoOnUncommitted => self.settle(&job, Outcome::Accepted, at),
            Action::SkipStep | Action::Leave => {
                self.settle(&job, Outcome::Skipped { why: "skipped by a person".into() }, at);
            }
            Action::OneByOne => {
                let Some(item) = item else { return };
                for job in self.jobs_of(&Subject::Item(item.clone())) {
                    let state = self.state(&job);
                    state.round = Round::default();
                    state.phase = Phase::Todo;
                }
                let state = self.items.entry(item).or_default();
                (state.base, state.worktree, state.begun) = (None, None, None);
            }
        }
    }

    /// A new round, with everything that is counted set back.
    fn again(&mut self, job: &Job, phase: Phase, chosen: Option<String>) {
        let state = self.state(job);
        state.phase = phase;
        state.round = Round { chosen, ..Round::default() };
    }
}
