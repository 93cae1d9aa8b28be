//! Decides what to do next. The same state and time always give the same decisions, and each identifies its subject, so that
//! one that was started and not recorded as done is recognised and finished, not started again.

use jiff::Timestamp;

use super::definition::{Failure, Step, Work};
use super::fact::{How, Job, Subject};
use super::state::{Attempt, ItemState, JobState, Outcome, Phase, Run, Standing};
use crate::escalation::{self, Gravity, Kind, Trigger};

#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Begin an item: record its starting point, and create a worktree if it needs one.
    Begin {
        item: String,
    },
    /// Skip the step, with the reason.
    Skip {
        job: Job,
        why: String,
    },
    /// Record a new attempt. With `look_first`, only if the step is not done already.
    Attempt {
        job: Job,
        n: u32,
        agent: String,
        model: Option<String>,
        look_first: bool,
    },
    /// Start the attempt's session, unless it exists.
    Spawn {
        job: Job,
        attempt: Attempt,
    },
    Await {
        job: Job,
        n: u32,
        session: String,
    },
    /// Verify from files whether the step is done. Without `how` no session has ended: it is only checked again.
    Verify {
        job: Job,
        n: u32,
        how: Option<How>,
        output: Option<String>,
        held: bool,
    },
    Commit {
        job: Job,
        attempt: Attempt,
    },
    Merge {
        job: Job,
        attempt: Attempt,
    },
    Close {
        job: Job,
        n: u32,
        session: String,
    },
    Escalate {
        id: String,
        job: Job,
        trigger: Trigger,
        critical: bool,
        why: String,
    },
    Defer {
        job: Job,
        why: String,
    },
    /// An item was given up: move its changes from the tree to a branch.
    SetAside {
        item: String,
    },
    CheckGroup {
        group: String,
    },
    /// Wait for that time before doing more for this job.
    Rest {
        job: Job,
        until: Timestamp,
    },
    /// Wait for the answer to that question before doing more for this job.
    AwaitAnswer {
        id: String,
    },
    Complete,
}

impl Decision {
    /// Identifies the decision while it is being executed.
    pub fn key(&self) -> String {
        match self {
            Self::Begin { item } => format!("begin {item}"),
            Self::Skip { job, .. } => format!("skip {job}"),
            Self::Attempt { job, n, .. } => format!("attempt {job}#{n}"),
            Self::Spawn { job, attempt } => format!("spawn {job}#{}", attempt.n),
            Self::Await { job, n, .. } => format!("await {job}#{n}"),
            Self::Verify { job, n, .. } => format!("verify {job}#{n}"),
            Self::Commit { job, attempt } => format!("commit {job}#{}", attempt.n),
            Self::Merge { job, attempt } => format!("merge {job}#{}", attempt.n),
            Self::Close { job, n, .. } => format!("close {job}#{n}"),
            Self::Escalate { id, .. } => format!("escalate {id}"),
            Self::Defer { job, .. } => format!("defer {job}"),
            Self::SetAside { item } => format!("set aside {item}"),
            Self::CheckGroup { group } => format!("check {group}"),
            Self::Rest { job, .. } => format!("rest {job}"),
            Self::AwaitAnswer { id } => format!("answer {id}"),
            Self::Complete => "complete".into(),
        }
    }
}

