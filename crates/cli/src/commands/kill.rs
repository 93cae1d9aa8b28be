use dogwatch_core::exit_code;
use dogwatch_engine::actions::kill::{self, By, Killed};
use dogwatch_engine::observe::snapshot::{self, SessionSnapshot};
use dogwatch_engine::{Context, Error};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::args::Kill;
use crate::ui;

pub(crate) fn kill(context: &Context, args: &Kill) -> Result<u8, Error> {
    // All are looked up before any is ended: a mistyped name changes nothing.
    let seen = args
        .sessions
        .iter()
        .map(|target| snapshot::find(context, target))
        .collect::<Result<Vec<SessionSnapshot>, Error>>()?;
    let results = kill::kill_all(context, &seen, args.now, Timestamp::now())?;
    Ok(report(&seen, &results, args.json))
}

/// Tells what became of each; the first failure decides the exit code.
pub(super) fn report(
    seen: &[SessionSnapshot],
    results: &[Result<Killed, Error>],
    as_json: bool,
) -> u8 {
    if as_json {
        let killed: Vec<Value> =
            seen.iter().zip(results).map(|(seen, r)| to_json(seen, r)).collect();
        ui::json(&json!({ "killed": killed }));
    } else {
        for (seen, result) in seen.iter().zip(results) {
            match result {
                Ok(killed) => {
                    ui::line(format_args!("{}: {}", seen.session.name, words(killed)));
                    if let Some(why) = &killed.not_noted {
                        ui::talk(format_args!("note: it could not be written down: {why}"));
                    }
                }
                Err(error) => ui::talk(format_args!("{}: {error}", seen.session.name)),
            }
        }
    }
    let failed = results.iter().find_map(|result| result.as_ref().err());
    failed.map_or(exit_code::OK, Error::exit_code)
}

/// What ended it, for people.
pub(super) fn by(by: By) -> &'static str {
    match by {
        By::Nobody => "had ended before",
        By::ItsOwnExit => "left by its own exit",
        By::Term => "ended by TERM",
        By::Kill => "ended by KILL",
    }
}

pub(super) fn words(killed: &Killed) -> String {
    let how = by(killed.by);
    match &killed.ended {
        Some(ended) => format!("{how} ({})", ui::exit(ended.exit)),
        None => format!("{how} (nobody recorded its end)"),
    }
}

fn to_json(seen: &SessionSnapshot, result: &Result<Killed, Error>) -> Value {
    match result {
        Ok(killed) => json!({
            "name": seen.session.name,
            "id": seen.session.id,
            "by": killed.by.as_str(),
            "exit": killed.ended.as_ref().map(|e| e.exit),
        }),
        Err(error) => json!({
            "name": seen.session.name,
            "id": seen.session.id,
            "error": { "code": error.code(), "message": error.to_string() },
        }),
    }
}
