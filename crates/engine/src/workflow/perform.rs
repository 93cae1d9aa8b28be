//! Executes one decision. Each first checks whether it was done already, by a driver that was killed before it could record
//! the result.

use std::collections::BTreeMap;
use std::path::Path;

use dogwatch_base::log::Logged as _;
use dogwatch_core::workflow::state::Attempt;
use dogwatch_core::workflow::{Decision, Fact, Failure, Job, Outcome, Run, Step, Subject, Work};
use jiff::Timestamp;

use super::git::{Aside, GitOutcome, Tree};
use super::questions::escalate;
use super::verify::{self, Asked};
use super::{builds, sessions, stories};
use crate::Error;
use crate::error::{ProjectError, WorkflowError};
use crate::workflow::run_context::RunContext;
use crate::worktree::{Repository, provide, trust};

/// Executes a decision and records the result.
pub(super) fn perform(ctx: &RunContext<'_>, decision: &Decision) -> Result<(), Error> {
    let run = ctx.journal.run();
    let step = |job: &Job| -> Result<Step, Error> {
        run.step(job)
            .cloned()
            .ok_or_else(|| WorkflowError::NoStepOfJob { job: job.to_string() }.into())
    };
    let write = |fact: Fact| ctx.journal.append(fact);
    match decision {
        Decision::Begin { item } => write(begin(ctx, item)?),
        Decision::Skip { job, why } => write(Fact::Skipped { job: job.clone(), why: why.clone() }),
        Decision::Attempt { job, n, agent, model, look_first } => {
            write(attempt(ctx, &step(job)?, job, *n, agent, model.clone(), *look_first)?)
        }
        Decision::Spawn { job, attempt } => write(spawn(ctx, &step(job)?, job, attempt)?),
        Decision::Await { job, n, session } => {
            let step = step(job)?;
            let begun = run.attempt_at(job).unwrap_or_else(Timestamp::now);
            match sessions::wait(ctx, job, *n, session, begun, step.timeout)? {
                Some(how) => {
                    let (output, spent) = sessions::save_output(ctx, session, job, *n);
                    write(Fact::Ended { job: job.clone(), n: *n, how, output, spent })
                }
                None => Ok(()),
            }
        }
        Decision::Verify { job, n, how, output, held } => {
            let (how, output) = (how.as_ref(), output.as_deref());
            let asked = Asked { job, n: *n, how, output, held: *held };
            write(verify::verify(ctx, &step(job)?, &asked).unwrap_or_else(|error| {
                failed(job, *n, Failure::Error, format!("verification failed: {error}"))
            }))
        }
        Decision::Commit { job, attempt } => write(commit(ctx, &step(job)?, job, attempt)?),
        Decision::Merge { job, attempt } => write(merge(ctx, job, attempt)?),
        Decision::Close { job, n, session } => {
            sessions::close(ctx, session)?;
            write(Fact::Closed { job: job.clone(), n: *n })
        }
        Decision::Escalate { id, job, trigger, critical, why } => {
            escalate(ctx, id, job, *trigger, why)?;
            write(Fact::Escalated {
                id: id.clone(),
                job: job.clone(),
                trigger: *trigger,
                critical: *critical,
                why: why.clone(),
            })
        }
        Decision::Defer { job, why } => {
            write(Fact::Deferred { job: job.clone(), why: why.clone() })
        }
        Decision::SetAside { item } => write(set_aside(ctx, &run, item)?),
        Decision::CheckGroup { group } => {
            let (complete, why) = stories::epic_is_complete(ctx, group)?;
            write(Fact::GroupChecked { group: group.clone(), complete, why })
        }
        Decision::Complete => write(Fact::Completed),
        Decision::Rest { .. } | Decision::AwaitAnswer { .. } => Ok(()),
    }
}

fn failed(job: &Job, n: u32, failure: Failure, why: String) -> Fact {
    Fact::Failed {
        job: job.clone(),
        n,
        failure,
        why,
        until: None,
        progress: None,
        not_clean: false,
    }
}

fn begin(ctx: &RunContext<'_>, item: &str) -> Result<Fact, Error> {
    let tree = Tree::of(&ctx.project);
    let base = tree.as_ref().and_then(Tree::head);
    let mut worktree = None;
    if ctx.journal.run().plan.has_worktrees() {
        let none = || Error::Project(ProjectError::NotARepository { path: ctx.project.clone() });
        let tree = tree.as_ref().ok_or_else(none)?;
        let (dir, branch) = ctx.worktree(item);
        let folder = tree.add_worktree(&dir, &branch)?;
        provide(ctx, &dir)?;
        worktree = Some(folder.to_string_lossy().into_owned());
    }
    let before = match tree.filter(|_| worktree.is_none()) {
        Some(tree) => tree.changes()?,
        None => BTreeMap::new(),
    };
    Ok(Fact::Begun { item: item.to_owned(), base, worktree, before })
}

/// Gives the worktree what the project's trusted settings name.
fn provide(ctx: &RunContext<'_>, dir: &Path) -> Result<(), Error> {
    let home = Repository::of(&ctx.project)?;
    let settings = trust::settings(ctx.context, &home.top)?;
    provide::files(&home, dir, &settings)?;
    provide::setup(ctx.context, &home, dir, &ctx.journal.id, &settings, &[])
}