impl Run {
    /// All actions and waits that are due now.
    pub fn next(&self, now: Timestamp) -> Vec<Decision> {
        let mut decisions = self.closings();
        match &self.standing {
            Standing::Complete => return decisions,
            Standing::Aborted { .. } => {
                decisions.extend(self.living_sessions());
                return decisions;
            }
            Standing::Going | Standing::Paused { .. } => {}
        }
        let given_up: Vec<&String> = self.given_up().collect();
        // Its session must end before its files are touched, and nothing else may begin in the same tree before that.
        if !given_up.is_empty() && !self.plan.has_worktrees() && !decisions.is_empty() {
            return decisions;
        }
        decisions.extend(given_up.iter().map(|item| Decision::SetAside { item: (*item).clone() }));
        if !given_up.is_empty() && !self.plan.has_worktrees() {
            return decisions;
        }
        // Finish what is in progress; begin nothing new while waiting for a person.
        let may_begin = self.standing == Standing::Going && !self.is_held_up();
        let mut tree_is_taken = false;
        let mut lanes = 0;
        let most = if self.plan.has_worktrees() { self.plan.side_by_side } else { 1 };
        let mut earlier_are_over = true;
        for item in &self.plan.items {
            let state = self.items.get(&item.id).cloned().unwrap_or_default();
            if state.finished.is_some() {
                continue;
            }
            let subject = Subject::Item(item.id.clone());
            // The group's last steps come before the next item that would work in the same tree.
            if !self.plan.has_worktrees() && self.group_work_is_open() && state.begun.is_none() {
                break;
            }
            if lanes >= most && state.begun.is_none() {
                break;
            }
            let is_ready = item
                .after
                .iter()
                .all(|id| self.items.get(id).is_none_or(|before| before.finished.is_some()));
            if state.begun.is_none() {
                if !is_ready {
                    earlier_are_over = false;
                    continue;
                }
                if may_begin {
                    decisions.push(Decision::Begin { item: item.id.clone() });
                }
                lanes += 1;
                earlier_are_over = false;
                continue;
            }
            let found =
                self.next_of(&subject, now, may_begin, earlier_are_over, &mut tree_is_taken);
            let waits_for_a_person =
                found.iter().all(|d| matches!(d, Decision::AwaitAnswer { .. }))
                    && !found.is_empty();
            // In its own worktree it blocks no other item.
            if !(waits_for_a_person && self.plan.has_worktrees()) {
                lanes += 1;
            }
            decisions.extend(found);
            earlier_are_over = false;
        }
        if !tree_is_taken {
            decisions.extend(self.next_of_groups(now, may_begin));
        }
        let is_empty = decisions.is_empty();
        if is_empty && self.is_done() && self.standing == Standing::Going {
            decisions.push(Decision::Complete);
        }
        decisions
    }

    pub fn is_done(&self) -> bool {
        self.items.values().all(|item| item.finished.is_some())
            && self.plan.groups().iter().all(|group| self.group_is_settled(group))
    }

    /// Whether an open question blocks the whole run.
    pub fn is_held_up(&self) -> bool {
        self.questions.values().any(|question| question.critical)
    }

    /// Items that were given up and whose changes are still in the tree, or in their worktree.
    fn given_up(&self) -> impl Iterator<Item = &String> {
        let is_open = |item: &str| {
            let of_item = self.jobs.iter().filter(|(job, _)| job.item() == Some(item));
            of_item.into_iter().any(|(_, state)| !state.to_close.is_empty())
        };
        let is_there = move |(item, state): &(&String, &ItemState)| {
            let begun = state.begun.is_some() && state.dropped.is_some() && !state.set_aside;
            begun && !(self.plan.has_worktrees() && is_open(item))
        };
        self.items.iter().filter(is_there).map(|(item, _)| item)
    }

    fn closings(&self) -> Vec<Decision> {
        let close = |(job, state): (&Job, &JobState)| -> Vec<Decision> {
            let close = |(n, session): &(u32, String)| Decision::Close {
                job: job.clone(),
                n: *n,
                session: session.clone(),
            };
            state.to_close.iter().map(close).collect()
        };
        self.jobs.iter().flat_map(close).collect()
    }

    /// Sessions of an aborted run. One whose start was not recorded, because the driver was killed, is identified by its
    /// name.
    fn living_sessions(&self) -> Vec<Decision> {
        let living = |(job, state): (&Job, &JobState)| match &state.phase {
            Phase::Trying(Attempt { n, session, name, ended: None, .. }) => {
                let session = session.clone().or_else(|| name.clone())?;
                Some(Decision::Close { job: job.clone(), n: *n, session })
            }
            _ => None,
        };
        self.jobs.iter().filter_map(living).collect()
    }

    fn group_is_settled(&self, group: &str) -> bool {
        let subject = Subject::Group(group.to_owned());
        let jobs = self.jobs_of(&subject);
        match self.groups.get(group) {
            _ if jobs.is_empty() => true,
            None => false,
            Some(false) => true,
            Some(true) => jobs.iter().all(|job| self.job(job).outcome().is_some()),
        }
    }

