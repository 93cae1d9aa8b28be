use dogwatch_core::exit_code;
use dogwatch_core::workflow::{Dated, Fact, How, Run};
use dogwatch_engine::observe::changes::Changes;
use dogwatch_engine::workflow::{self, RunOptions, RunOutcome, planner};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::run::{BegunRun, LeftRun};
use dogwatch_store::KeptRun;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::here;
use super::plan;
use crate::args::{StoryResume, StoryRun};
use crate::{environment, interrupt, ui};

pub(super) fn run(context: &Context, args: &StoryRun) -> Result<u8, Error> {
    let project = environment::project()?;
    let answer = args.answer_within.zip(args.default_option);
    let wanted = plan::wanted(&args.what, answer)?;
    if args.dry_run {
        let wanted = planner::Wanted { allow_dirty: true, only_plans: true, ..wanted };
        plan::show(&planner::plan(context, &project, &wanted)?);
        return Ok(exit_code::OK);
    }
    let planned = planner::prepare(context, &project, &wanted)?;
    for note in &planned.notes {
        ui::talk(format_args!("note: {note}"));
    }
    let kept = planner::begin(context, &planned)?;
    carry_on(context, &kept, args.no_wait)
}

pub(super) fn resume(context: &Context, args: &StoryResume) -> Result<u8, Error> {
    let project = environment::project()?;
    let kept = workflow::to_resume(context, &project, args.run.as_deref(), &here())?;
    let fact = Fact::Resumed { by: super::person() };
    context.store()?.append_fact(&kept.id, &Dated { at: Timestamp::now(), fact })?;
    carry_on(context, &kept, args.no_wait)
}

fn carry_on(context: &Context, kept: &KeptRun, no_wait: bool) -> Result<u8, Error> {
    let level = workflow::Settings::of(kept)?.permissions;
    if ui::prints_json() {
        ui::json(&BegunRun {
            run: kept.id.clone(),
            workflow: kept.workflow.clone(),
            project: ui::path(&kept.project),
            permissions: level,
        });
    } else {
        ui::line(format_args!("run {}", kept.id));
        ui::line(plan::permissions(level));
    }
    let waker = Changes::<()>::new().waker();
    let stop = interrupt::flag(move || waker.wake())?;
    let terms = RunOptions {
        home: here(),
        caller_env: std::env::vars_os().collect(),
        wait_for_answers: !no_wait,
        stop: &stop,
        tell: &tell,
    };
    let left = workflow::drive(context, kept, &terms)?;
    let (word, why, code) = match &left {
        RunOutcome::Complete => ("complete", String::new(), exit_code::OK),
        RunOutcome::Aborted { why } => ("aborted", why.clone(), exit_code::FAILED),
        RunOutcome::Paused { why } => ("paused", why.clone(), exit_code::CONFLICT),
        RunOutcome::Asked => ("asked", "a decision is needed".into(), exit_code::CONFLICT),
        RunOutcome::Stopped => ("stopped", "its sessions go on".into(), exit_code::CONFLICT),
    };
    if ui::prints_json() {
        ui::json(&LeftRun { run: kept.id.clone(), left: word.to_owned(), why });
        return Ok(code);
    }
    match &left {
        RunOutcome::Asked => ui::line(format_args!("run {} is waiting for your decision", kept.id)),
        RunOutcome::Stopped => {
            ui::line(format_args!("run {} is stopped; its sessions keep running", kept.id));
        }
        _ if why.is_empty() => ui::line(format_args!("run {} is {word}", kept.id)),
        _ => ui::line(format_args!("run {} is {word}: {why}", kept.id)),
    }
    if matches!(left, RunOutcome::Asked) {
        ui::talk("hint: answer with `dogwatch escalations`, then run `dogwatch story resume`");
    } else if code == exit_code::CONFLICT {
        ui::talk("hint: to continue: dogwatch story resume");
    }
    Ok(code)
}

fn tell(run: &Run, dated: &Dated) {
    if ui::prints_json() {
        ui::json(&super::log::shape(dated));
    } else if let Some(words) = words(run, &dated.fact) {
        let time = dated.at.to_zoned(TimeZone::system()).strftime("%H:%M:%S");
        ui::line(format_args!("{time}  {}", ui::harmless(words).replace('\n', " · ")));
    }
}

/// A fact as a line of the log; `None` for facts that only matter to the program.
pub(super) fn words(run: &Run, fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::Begun { item, worktree, .. } => {
            let title = run.plan.item(item).map(|item| item.title.clone()).unwrap_or_default();
            let place = worktree.as_ref().map(|dir| format!(" in {dir}")).unwrap_or_default();
            format!("{item}: started: {title}{place}")
        }
        Fact::Skipped { job, why } => format!("{job}: skipped: {why}"),
        Fact::Attempted { job, n, agent, .. } => {
            let who = if agent.is_empty() { String::new() } else { format!(" with {agent}") };
            let again = if *n > 1 { format!(" (attempt {n})") } else { String::new() };
            format!("{job}: started{who}{again}")
        }
        Fact::Ended { job, how: How::Finished, spent, .. } => {
            let tokens = if spent.tokens() > 0 {
                format!(", {} tokens", spent.tokens())
            } else {
                String::new()
            };
            format!("{job}: ended{tokens}")
        }
        Fact::Ended { job, how: How::Failed { failure, why, .. }, .. } => {
            format!("{job}: ended: {}: {why}", failure.as_str())
        }
        Fact::Verified { job, evidence, .. } => format!("{job}: verified: {evidence}"),
        Fact::Failed { job, failure, why, .. } => {
            format!("{job}: not done: {}: {why}", failure.as_str())
        }
        Fact::Escalated { job, trigger, critical, why, .. } => {
            let kind = if *critical { "decision needed" } else { "decision requested" };
            format!("{job}: {kind}: {}: {why}", trigger.title())
        }
        Fact::Answered { id, action, by, .. } => format!("{id}: {by} chose: {}", action.as_str()),
        Fact::SetAside { item, branch, files, left } => {
            let words = dogwatch_core::workflow::aside_words(branch.as_deref(), *files, left)?;
            format!("{item}: {words}")
        }
        Fact::Deferred { job, why } => format!("{job}: story deferred: {why}"),
        Fact::GroupChecked { group, complete: true, .. } => format!("epic {group}: complete"),
        Fact::GroupChecked { group, complete: false, why } => {
            format!("epic {group}: not complete: {why}")
        }
        Fact::Paused { by, why } => format!("paused by {by}: {why}"),
        Fact::Resumed { by } => format!("resumed by {by}"),
        Fact::Aborted { by, why } => format!("aborted by {by}: {why}"),
        Fact::Completed => "run complete".into(),
        Fact::Spawned { .. } | Fact::Closed { .. } => return None,
    })
}
