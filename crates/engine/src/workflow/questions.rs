//! Questions of a run to a person: what is asked, the possible answers, and withdrawing questions.

use dogwatch_core::escalation::{self, Doer, Offer, Situation};
use dogwatch_core::workflow::{Failure, Job, Run, Step, Subject, Verifier, Work};

use crate::actions::escalation as ask;
use crate::observe::agents;
use crate::workflow::run_context::RunContext;
use crate::{Context, Error};

/// Reason for withdrawing the questions of an aborted run.
pub const ABORTED: &str = "the run was aborted";

/// Identifies the question, so that the next driver asks the same one and not a second.
pub(super) fn question_key(run: &str, id: &str) -> String {
    format!("run {run}: {id}")
}

/// Withdraws all open questions of a run.
pub fn close(context: &Context, run: &str, because: &str) -> Result<(), Error> {
    for open in ask::list(context, false)? {
        if open.situation.run.as_deref() == Some(run) {
            ask::withdraw(context, &open.key, because)?;
        }
    }
    Ok(())
}

pub(super) fn escalate(
    ctx: &RunContext<'_>,
    id: &str,
    job: &Job,
    trigger: escalation::Trigger,
    why: &str,
) -> Result<(), Error> {
    let run = ctx.journal.run();
    let state = run.job(job);
    let fact = |(n, failure, why): &(u32, Failure, String)| escalation::Fact {
        name: format!("try {n}"),
        value: format!("{}: {why}", failure.as_str()),
    };
    let recent = state.failures.len().saturating_sub(6);
    let mut facts: Vec<escalation::Fact> = state.failures[recent..].iter().map(fact).collect();
    let output = ctx.output(job, state.attempts);
    if output.exists() {
        facts.push(escalation::Fact { name: "output".into(), value: output.display().to_string() });
    }
    let situation = Situation {
        run: Some(ctx.journal.id.clone()),
        story: Some(match &job.subject {
            Subject::Item(item) => item.clone(),
            Subject::Group(group) => format!("epic {group}"),
        }),
        step: Some(job.step.clone()),
        blocking: run.is_blocking(job),
        facts,
        offer: Some(offer(ctx, &run, job)),
        ..Situation::new(trigger, why)
    };
    let within =
        |(time, option): (jiff::SignedDuration, u32)| Some((time.try_into().ok()?, option));
    let request = ask::Request {
        key: &question_key(&ctx.journal.id, id),
        situation: &situation,
        deadline: ctx.settings.answer_within.and_then(within),
        anew: false,
    };
    ask::raise(ctx.context, &request).map(drop)
}

/// Describes the step to the person who is asked about it.
pub(super) fn offer(ctx: &RunContext<'_>, run: &Run, job: &Job) -> Offer {
    let step = run.step(job);
    let doer = match step.map(|step| &step.work) {
        Some(Work::Agent { .. }) | None => Doer::Agent,
        Some(Work::Command { .. }) => Doer::Command,
        Some(Work::Commit { .. }) => Doer::Commit,
        Some(Work::Merge) => Doer::Merge,
    };
    let is_agent = doer == Doer::Agent;
    Offer {
        doer,
        item: item(ctx, job),
        is_group: matches!(job.subject, Subject::Group(_)),
        agent: Some(run.crew(job).primary).filter(|name| is_agent && !name.is_empty()),
        other_agent: other_than(ctx, run, job).filter(|_| is_agent),
        by_hand: step.and_then(|step| by_hand(ctx, step, job)),
    }
}

/// The name that people use for the job's subject.
fn item(ctx: &RunContext<'_>, job: &Job) -> String {
    match (&job.subject, ctx.settings.is_bmad) {
        (Subject::Item(item), true) => format!("story {item}"),
        (Subject::Item(item), false) => format!("item {item}"),
        (Subject::Group(group), true) => format!("epic {group}"),
        (Subject::Group(group), false) => format!("group {group}"),
    }
}

/// What a person could do by hand so that the step counts as done.
fn by_hand(ctx: &RunContext<'_>, step: &Step, job: &Job) -> Option<String> {
    let n = ctx.journal.run().job(job).attempts;
    let status = |is: &[String]| is.first().map(|word| format!(" to {word}")).unwrap_or_default();
    step.verify.iter().find_map(|verifier| {
        Some(match verifier {
            Verifier::Files { glob, .. } => {
                format!("Create {} by hand", ctx.fill(glob, job, n))
            }
            Verifier::SprintStatus { is } | Verifier::Status { is } => {
                format!("Set the story's status{} in sprint-status.yaml by hand", status(is))
            }
            Verifier::StoryFile { is } => {
                format!("Set the status{} in the story's file by hand", status(is))
            }
            Verifier::Policy if step.is_loop => {
                "Set the story's status to done in sprint-status.yaml by hand".into()
            }
            Verifier::Policy => "Write the story's file by hand".into(),
            Verifier::Build => "Finish the story and set `status: done` in its spec by hand".into(),
            Verifier::Command { run, .. } => {
                format!("Make `{}` succeed by hand", ctx.fill(run, job, n))
            }
            Verifier::Git { .. } | Verifier::SessionExit | Verifier::Output { .. } => return None,
        })
    })
}

/// Another agent for the step that a question is about.
pub(super) fn other_agent(ctx: &RunContext<'_>, run: &Run, id: &str) -> Option<String> {
    other_than(ctx, run, &run.questions.get(id)?.job)
}

/// The fallback; otherwise the other one of claude and codex, if it is installed.
fn other_than(ctx: &RunContext<'_>, run: &Run, job: &Job) -> Option<String> {
    let crew = run.crew(job);
    let is_installed = |name: &&str| {
        let profile = agents::profile(ctx.context, name);
        profile.is_ok_and(|profile| {
            agents::find_program(&profile.program, &ctx.context.path, &ctx.project).is_some()
        })
    };
    crew.fallback.or_else(|| {
        let others = ["claude", "codex"].into_iter().filter(|name| *name != crew.primary);
        others.into_iter().find(is_installed).map(ToOwned::to_owned)
    })
}