    fn items_of_group_are_over(&self, group: &str) -> bool {
        let of_group = self.plan.items.iter().filter(|i| i.group.as_deref() == Some(group));
        of_group.into_iter().all(|i| self.items.get(&i.id).is_some_and(|s| s.finished.is_some()))
    }

    /// Whether a group whose items are all over has steps left.
    fn group_work_is_open(&self) -> bool {
        let mut groups = self.plan.groups().into_iter();
        groups.any(|group| self.items_of_group_are_over(group) && !self.group_is_settled(group))
    }

    fn next_of_groups(&self, now: Timestamp, may_begin: bool) -> Vec<Decision> {
        for group in self.plan.groups() {
            if !self.items_of_group_are_over(group) || self.group_is_settled(group) {
                continue;
            }
            return match self.groups.get(group) {
                None if may_begin => vec![Decision::CheckGroup { group: group.to_owned() }],
                None => vec![],
                Some(_) => {
                    let subject = Subject::Group(group.to_owned());
                    self.next_of(&subject, now, may_begin, true, &mut false)
                }
            };
        }
        vec![]
    }

    /// The next action for one item or group: its first step that is not over.
    fn next_of(
        &self,
        subject: &Subject,
        now: Timestamp,
        may_begin: bool,
        earlier_are_over: bool,
        tree_is_taken: &mut bool,
    ) -> Vec<Decision> {
        let open = |job: &Job| self.job(job).outcome().is_none();
        let Some(job) = self.jobs_of(subject).into_iter().find(open) else { return vec![] };
        let Some(step) = self.step(&job) else { return vec![] };
        let state = self.job(&job);
        if step.work == Work::Merge {
            // In the order of the plan, so that the history reads like it, and one at a time.
            if !earlier_are_over || *tree_is_taken {
                return vec![];
            }
            *tree_is_taken = true;
        } else if !self.plan.has_worktrees() {
            *tree_is_taken = true;
        }
        // Close the panes of earlier attempts before the next begins.
        if !state.to_close.is_empty() && !matches!(state.phase, Phase::Trying(_)) {
            return vec![];
        }
        self.decide(job, step, &state, now, may_begin).into_iter().collect()
    }

    fn decide(
        &self,
        job: Job,
        step: &Step,
        state: &JobState,
        now: Timestamp,
        may_begin: bool,
    ) -> Option<Decision> {
        match &state.phase {
            Phase::Over(_) => None,
            Phase::Asked { id } => Some(Decision::AwaitAnswer { id: id.clone() }),
            Phase::Trying(attempt) => Some(trying(job, step, attempt)),
            _ if !may_begin => None,
            Phase::Resting { until } if *until > now => Some(Decision::Rest { job, until: *until }),
            Phase::LookAgain { .. } if step.can_be_looked_at() => {
                let n = state.attempts;
                Some(Decision::Verify { job, n, how: None, output: None, held: false })
            }
            Phase::Todo | Phase::Resting { .. } | Phase::LookAgain { .. } => {
                Some(self.begin(job, step, state))
            }
            Phase::Exhausted { failure, why } => {
                Some(self.give_up(job, step, state, *failure, why))
            }
        }
    }

    fn begin(&self, job: Job, step: &Step, state: &JobState) -> Decision {
        let item = job.item().and_then(|item| self.plan.item(item));
        if self.plan.skip.contains(&job.step) {
            return Decision::Skip { job, why: "skipped by setting".into() };
        }
        if item.is_some_and(|item| item.done.contains(&job.step)) && state.attempts == 0 {
            return Decision::Skip { job, why: "done before this run".into() };
        }
        if let Some(item) = item.filter(|item| self.is_over_budget(&item.id))
            && step.work.has_session()
        {
            let (id, trigger) = (self.question_id(&job), Trigger::Budget);
            let why = format!("{} tokens were used", self.spent(&item.id).tokens());
            return Decision::Escalate { id, job, trigger, critical: true, why };
        }
        let crew = self.crew(&job);
        let (agent, model) = match (&state.round.chosen, state.round.agent) {
            (Some(chosen), _) => (chosen.clone(), None),
            (None, 0) => (crew.primary, crew.model),
            (None, _) => (crew.fallback.unwrap_or(crew.primary), None),
        };
        let look_first = step.done_before && state.attempts == 0;
        Decision::Attempt { job, n: state.attempts + 1, agent, model, look_first }
    }

