use dogwatch_core::exit_code;
use dogwatch_engine::actions::kill::{self, By, Killed};
use dogwatch_engine::observe::snapshot::{self, SessionSnapshot};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::error::ErrorKind;
use dogwatch_protocol::session::{KillResult, KilledSession, KilledSessions};
use jiff::Timestamp;

use crate::args::Kill;
use crate::{report, ui};

pub(crate) fn kill(context: &Context, args: &Kill) -> Result<u8, Error> {
    // Find all before ending any: a mistyped name must change nothing.
    let seen = args
        .sessions
        .iter()
        .map(|target| snapshot::find(context, target))
        .collect::<Result<Vec<SessionSnapshot>, Error>>()?;
    let results = kill::kill_all(context, &seen, args.now, Timestamp::now())?;
    Ok(tell(&seen, &results, ui::prints_json()))
}

/// Prints the result for each; the first failure decides the exit code.
pub(super) fn tell(
    seen: &[SessionSnapshot],
    results: &[Result<Killed, Error>],
    as_json: bool,
) -> u8 {
    if as_json {
        let killed = seen.iter().zip(results).map(|(seen, result)| shape(seen, result)).collect();
        ui::json(&KilledSessions { killed });
    } else {
        for (seen, result) in seen.iter().zip(results) {
            match result {
                Ok(killed) => {
                    ui::line(format_args!("{}: {}", seen.session.name, words(killed)));
                    if let Some(why) = &killed.not_noted {
                        let name = &seen.session.name;
                        ui::talk(format_args!(
                            "error: {name} has ended, and this could not be recorded: {why}"
                        ));
                    }
                }
                Err(error) => ui::talk(format_args!("{}: {error}", seen.session.name)),
            }
        }
    }
    let failed = |result: &Result<Killed, Error>| match result {
        // It did what it is for; what others read of it is wrong all the same.
        Ok(killed) => killed.not_noted.is_some().then(|| ErrorKind::Store.exit_code()),
        Err(error) => Some(error.exit_code()),
    };
    results.iter().find_map(failed).unwrap_or(exit_code::OK)
}

/// What ended it, for people.
pub(super) fn by(by: By) -> &'static str {
    match by {
        By::AlreadyEnded => "already ended",
        By::OwnExit => "exited cleanly",
        By::Term => "ended by TERM",
        By::Kill => "ended by KILL",
    }
}

pub(super) fn words(killed: &Killed) -> String {
    let how = by(killed.by);
    match &killed.ended {
        Some(ended) => format!("{how} ({})", ui::exit(ended.exit)),
        // Nobody saw how: the keys were pressed, and then it was gone.
        None if killed.by == By::OwnExit => {
            "ended by its own exit keys (no exit record)".to_owned()
        }
        None => format!("{how} (no exit record)"),
    }
}

fn shape(seen: &SessionSnapshot, result: &Result<Killed, Error>) -> KilledSession {
    let result = match result {
        Ok(killed) => {
            let exit = killed.ended.as_ref().map(|ended| ended.exit);
            KillResult::Ended { by: killed.by, exit, not_recorded: killed.not_noted.clone() }
        }
        Err(error) => KillResult::Failed { error: report::detail(error) },
    };
    KilledSession { name: seen.session.name.clone(), id: seen.session.id.clone(), result }
}
