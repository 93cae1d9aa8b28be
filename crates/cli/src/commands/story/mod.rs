mod log;
mod ls;
mod plan;
mod report;
mod run;
mod status;
mod validate;

use dogwatch_bmad::Project;
use dogwatch_core::workflow::{Dated, Fact, Run};
use dogwatch_engine::workflow::{self, planner};
use dogwatch_engine::{Context, Error};
use dogwatch_store::KeptRun;

use crate::args::{Story, StoryCommand};
use crate::environment;

pub(crate) fn story(context: &Context, args: &Story) -> Result<u8, Error> {
    match &args.command {
        StoryCommand::Plan(args) => plan::plan(context, args),
        StoryCommand::Run(args) => run::run(context, args),
        StoryCommand::Resume(args) => run::resume(context, args),
        StoryCommand::Status(args) => status::status(context, args),
        StoryCommand::Pause(args) => {
            let fact =
                Fact::Paused { by: person(), why: "requested with `dogwatch story pause`".into() };
            status::tell(context, args, fact, "paused")
        }
        StoryCommand::Abort(args) => {
            let fact =
                Fact::Aborted { by: person(), why: "requested with `dogwatch story abort`".into() };
            status::abort(context, args, fact)
        }
        StoryCommand::Ls(args) => ls::ls(context, args),
        StoryCommand::Validate(args) => validate::validate(context, args),
        StoryCommand::Log(args) => log::log(context, args),
        StoryCommand::Report(args) => report::report(context, args),
    }
}

/// The project of this process.
fn here() -> Project {
    Project::from_environment(None)
}

/// A run with its state and all facts.
fn look(context: &Context, id: Option<&str>) -> Result<(KeptRun, Run, Vec<Dated>), Error> {
    let kept = planner::find(context, &environment::project()?, id)?;
    let facts = context.store()?.facts(&kept.id, 0)?;
    let run = workflow::replay(&kept, &facts)?;
    Ok((kept, run, facts))
}

/// The user's name, for the log.
fn person() -> String {
    std::env::var("USER")
        .ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "unknown user".into())
}