/// Saves the work of an item that was given up on a branch, and restores the tree to its state before the item.
fn set_aside(ctx: &RunContext<'_>, run: &Run, item: &str) -> Result<Fact, Error> {
    let nothing = Fact::SetAside { item: item.to_owned(), branch: None, files: 0, left: vec![] };
    let Some(state) = run.items.get(item) else { return Ok(nothing) };
    let (dir, branch) = ctx.worktree(item);
    let why = state.dropped.as_deref().unwrap_or_default();
    let message = format!("Unfinished work on {item}: {why}\n\nDogwatch-Run: {}", ctx.journal.id);
    let Some(home) = Tree::of(&ctx.project) else { return Ok(nothing) };
    let in_worktree = state.worktree.is_some();
    let Some(tree) = (if in_worktree { Tree::of(&dir) } else { Some(home.clone()) }) else {
        return Ok(nothing);
    };
    let before = if in_worktree { BTreeMap::new() } else { state.before.clone() };
    let Aside { files, left } = tree.set_aside(&branch, &message, &before)?;
    let is_kept = if in_worktree && left.is_empty() {
        home.retire_worktree(&dir, &branch)?
    } else {
        in_worktree || files > 0
    };
    let branch = is_kept.then_some(branch);
    Ok(Fact::SetAside { item: item.to_owned(), branch, files, left })
}

fn attempt(
    ctx: &RunContext<'_>,
    step: &Step,
    job: &Job,
    n: u32,
    agent: &str,
    model: Option<String>,
    look_first: bool,
) -> Result<Fact, Error> {
    let job = job.clone();
    let has_session = step.work.has_session();
    let holds = if has_session { verify::holds(ctx, step, &job)? } else { None };
    if let Some(evidence) = holds.as_ref().filter(|_| look_first) {
        return Ok(Fact::Skipped { job, why: format!("already done: {evidence}") });
    }
    let name = has_session.then(|| sessions::name_for(ctx, &job, step, n)).transpose()?;
    Ok(Fact::Attempted {
        job,
        n,
        agent: agent.to_owned(),
        model,
        name: name.map(|name| name.to_string()),
        held: holds.is_some(),
    })
}

fn spawn(ctx: &RunContext<'_>, step: &Step, job: &Job, attempt: &Attempt) -> Result<Fact, Error> {
    let n = attempt.n;
    match sessions::spawn(ctx, job, step, attempt) {
        Ok(session) => Ok(Fact::Spawned { job: job.clone(), n, session }),
        // dogwatch's own failure, not the session's.
        Err(error @ Error::Store(_)) => Err(error),
        Err(error) => Ok(failed(job, n, Failure::Spawn, error.to_string())),
    }
}

fn commit(ctx: &RunContext<'_>, step: &Step, job: &Job, attempt: &Attempt) -> Result<Fact, Error> {
    let n = attempt.n;
    let Work::Commit { message } = &step.work else {
        return Ok(failed(job, n, Failure::Error, "not a commit".into()));
    };
    let folder = ctx.folder(job);
    let Some(tree) = Tree::of(&folder) else {
        let why = format!("{} is not in a git repository", folder.display());
        return Ok(failed(job, n, Failure::Failed, why));
    };
    let mark = format!("Dogwatch-Run: {} {job}", ctx.journal.id);
    let before = if folder == ctx.project { ctx.settings.dirty.clone() } else { BTreeMap::new() };
    if let (Some(item), true) = (job.item(), ctx.settings.is_bmad)
        && !tree.is_committed(&mark)?
    {
        if ctx.journal.run().workflow.builds_itself() {
            builds::finish(ctx, job, &folder)?;
        } else {
            stories::finish(ctx, &folder, item);
        }
    }
    Ok(match tree.commit(&ctx.fill(message, job, n), &mark, &before)? {
        GitOutcome::Done(sha) => {
            let without = tree.left_out().logged("run git").unwrap_or_default();
            let evidence = if without.is_empty() {
                sha
            } else {
                format!("{sha}, without {}", without.join(", "))
            };
            Fact::Verified { job: job.clone(), n, evidence }
        }
        GitOutcome::Nothing => {
            let without = tree.left_out().logged("run git").unwrap_or_default();
            let nothing = "nothing to commit";
            let why = if without.is_empty() {
                nothing.to_owned()
            } else {
                format!("{nothing} besides {}", without.join(", "))
            };
            Fact::Skipped { job: job.clone(), why }
        }
        GitOutcome::Failed(why) => failed(job, n, Failure::Failed, why),
    })
}

fn merge(ctx: &RunContext<'_>, job: &Job, attempt: &Attempt) -> Result<Fact, Error> {
    let (n, item) = (attempt.n, job.subject.name());
    let tree = Tree::of(&ctx.project).ok_or_else(|| {
        Error::Project(ProjectError::NotARepository { path: ctx.project.clone() })
    })?;
    let (dir, branch) = ctx.worktree(item);
    let message = ctx.fill("Merge story {item}: {title}", job, n);
    let commits = commits_of(&ctx.journal.run(), &job.subject);
    let scratch = dir.with_file_name(format!(".combine-{item}"));
    Ok(match tree.merge(&branch, &commits, &message, &scratch, stories::merge_rows)? {
        GitOutcome::Failed(why) => failed(job, n, Failure::Failed, why),
        went => {
            tree.remove_worktree(&dir, &branch)?;
            let evidence = match went {
                GitOutcome::Done(sha) => sha,
                _ => "nothing to merge".into(),
            };
            Fact::Verified { job: job.clone(), n, evidence }
        }
    })
}

/// Commits that are known to be on the item's branch.
fn commits_of(run: &Run, subject: &Subject) -> Vec<String> {
    let made = |job: Job| match run.job(&job).outcome() {
        Some(Outcome::Verified { evidence })
            if matches!(run.step(&job)?.work, Work::Commit { .. }) =>
        {
            let sha = evidence.split([',', ' ']).next()?;
            Some(sha.to_owned())
        }
        _ => None,
    };
    run.jobs_of(subject).into_iter().filter_map(made).collect()
}
