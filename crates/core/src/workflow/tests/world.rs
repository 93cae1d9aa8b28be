//! A simulated world for decisions: it keeps sessions and finished work, survives crashes of the driver, and gives each attempt
//! the end that a script defines.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::escalation::Action;
use crate::escalation::Trigger;
use crate::workflow::definition::Failure;
use crate::workflow::{Dated, Decision, Fact, How, Job, Plan, Run, Spent, Standing, Workflow};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Good,
    Bad(Failure),
    /// A review with findings.
    Findings,
    /// Only so many tasks are done.
    Halfway(u32),
}

type Script = Box<dyn Fn(&Job, u32) -> End>;
type Answers = Box<dyn Fn(Trigger, u32) -> Action>;

pub(super) struct World {
    pub(super) script: Script,
    pub(super) answers: Answers,
    pub(super) epics_are_complete: bool,
    /// Tokens that each session uses.
    pub(super) tokens: u64,
    pub(super) now: Timestamp,
    /// Sessions by name.
    sessions: BTreeMap<String, (Job, u32)>,
    pub(super) done: BTreeSet<Job>,
    /// Every attempt whose session was started, in order.
    pub(super) made: Vec<(Job, u32)>,
    pub(super) asked: Vec<(Trigger, bool)>,
    questions: BTreeMap<String, Trigger>,
}

impl World {
    pub(super) fn new(script: impl Fn(&Job, u32) -> End + 'static) -> Self {
        Self {
            script: Box::new(script),
            answers: Box::new(|_, _| Action::Retry),
            epics_are_complete: true,
            tokens: 0,
            now: Timestamp::UNIX_EPOCH,
            sessions: BTreeMap::new(),
            done: BTreeSet::new(),
            made: vec![],
            asked: vec![],
            questions: BTreeMap::new(),
        }
    }

    /// Executes a decision and returns the facts to record, one by one.
    pub(super) fn perform(&mut self, decision: &Decision) -> Vec<Fact> {
        match decision.clone() {
            Decision::Begin { item } => {
                vec![Fact::Begun { item, base: None, worktree: None, before: BTreeMap::new() }]
            }
            Decision::Skip { job, why } => vec![Fact::Skipped { job, why }],
            Decision::Attempt { job, n, agent, model, look_first } => {
                if look_first && self.done.contains(&job) {
                    return vec![Fact::Skipped { job, why: "is there".into() }];
                }
                let name = Some(format!("{job}#{n}"));
                vec![Fact::Attempted { job, n, agent, model, name, held: false }]
            }
            Decision::Spawn { job, attempt } => {
                let (n, name) = (attempt.n, attempt.name.unwrap());
                if (self.script)(&job, n) == End::Bad(Failure::Spawn) {
                    return vec![failed(&job, n, Failure::Spawn)];
                }
                // Found by its name, if the driver crashed before it recorded the start.
                if !self.sessions.contains_key(&name) {
                    self.sessions.insert(name.clone(), (job.clone(), n));
                    self.made.push((job.clone(), n));
                }
                vec![Fact::Spawned { job, n, session: name }]
            }
            Decision::Await { job, n, .. } => {
                let how = match (self.script)(&job, n) {
                    End::Bad(Failure::Unverified | Failure::Failed | Failure::Unclear) => {
                        How::Finished
                    }
                    End::Bad(failure) => How::Failed { failure, why: "so".into(), until: None },
                    End::Good => {
                        self.done.insert(job.clone());
                        How::Finished
                    }
                    End::Findings | End::Halfway(_) => How::Finished,
                };
                let spent = Spent { output: self.tokens, ..Spent::default() };
                vec![Fact::Ended { job, n, how, output: None, spent }]
            }
            Decision::Verify { job, n, how, .. } => vec![self.verify(&job, n, how.as_ref())],
            Decision::Commit { job, attempt } | Decision::Merge { job, attempt } => {
                let n = attempt.n;
                if self.done.contains(&job) || (self.script)(&job, n) == End::Good {
                    if self.done.insert(job.clone()) {
                        self.made.push((job.clone(), n));
                    }
                    return vec![Fact::Verified { job, n, evidence: "abc".into() }];
                }
                vec![failed(&job, n, Failure::Failed)]
            }
            Decision::Close { job, n, .. } => vec![Fact::Closed { job, n }],
            Decision::Escalate { id, job, trigger, critical, why } => {
                if self.questions.insert(id.clone(), trigger).is_none() {
                    self.asked.push((trigger, critical));
                }
                vec![Fact::Escalated { id, job, trigger, critical, why }]
            }
            Decision::Defer { job, why } => vec![Fact::Deferred { job, why }],
            Decision::CheckGroup { group } => {
                let complete = self.epics_are_complete;
                vec![Fact::GroupChecked { group, complete, why: String::new() }]
            }
            Decision::Rest { until, .. } => {
                self.now = self.now.max(until);
                vec![]
            }
            Decision::AwaitAnswer { id } => {
                let number = u32::try_from(self.asked.len()).unwrap();
                let action = (self.answers)(self.questions[&id], number);
                vec![Fact::Answered { id, action, by: "me".into(), agent: None }]
            }
            Decision::SetAside { item } => {
                vec![Fact::SetAside { item, branch: None, files: 0, left: vec![] }]
            }
            Decision::Complete => vec![Fact::Completed],
        }
    }

