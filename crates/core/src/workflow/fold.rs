//! Applies facts to the state of a run.

use jiff::Timestamp;

use super::definition::{Failure, Step, Work};
use super::fact::{Dated, Fact, How, Job, Subject};
use super::state::{
    Attempt, JobState, Outcome, Phase, Question, Round, Run, Standing, read_question_id,
};
use crate::escalation::Action;

/// Where the changes of an item that was given up are, in words.
pub fn aside_words(branch: Option<&str>, files: u32, left: &[String]) -> Option<String> {
    let kept = branch.map(|branch| match files {
        0 => format!("the commits are on branch {branch}"),
        1 => format!("1 changed file is on branch {branch}"),
        n => format!("{n} changed files are on branch {branch}"),
    });
    let left = (!left.is_empty()).then(|| format!("not moved: {}", left.join(", ")));
    let parts: Vec<String> = kept.into_iter().chain(left).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

impl Run {
    /// Applies a fact. One that does not fit, such as the end of an attempt that was replaced, changes nothing.
    pub fn take(&mut self, dated: &Dated) {
        let at = dated.at;
        self.last = Some(at);
        match &dated.fact {
            Fact::Begun { item, base, worktree, before } => {
                if !self.plan.has_worktrees() {
                    let others = self.items.iter_mut().filter(|(other, _)| *other != item);
                    others.for_each(|(_, state)| state.set_aside |= state.dropped.is_some());
                }
                let state = self.items.entry(item.clone()).or_default();
                state.begun.get_or_insert(at);
                state.base.clone_from(base);
                state.worktree.clone_from(worktree);
                state.before.clone_from(before);
            }
            Fact::SetAside { item, branch, files, left } => {
                let state = self.items.entry(item.clone()).or_default();
                state.set_aside = true;
                if let (Some(why), Some(note)) =
                    (&mut state.dropped, aside_words(branch.as_deref(), *files, left))
                {
                    *why = format!("{why}; {note}");
                }
            }
            Fact::Skipped { job, why } => {
                self.settle(job, Outcome::Skipped { why: why.clone() }, at);
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
                // A question that was raised while the run was aborted needs no answer.
                if !matches!(self.standing, Standing::Aborted { .. }) {
                    self.questions.insert(id.clone(), question);
                }
                let state = self.state(job);
                state.phase = Phase::Asked { id: id.clone() };
                state.asked = read_question_id(id).map_or(0, |(_, number)| number).max(state.asked);
            }
            Fact::Answered { id, action, agent, .. } => {
                self.answer(id, *action, agent.as_deref(), at);
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
                    self.abort(why);
                }
            }
            Fact::Completed => self.standing = Standing::Complete,
            Fact::Attempted { .. }
            | Fact::Spawned { .. }
            | Fact::Ended { .. }
            | Fact::Verified { .. }
            | Fact::Failed { .. }
            | Fact::Closed { .. } => self.take_of_attempt(&dated.fact, at),
        }
    }

    /// Applies facts about attempts.
    fn take_of_attempt(&mut self, fact: &Fact, at: Timestamp) {
        match fact {
            Fact::Attempted { job, n, agent, model, name, held } => {
                let attempt = Attempt {
                    n: *n,
                    at,
                    agent: agent.clone(),
                    model: model.clone(),
                    name: name.clone(),
                    held: *held,
                    session: None,
                    ended: None,
                    output: None,
                };
                let state = self.state(job);
                let may_begin = matches!(
                    state.phase,
                    Phase::Todo | Phase::Resting { .. } | Phase::LookAgain { .. }
                );
                if may_begin && *n > state.attempts {
                    state.attempts = *n;
                    state.phase = Phase::Trying(attempt);
                }
            }
            Fact::Spawned { job, n, session } => {
                let state = self.state(job);
                if let Phase::Trying(attempt) = &mut state.phase
                    && attempt.n == *n
                {
                    attempt.session = Some(session.clone());
                    // It started while the run was being aborted.
                    if attempt.ended.is_some() {
                        state.to_close.push((*n, session.clone()));
                    }
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
                // dogwatch ended it in the middle of its work because the run was aborted.
                if let Some(attempt) = self.attempt(job, *n)
                    && attempt.ended.is_none()
                {
                    let (failure, why) = (Failure::Crash, "the run was aborted".into());
                    attempt.ended = Some(How::Failed { failure, why, until: None });
                }
            }
            _ => {}
        }
    }

    /// Withdraws all questions: nothing more will be done.
    fn abort(&mut self, why: &str) {
        self.standing = Standing::Aborted { why: why.to_owned() };
        self.questions.clear();
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
        if !failure.is_outside_the_work() {
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
        // Another agent has its own limits and need not wait for this one's.
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
            Action::AbortRun => self.abort("aborted by an answer"),
            Action::SkipStory | Action::AbortStory => {
                let why = if action == Action::SkipStory { "skipped" } else { "aborted" };
                match &item {
                    Some(item) => self.drop_item(item, &format!("{why} by a person"), at),
                    None => self.settle(&job, Outcome::Skipped { why: why.into() }, at),
                }
            }
            Action::Pause => {
                self.standing = Standing::Paused { why: "paused by an answer".into() };
                if is_asked {
                    self.again(&job, Phase::LookAgain { asked_by_pause: true }, None);
                }
            }
            _ if !is_asked => {}
            Action::RaiseBudget => {
                if let Some(item) = item {
                    self.items.entry(item).or_default().raised += 1;
                }
                // It was stopped before it began: earlier attempts still count.
                self.state(&job).phase = Phase::Todo;
            }
            // An answer to a dialog goes to the agent; for the run it only means "continue".
            Action::Retry | Action::GoOn | Action::Choose => self.again(&job, Phase::Todo, None),
            Action::OtherAgent => {
                let crew = self.crew(&job);
                let other = agent.map(ToOwned::to_owned).or(crew.fallback);
                self.again(&job, Phase::Todo, other);
            }
            Action::FixByHand if self.step(&job).is_some_and(Step::can_be_looked_at) => {
                self.again(&job, Phase::LookAgain { asked_by_pause: false }, None);
            }
            // Where nothing can be verified, the person's answer counts.
            Action::FixByHand | Action::Accept | Action::GoOnUncommitted => {
                self.settle(&job, Outcome::Accepted, at);
            }
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

    /// A new round, with all counters reset.
    fn again(&mut self, job: &Job, phase: Phase, chosen: Option<String>) {
        let state = self.state(job);
        state.phase = phase;
        state.round = Round { chosen, ..Round::default() };
    }
}
