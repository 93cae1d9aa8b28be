//! One decision, carried out. Each begins by looking whether it was carried out before, by somebody who was killed before they
//! could say so.

use std::collections::BTreeMap;

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

/// Carries a decision out and writes down what came of it.
pub(super) fn perform(site: &RunContext<'_>, decision: &Decision) -> Result<(), Error> {
    let run = site.journal.run();
    let step = |job: &Job| -> Result<Step, Error> {
        run.step(job)
            .cloned()
            .ok_or_else(|| WorkflowError::NoStepOfJob { job: job.to_string() }.into())
    };
    let write = |fact: Fact| site.journal.append(fact);
    match decision {
        Decision::Begin { item } => write(begin(site, item)?),
        Decision::Skip { job, why } => write(Fact::Skipped { job: job.clone(), why: why.clone() }),
        Decision::Attempt { job, n, agent, model, look_first } => {
            write(attempt(site, &step(job)?, job, *n, agent, model.clone(), *look_first)?)
        }
        Decision::Spawn { job, attempt } => write(spawn(site, &step(job)?, job, attempt)?),
        Decision::Await { job, n, session } => {
            let step = step(job)?;
            let begun = run.attempt_at(job).unwrap_or_else(Timestamp::now);
            match sessions::wait(site, job, *n, session, begun, step.timeout)? {
                Some(how) => {
                    let (output, spent) = sessions::hear(site, session, job, *n);
                    write(Fact::Ended { job: job.clone(), n: *n, how, output, spent })
                }
                None => Ok(()),
            }
        }
        Decision::Verify { job, n, how, output, held } => {
            let (how, output) = (how.as_ref(), output.as_deref());
            let asked = Asked { job, n: *n, how, output, held: *held };
            write(verify::verify(site, &step(job)?, &asked).unwrap_or_else(|error| {
                failed(job, *n, Failure::Error, format!("verification failed: {error}"))
            }))
        }
        Decision::Commit { job, attempt } => write(commit(site, &step(job)?, job, attempt)?),
        Decision::Merge { job, attempt } => write(merge(site, job, attempt)?),
        Decision::Close { job, n, session } => {
            sessions::close(site, session)?;
            write(Fact::Closed { job: job.clone(), n: *n })
        }
        Decision::Escalate { id, job, trigger, critical, why } => {
            escalate(site, id, job, *trigger, why)?;
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
        Decision::SetAside { item } => write(set_aside(site, &run, item)?),
        Decision::CheckGroup { group } => {
            let (complete, why) = stories::epic_is_complete(site, group)?;
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

fn begin(site: &RunContext<'_>, item: &str) -> Result<Fact, Error> {
    let tree = Tree::of(&site.project);
    let base = tree.as_ref().and_then(Tree::head);
    let mut worktree = None;
    if site.journal.run().plan.has_worktrees() {
        let none = || Error::Project(ProjectError::NotARepository { path: site.project.clone() });
        let tree = tree.as_ref().ok_or_else(none)?;
        let (dir, branch) = site.worktree(item);
        let folder = tree.add_worktree(&dir, &branch)?;
        worktree = Some(folder.to_string_lossy().into_owned());
    }
    let before = match tree.filter(|_| worktree.is_none()) {
        Some(tree) => tree.changes()?,
        None => BTreeMap::new(),
    };
    Ok(Fact::Begun { item: item.to_owned(), base, worktree, before })
}

/// Keeps what an item that was given up has left, and leaves the tree as it was when the item began.
fn set_aside(site: &RunContext<'_>, run: &Run, item: &str) -> Result<Fact, Error> {
    let nothing = Fact::SetAside { item: item.to_owned(), branch: None, files: 0, left: vec![] };
    let Some(state) = run.items.get(item) else { return Ok(nothing) };
    let (dir, branch) = site.worktree(item);
    let why = state.dropped.as_deref().unwrap_or_default();
    let message = format!("Unfinished work on {item}: {why}\n\nDogwatch-Run: {}", site.journal.id);
    let Some(home) = Tree::of(&site.project) else { return Ok(nothing) };
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
    site: &RunContext<'_>,
    step: &Step,
    job: &Job,
    n: u32,
    agent: &str,
    model: Option<String>,
    look_first: bool,
) -> Result<Fact, Error> {
    let job = job.clone();
    let has_session = step.work.has_session();
    let holds = if has_session { verify::holds(site, step, &job)? } else { None };
    if let Some(evidence) = holds.as_ref().filter(|_| look_first) {
        return Ok(Fact::Skipped { job, why: format!("already done: {evidence}") });
    }
    let name = has_session.then(|| sessions::name_for(site, &job, step, n)).transpose()?;
    Ok(Fact::Attempted {
        job,
        n,
        agent: agent.to_owned(),
        model,
        name: name.map(|name| name.to_string()),
        held: holds.is_some(),
    })
}

fn spawn(site: &RunContext<'_>, step: &Step, job: &Job, attempt: &Attempt) -> Result<Fact, Error> {
    let n = attempt.n;
    match sessions::spawn(site, job, step, attempt) {
        Ok(session) => Ok(Fact::Spawned { job: job.clone(), n, session }),
        // Ours, not the session's.
        Err(error @ Error::Store(_)) => Err(error),
        Err(error) => Ok(failed(job, n, Failure::Spawn, error.to_string())),
    }
}

fn commit(site: &RunContext<'_>, step: &Step, job: &Job, attempt: &Attempt) -> Result<Fact, Error> {
    let n = attempt.n;
    let Work::Commit { message } = &step.work else {
        return Ok(failed(job, n, Failure::Error, "not a commit".into()));
    };
    let folder = site.folder(job);
    let Some(tree) = Tree::of(&folder) else {
        let why = format!("{} is not in a git repository", folder.display());
        return Ok(failed(job, n, Failure::Failed, why));
    };
    let mark = format!("Dogwatch-Run: {} {job}", site.journal.id);
    let before = if folder == site.project { site.settings.dirty.clone() } else { BTreeMap::new() };
    if let (Some(item), true) = (job.item(), site.settings.is_bmad)
        && !tree.is_committed(&mark)?
    {
        if site.journal.run().workflow.builds_itself() {
            builds::finish(site, job, &folder)?;
        } else {
            stories::finish(site, &folder, item);
        }
    }
    Ok(match tree.commit(&site.fill(message, job, n), &mark, &before)? {
        GitOutcome::Well(sha) => {
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
        GitOutcome::Badly(why) => failed(job, n, Failure::Failed, why),
    })
}

fn merge(site: &RunContext<'_>, job: &Job, attempt: &Attempt) -> Result<Fact, Error> {
    let (n, item) = (attempt.n, job.subject.name());
    let tree = Tree::of(&site.project).ok_or_else(|| {
        Error::Project(ProjectError::NotARepository { path: site.project.clone() })
    })?;
    let (dir, branch) = site.worktree(item);
    let message = site.fill("Merge story {item}: {title}", job, n);
    let commits = commits_of(&site.journal.run(), &job.subject);
    Ok(match tree.merge(&branch, &commits, &message, stories::mend)? {
        GitOutcome::Badly(why) => failed(job, n, Failure::Failed, why),
        went => {
            tree.remove_worktree(&dir, &branch);
            let evidence = match went {
                GitOutcome::Well(sha) => sha,
                _ => "nothing to merge".into(),
            };
            Fact::Verified { job: job.clone(), n, evidence }
        }
    })
}

/// Commits that are known to be on the branch of an item.
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
