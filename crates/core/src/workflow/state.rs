//! Where a run stands: all that its journal says, folded. Reading the same journal twice gives the same state.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::definition::{Failure, Per, Step, Workflow};
use super::fact::{Dated, How, Job, Subject};
use super::plan::{AgentChoice, Plan, Spent};
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
    pub fn as_str(&self) -> &'static str {
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
    /// The highest number of a question about it.
    pub asked: u32,
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
            asked: 0,
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
    /// Files that were changed when it began.
    pub before: BTreeMap<String, String>,
    /// What it left in the tree was put aside, or is no longer told from the work of another.
    pub set_aside: bool,
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

    pub fn crew(&self, job: &Job) -> AgentChoice {
        let of = |crews: &BTreeMap<String, AgentChoice>| crews.get(&job.step).cloned();
        let planned = match &job.subject {
            Subject::Item(item) => self.plan.item(item).and_then(|item| of(&item.agents)),
            Subject::Group(_) => of(&self.plan.group_agents),
        };
        planned.unwrap_or_else(|| {
            let step = self.step(job);
            let text = |pick: fn(&Step) -> &Option<String>| step.and_then(|s| pick(s).clone());
            AgentChoice {
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
        let known = |(job, number): (Job, u32)| {
            self.jobs.get(&job).is_some_and(|state| number <= state.asked)
        };
        read_question_id(id).is_some_and(known)
    }

    /// What the next question about a job is called. It depends on nothing but that job: what happens to others while it is
    /// being asked must not make another question of it.
    pub(super) fn question_id(&self, job: &Job) -> String {
        format!("{job}?{}", self.job(job).asked + 1)
    }

    pub fn is_blocking(&self, job: &Job) -> bool {
        job.item().and_then(|item| self.plan.item(item)).is_some_and(|item| item.blocking)
    }

    pub fn spent(&self, item: &str) -> Spent {
        let of_item = self.jobs.iter().filter(|(job, _)| job.item() == Some(item));
        of_item.fold(Spent::default(), |sum, (_, state)| sum.and(state.spent))
    }
}

pub(super) fn read_question_id(id: &str) -> Option<(Job, u32)> {
    let (job, number) = id.rsplit_once('?')?;
    Some((Job::try_from(job.to_owned()).ok()?, number.parse().ok()?))
}
