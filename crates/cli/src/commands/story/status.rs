use dogwatch_core::exit_code;
use dogwatch_core::workflow::page::length;
use dogwatch_core::workflow::report::StepLine;
use dogwatch_core::workflow::{Dated, Decision, Fact, Report, report};
use dogwatch_engine::error::WorkflowError;
use dogwatch_engine::workflow::{self, planner};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::run::{RunStatus, ToldRun};
use jiff::Timestamp;

use super::here;
use crate::args::StoryOne;
use crate::{environment, ui};

pub(super) fn status(context: &Context, args: &StoryOne) -> Result<u8, Error> {
    let (kept, run, facts) = super::look(context, args.run.as_deref())?;
    let report = report(&kept.id, kept.begun, &run, &facts);
    let attended = kept.over.is_none() && workflow::is_attended(context, &kept.project);
    let next: Vec<String> = run.next(Timestamp::now()).iter().map(Decision::key).collect();
    if ui::prints_json() {
        ui::json(&RunStatus { report, attended, next });
        return Ok(exit_code::OK);
    }
    let standing = match (report.standing, attended) {
        ("going", true) => "running",
        ("going", false) => "unfinished but not running; `dogwatch story resume` continues it",
        ("paused", false) => "paused; `dogwatch story resume` continues it",
        (standing, _) => standing,
    };
    ui::line(format_args!("run {} is {standing}", report.run));
    ui::line(table(&report));
    for question in report.questions.iter().filter(|q| q.answered.is_none()) {
        let why = ui::harmless(question.why.clone()).replace('\n', " · ");
        ui::line(format_args!("decision needed: {}: {why}", question.job));
    }
    for one in dogwatch_engine::actions::escalation::list(context, false)? {
        let is_ours = one.situation.run.as_deref() == Some(kept.id.as_str());
        if is_ours && one.situation.dialog.is_some() {
            let headline = ui::harmless(one.situation.headline());
            ui::line(format_args!("permission needed: {headline} (escalation {})", one.number));
        }
    }
    Ok(exit_code::OK)
}

fn table(report: &Report) -> crate::table::Table {
    let mut table = ui::table(&["STORY", "STATE", "STEP", "ATTEMPTS", "TIME", "TOKENS", "WHY"]);
    for (name, line) in report.lines() {
        // The step that is not over, or the last one.
        let open = |s: &&StepLine| !matches!(s.state, "done" | "skip" | "accepted" | "dropped");
        let step = line.steps.iter().find(open).or(line.steps.last());
        let (label, why) = match (line.state, step) {
            ("done" | "waiting", _) | (_, None) => (String::new(), String::new()),
            (_, Some(step)) => (step.label.clone(), step.why.clone()),
        };
        let attempts: usize = line.steps.iter().map(|step| step.attempts.len()).sum();
        let seconds: i64 = line.steps.iter().map(|step| step.seconds).sum();
        let why = line.why.clone().unwrap_or(why);
        table.row([
            name.into(),
            line.state.into(),
            label.into(),
            attempts.to_string().into(),
            length(seconds).into(),
            line.spent.tokens().to_string().into(),
            ui::harmless(why).replace('\n', " · ").into(),
        ]);
    }
    table
}

/// Records a person's request; the driver sees it immediately.
pub(super) fn tell(
    context: &Context,
    args: &StoryOne,
    fact: Fact,
    word: &str,
) -> Result<u8, Error> {
    let kept = planner::find(context, &environment::project()?, args.run.as_deref())?;
    if kept.over.is_some() {
        return Err(WorkflowError::RunHasEnded { id: kept.id.to_string() }.into());
    }
    context.store()?.append_fact(&kept.id, &Dated { at: Timestamp::now(), fact })?;
    context.state.tell_news(&kept.id);
    if ui::prints_json() {
        ui::json(&ToldRun { run: kept.id, told: word.to_owned() });
    } else {
        ui::line(format_args!("run {}: {word}", kept.id));
    }
    Ok(exit_code::OK)
}

/// Ends the run, and its sessions too if no driver is running.
pub(super) fn abort(context: &Context, args: &StoryOne, fact: Fact) -> Result<u8, Error> {
    let code = tell(context, args, fact, "aborted")?;
    let kept = planner::find(context, &environment::project()?, args.run.as_deref())?;
    // First, so that it happens even if its sessions cannot be ended.
    workflow::questions::close(context, &kept.id, workflow::questions::ABORTED)?;
    let stop = std::sync::atomic::AtomicBool::new(false);
    let terms = workflow::RunOptions {
        home: here(),
        caller_env: vec![],
        wait_for_answers: false,
        stop: &stop,
        tell: &|_, _| (),
    };
    match workflow::drive(context, &kept, &terms) {
        Ok(_) | Err(Error::Workflow(WorkflowError::RunIsAttended { .. })) => Ok(code),
        Err(error) => Err(error),
    }
}
