use std::io::IsTerminal;

use dogwatch_core::exit_code;
use dogwatch_engine::observe::snapshot;
use dogwatch_engine::{Context, Error, actions};
use jiff::Timestamp;

use crate::args::KillAll;
use crate::commands::kill;
use crate::usage::UsageError;
use crate::{environment, ui};

pub(crate) fn kill_all(context: &Context, args: &KillAll) -> Result<u8, Error> {
    // Also without sessions, so that a script without --yes fails when it is written and not later.
    if !args.yes && !std::io::stdin().is_terminal() {
        return Err(UsageError::NotConfirmed.into());
    }
    let mut seen = snapshot::look_at_current(context)?;
    if args.project_only {
        let project = environment::project()?;
        seen.retain(|s| snapshot::is_of_project(s, &project));
    }
    if !args.yes && !seen.is_empty() {
        let living = seen.iter().filter(|s| !s.life.state.is_over()).count();
        let question = format!("End {} sessions, {living} of them running?", seen.len());
        if !ui::confirm(&question) {
            return Ok(exit_code::FAILED);
        }
    }
    let results = actions::kill::kill_all(context, &seen, args.now, Timestamp::now())?;
    if !ui::prints_json() && results.is_empty() {
        ui::talk("no sessions");
    }
    Ok(kill::tell(&seen, &results, ui::prints_json()))
}
