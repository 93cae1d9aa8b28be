use dogwatch_core::exit_code;
use dogwatch_engine::error::WorkflowError;
use dogwatch_engine::workflow::{self, planner};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::run::Validation;

use super::plan;
use crate::args::{StoryValidate, StoryWhat};
use crate::{environment, ui};

pub(super) fn validate(context: &Context, args: &StoryValidate) -> Result<u8, Error> {
    let project = environment::project()?;
    let newest = match planner::find(context, &project, args.run.as_deref()) {
        Ok(kept) => Some(kept),
        Err(Error::Workflow(WorkflowError::NoRun { .. })) => None,
        Err(error) => return Err(error),
    };
    let is_asked_for = args.run.is_none() && (args.new || names_anything(&args.what));
    let issues = match newest {
        Some(kept) if !is_asked_for => workflow::validate(context, &kept)?,
        _ => {
            let mut found = planner::refusals(context, &project, &plan::wanted(&args.what, None)?)?;
            // An invalid workflow file has its own error, with line and column.
            if let Some(at) = found
                .iter()
                .position(|one| matches!(one, Error::Workflow(WorkflowError::BadWorkflow(_))))
            {
                return Err(found.swap_remove(at));
            }
            found.iter().map(in_words).collect()
        }
    };
    if ui::prints_json() {
        ui::json(&Validation { ok: issues.is_empty(), issues: issues.clone() });
    } else if issues.is_empty() {
        ui::line("valid");
    } else {
        for issue in &issues {
            ui::line(ui::harmless(issue.clone()));
        }
    }
    Ok(if issues.is_empty() { exit_code::OK } else { exit_code::FAILED })
}

/// Whether the command line says what to run.
fn names_anything(what: &StoryWhat) -> bool {
    what.workflow.is_some()
        || what.epic.is_some()
        || what.stories.is_some()
        || what.agent.is_some()
        || what.fallback.is_some()
        || !what.agent_for.is_empty()
        || what.max_parallel > 1
}

fn in_words(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}
