//! The report of a run: durations, attempts, tokens. All from its journal.

use jiff::Timestamp;

pub use dogwatch_protocol::run::{Asked, Line, Report, StepLine, Try};

use super::decide::outcome_words;
use super::fact::{Dated, Fact, How, Job, Subject};
use super::plan::{Plan, Spent};
use super::state::{Outcome, Phase, Run, Standing};

pub fn report(id: &str, begun: Timestamp, run: &Run, facts: &[Dated]) -> Report {
    let last = facts.last().map_or(begun, |dated| dated.at);
    let tries = |job: &Job| tries(job, facts);
    let step_lines = |subject: &Subject| -> Vec<StepLine> {
        let line = |job: Job| step_line(run, &job, tries(&job), last);
        run.jobs_of(subject).into_iter().map(line).collect()
    };
    let items: Vec<Line> = run
        .plan
        .items
        .iter()
        .map(|item| {
            let state = run.items.get(&item.id).cloned().unwrap_or_default();
            let word = match (&state.dropped, state.deferred, state.finished, state.begun) {
                (_, true, ..) => "deferred",
                (Some(_), ..) => "dropped",
                (None, false, Some(_), _) => "done",
                (None, false, None, Some(_)) => "in-progress",
                (None, false, None, None) => "waiting",
            };
            Line {
                name: item.id.clone(),
                title: item.title.clone(),
                state: word,
                why: state.dropped,
                begun: state.begun,
                over: state.finished,
                steps: step_lines(&Subject::Item(item.id.clone())),
                spent: run.spent(&item.id),
            }
        })
        .collect();
    let groups: Vec<Line> = groups(&run.plan)
        .into_iter()
        .map(|group| {
            let steps = step_lines(&Subject::Group(group.clone()));
            let all_over =
                steps.iter().all(|step| matches!(step.state, "done" | "skip" | "accepted"));
            let state = match run.groups.get(&group) {
                None => "waiting",
                Some(false) => "dropped",
                Some(true) if all_over => "done",
                Some(true) => "in-progress",
            };
            let all = || steps.iter().flat_map(|step| &step.attempts);
            let (begun, over) = (all().map(|t| t.begun).min(), all().filter_map(|t| t.over).max());
            let spent = steps.iter().fold(Spent::default(), |sum, step| sum.and(step.spent));
            Line { name: group, title: String::new(), state, why: None, begun, over, steps, spent }
        })
        .collect();
    let all_steps = || items.iter().chain(&groups).flat_map(|line| &line.steps);
    let attempts = all_steps().map(|step| step.attempts.len()).sum();
    let retries = all_steps().map(|step| step.attempts.len().saturating_sub(1)).sum();
    let spent = all_steps().fold(Spent::default(), |sum, step| sum.and(step.spent));
    let (standing, why) = match &run.standing {
        Standing::Going => ("going", None),
        Standing::Paused { why } => ("paused", Some(why.clone())),
        Standing::Aborted { why } => ("aborted", Some(why.clone())),
        Standing::Complete => ("complete", None),
    };
    Report {
        run: id.to_owned(),
        workflow: run.workflow.name.clone(),
        standing,
        why,
        begun,
        last,
        seconds: last.duration_since(begun).as_secs(),
        items,
        groups,
        questions: questions(facts),
        attempts,
        retries,
        spent,
    }
}

fn groups(plan: &Plan) -> Vec<String> {
    plan.groups().into_iter().map(ToOwned::to_owned).collect()
}

fn step_line(run: &Run, job: &Job, attempts: Vec<Try>, last: Timestamp) -> StepLine {
    let state = run.job(job);
    let (word, why) = match &state.phase {
        Phase::Todo => ("waiting", String::new()),
        Phase::Trying(_) | Phase::LookAgain { .. } => ("in-progress", String::new()),
        Phase::Resting { until } => ("resting", format!("until {until:.0}")),
        Phase::Exhausted { why, .. } => ("asked", why.clone()),
        Phase::Asked { id } => {
            ("asked", run.questions.get(id).map(|q| q.why.clone()).unwrap_or_default())
        }
        Phase::Over(outcome @ Outcome::Verified { .. }) => ("done", outcome_words(outcome)),
        Phase::Over(outcome) => (outcome.as_str(), outcome_words(outcome)),
    };
    let seconds = |t: &Try| t.over.unwrap_or(last).duration_since(t.begun).as_secs();
    StepLine {
        step: job.step.clone(),
        label: run.step(job).map(|step| step.label.clone()).unwrap_or_default(),
        state: word,
        why,
        seconds: attempts.iter().map(seconds).sum(),
        spent: state.spent,
        attempts,
    }
}

/// All attempts at a step.
fn tries(of: &Job, facts: &[Dated]) -> Vec<Try> {
    let mut tries: Vec<Try> = Vec::new();
    for dated in facts {
        match &dated.fact {
            Fact::Attempted { job, n, agent, .. } if job == of => tries.push(Try {
                n: *n,
                agent: agent.clone(),
                session: None,
                output: None,
                begun: dated.at,
                over: None,
                result: "running",
                why: String::new(),
                spent: Spent::default(),
            }),
            Fact::Spawned { job, n, session } if job == of => {
                if let Some(one) = find(&mut tries, *n) {
                    one.session = Some(session.clone());
                }
            }
            Fact::Ended { job, n, how, output, spent } if job == of => {
                if let Some(one) = find(&mut tries, *n) {
                    one.over = Some(dated.at);
                    one.output.clone_from(output);
                    one.spent = *spent;
                    if let How::Failed { failure, why, .. } = how {
                        (one.result, one.why) = (failure.as_str(), why.clone());
                    }
                }
            }
            Fact::Verified { job, n, evidence } if job == of => {
                if let Some(one) = find(&mut tries, *n) {
                    one.over.get_or_insert(dated.at);
                    (one.result, one.why) = ("verified", evidence.clone());
                }
            }
            Fact::Failed { job, n, failure, why, .. } if job == of => {
                if let Some(one) = find(&mut tries, *n) {
                    one.over.get_or_insert(dated.at);
                    (one.result, one.why) = (failure.as_str(), why.clone());
                }
            }
            Fact::Skipped { job, why } if job == of => {
                if let Some(one) = tries.last_mut().filter(|one| one.result == "running") {
                    one.over.get_or_insert(dated.at);
                    (one.result, one.why) = ("skipped", why.clone());
                }
            }
            _ => {}
        }
    }
    tries
}

fn find(tries: &mut [Try], n: u32) -> Option<&mut Try> {
    tries.iter_mut().rev().find(|one| one.n == n)
}

fn questions(facts: &[Dated]) -> Vec<Asked> {
    let mut asked: Vec<Asked> = Vec::new();
    for dated in facts {
        match &dated.fact {
            Fact::Escalated { id, job, trigger, critical, why } => asked.push(Asked {
                id: id.clone(),
                job: job.clone(),
                trigger: *trigger,
                critical: *critical,
                why: why.clone(),
                at: dated.at,
                answered: None,
                action: None,
                by: None,
            }),
            Fact::Answered { id, action, by, .. } => {
                if let Some(one) = asked.iter_mut().find(|one| one.id == *id) {
                    one.answered = Some(dated.at);
                    (one.action, one.by) = (Some(*action), Some(by.clone()));
                }
            }
            _ => {}
        }
    }
    asked
}
