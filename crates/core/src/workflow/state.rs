//! The state of a run, computed from its journal. The same journal always gives the same state.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::definition::{Failure, Per, Step, Workflow};
use super::fact::{Dated, How, Job, Subject};
use super::plan::{AgentChoice, Plan, Spent};
use crate::escalation::Trigger;

/// The state of one step of one item.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// Not started, or to be repeated from the start.
    Todo,
    /// An attempt is in progress.
    Trying(Attempt),
    /// The last attempt failed; the next may begin at this time.
    Resting {
        until: Timestamp,
    },
    /// All attempts are used up, and no question was raised yet.
    Exhausted {
        failure: Failure,
        why: String,
    },
    /// A question to a person is open.
    Asked {
        id: String,
    },
    /// A person says that it is done now, or it is to be checked again after a pause.
    LookAgain {
        asked_by_pause: bool,
    },
    Over(Outcome),
}

/// An attempt and its progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    pub n: u32,
    pub at: Timestamp,
    pub agent: String,
    pub model: Option<String>,
    /// The name of its session: identifies the session if its start was not recorded.
    pub name: Option<String>,
    pub held: bool,
    pub session: Option<String>,
    pub ended: Option<How>,
    pub output: Option<String>,
}

/// The final result of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Verified {
        evidence: String,
    },
    /// Skipped, or given up where that is allowed.
    Skipped {
        why: String,
    },
    /// A person accepted it as it is.
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

/// One step of one item or group, with its attempts.
#[derive(Debug, Clone, PartialEq)]
pub struct JobState {
    pub phase: Phase,
    /// Number of attempts in all rounds.
    pub attempts: u32,
    /// Sessions that are finished and still have a pane: attempt and session.
    pub to_close: Vec<(u32, String)>,
    pub round: Round,
    pub spent: Spent,
    /// The failed attempts and why, for the report and for questions.
    pub failures: Vec<(u32, Failure, String)>,
    /// The highest number of a question about it.
    pub asked: u32,
}

/// Attempts since the beginning, or since a person chose to retry.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Round {
    /// Attempts that count.
    pub attempts: u32,
    /// The current agent: 0 is the primary.
    pub agent: usize,
    /// An agent that a person chose.
    pub chosen: Option<String>,
    /// Failures of each kind with this agent.
    pub failures: BTreeMap<Failure, u32>,
    /// The progress at each failure that says something about the work, with the agent's number.
    pub progress: Vec<(usize, Option<u32>)>,
    /// Failures that were completed reviews with findings.
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

/// An open question.
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
    /// The reason why it was given up.
    pub dropped: Option<String>,
    pub deferred: bool,
    pub finished: Option<Timestamp>,
    /// Files that were changed when it began.
    pub before: BTreeMap<String, String>,
    /// Its changes were moved to a branch, or can no longer be told from another item's.
    pub set_aside: bool,
    /// How often a person extended its budget.
    pub raised: u32,
}

/// Whether the run as a whole continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Going,
    Paused { why: String },
    Aborted { why: String },
    Complete,
}

/// A run: its plan and its state.
#[derive(Debug, Clone)]
pub struct Run {
    pub workflow: Workflow,
    pub plan: Plan,
    pub items: BTreeMap<String, ItemState>,
    pub jobs: BTreeMap<Job, JobState>,
    /// Groups that were checked when their items were done, and whether they are complete.
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

    /// When the current attempt began.
    pub fn attempt_at(&self, job: &Job) -> Option<Timestamp> {
        match &self.jobs.get(job)?.phase {
            Phase::Trying(attempt) => Some(attempt.at),
            _ => None,
        }
    }

    /// Whether a question was recorded, answered or not.
    pub fn has_asked(&self, id: &str) -> bool {
        let known = |(job, number): (Job, u32)| {
            self.jobs.get(&job).is_some_and(|state| number <= state.asked)
        };
        read_question_id(id).is_some_and(known)
    }

    /// The id of the next question about a job. It depends only on that job: events of other jobs while the question is being
    /// raised must not change its id.
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