    fn verify(&self, job: &Job, n: u32, how: Option<&How>) -> Fact {
        assert!(!job.step.contains("commit") && job.step != "merge", "of {job} no file can tell");
        if self.done.contains(job) {
            return Fact::Verified { job: job.clone(), n, evidence: "is there".into() };
        }
        let (failure, progress, not_clean) = match ((self.script)(job, n), how) {
            (_, Some(How::Failed { failure, .. })) => (*failure, None, false),
            (End::Bad(failure), _) => (failure, None, false),
            (End::Findings, _) => (Failure::Unverified, None, true),
            (End::Halfway(tasks), _) => (Failure::Unverified, Some(tasks), false),
            (End::Good, _) => (Failure::Unverified, None, false),
        };
        let (job, why, until) = (job.clone(), "not there".into(), None);
        Fact::Failed { job, n, failure, why, until, progress, not_clean }
    }
}

fn failed(job: &Job, n: u32, failure: Failure) -> Fact {
    let (job, why) = (job.clone(), "it was refused".into());
    Fact::Failed { job, n, failure, why, until: None, progress: None, not_clean: false }
}

/// A run in a world, with a driver that may crash at any point.
pub(super) struct Play {
    pub(super) workflow: Workflow,
    pub(super) plan: Plan,
    pub(super) journal: Vec<Dated>,
}

impl Play {
    pub(super) fn new(workflow: Workflow, plan: Plan) -> Self {
        Self { workflow, plan, journal: vec![] }
    }

    pub(super) fn run(&self) -> Run {
        Run::replay(self.workflow.clone(), self.plan.clone(), &self.journal)
    }

    /// Plays to the end. `dies` is called before each fact is recorded; on true the rest of the decision's facts is lost.
    pub(super) fn play_out(&mut self, world: &mut World, mut dies: impl FnMut() -> bool) -> Run {
        let mut run = self.run();
        for _ in 0..20_000 {
            let decisions = run.next(world.now);
            let idle =
                |d: &Decision| matches!(d, Decision::Rest { .. } | Decision::AwaitAnswer { .. });
            // Time passes and people answer only when there is nothing else to do.
            let Some(decision) = decisions.iter().find(|d| !idle(d)).or(decisions.first()) else {
                return run;
            };
            for fact in world.perform(decision) {
                if dies() {
                    run = self.run();
                    break;
                }
                world.now = world.now.checked_add(SignedDuration::from_secs(1)).unwrap();
                let dated = Dated { at: world.now, fact };
                run.take(&dated);
                self.journal.push(dated);
            }
            if matches!(run.standing, Standing::Paused { .. }) && run.next(world.now).is_empty() {
                let dated = Dated { at: world.now, fact: Fact::Resumed { by: "me".into() } };
                run.take(&dated);
                self.journal.push(dated);
            }
        }
        panic!("it does not come to an end: {:?}", run.next(world.now));
    }
}