    fn is_over_budget(&self, item: &str) -> bool {
        let raised = self.items.get(item).map_or(0, |state| state.raised);
        self.spent(item).is_over(self.plan.budget.times(u64::from(raised) + 1))
    }

    /// All attempts failed: skip the step, defer the item, or ask a person.
    fn give_up(
        &self,
        job: Job,
        step: &Step,
        state: &JobState,
        failure: Failure,
        why: &str,
    ) -> Decision {
        if step.optional {
            let why = format!("{}: {why}", failure.as_str());
            return Decision::Skip { job, why };
        }
        if step.defer_on_plateau
            && let Some(reached) = plateau(state, self.crew(&job).fallback.is_some())
        {
            let why = format!("every attempt stopped after {reached} tasks");
            return Decision::Defer { job, why };
        }
        let gravity = Gravity { blocking: self.is_blocking(&job), retries_left: 0 };
        let trigger = trigger(step, state, failure);
        let (id, critical) =
            (self.question_id(&job), escalation::kind(trigger, gravity) == Kind::Critical);
        Decision::Escalate { id, job, trigger, critical, why: why.to_owned() }
    }
}

fn trying(job: Job, step: &Step, attempt: &Attempt) -> Decision {
    let n = attempt.n;
    match &step.work {
        Work::Commit { .. } => return Decision::Commit { job, attempt: attempt.clone() },
        Work::Merge => return Decision::Merge { job, attempt: attempt.clone() },
        Work::Agent { .. } | Work::Command { .. } => {}
    }
    match (&attempt.session, &attempt.ended) {
        (_, Some(how)) => {
            let (how, output, held) = (Some(how.clone()), attempt.output.clone(), attempt.held);
            Decision::Verify { job, n, how, output, held }
        }
        (Some(session), None) => Decision::Await { job, n, session: session.clone() },
        (None, None) => Decision::Spawn { job, attempt: attempt.clone() },
    }
}

/// The trigger of the question.
fn trigger(step: &Step, state: &JobState, failure: Failure) -> Trigger {
    match (&step.work, failure) {
        (Work::Commit { .. }, _) => return Trigger::CommitFailed,
        (Work::Merge, _) => return Trigger::DependencyConflict,
        (_, Failure::Spawn) => return Trigger::SpawnFailed,
        (_, Failure::Unclear) => return Trigger::OutputUnclear,
        _ => {}
    }
    if let Some(asks) = step.asks {
        return asks;
    }
    let about_the_work = matches!(failure, Failure::Unverified | Failure::Failed);
    match failure {
        _ if step.is_loop && (state.round.not_clean > 0 || !about_the_work) => Trigger::ReviewLoop,
        Failure::Unverified => Trigger::SessionIncomplete,
        Failure::Failed => Trigger::DevFailed,
        _ => Trigger::Unexpected,
    }
}

/// The progress, if at least three attempts stopped at the same place, also with the fallback agent if there is one.
fn plateau(state: &JobState, has_fallback: bool) -> Option<u32> {
    let reached =
        state.round.progress.iter().map(|(_, done)| *done).collect::<Option<Vec<u32>>>()?;
    let first = *reached.first()?;
    let both = state.round.progress.iter().any(|(agent, _)| *agent == 1);
    let same = first > 0 && reached.len() >= 3 && reached.iter().all(|done| *done == first);
    (same && (both || !has_fallback)).then_some(first)
}

/// The outcome as a sentence, for questions and the log.
pub fn outcome_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Verified { evidence } => evidence.clone(),
        Outcome::Skipped { why } | Outcome::Dropped { why } => why.clone(),
        Outcome::Accepted => "accepted as is".into(),
    }
}
