use dogwatch_core::exit_code;
use dogwatch_engine::act::kill::{self, By, Killed};
use dogwatch_engine::snapshot::{self, Seen};
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
        .collect::<Result<Vec<Seen>, Error>>()?;
    let results = end_all(context, &seen, args.now);
    Ok(report(&results, args.json))
}

/// Ends sessions side by side: each may take seconds to leave politely.
pub(super) fn end_all<'a>(
    context: &Context,
    seen: &'a [Seen],
    now: bool,
) -> Vec<(&'a Seen, Result<Killed, Error>)> {
    let at = Timestamp::now();
    std::thread::scope(|scope| {
        let ending: Vec<_> = seen
            .iter()
            .map(|one| {
                let end = move || kill::kill(context, one, now, at);
                (one, std::thread::Builder::new().spawn_scoped(scope, end))
            })
            .collect();
        ending
            .into_iter()
            .map(|(one, handle)| {
                let lost =
                    || Err(Error::BadArgument { problem: "the ending was cut short".into() });
                let ended = match handle {
                    Ok(handle) => handle.join().unwrap_or_else(|_| lost()),
                    // No thread to be had: one after the other, then.
                    Err(_) => kill::kill(context, one, now, at),
                };
                (one, ended)
            })
            .collect()
    })
}

/// Tells what became of each; the first failure decides the exit code.
pub(super) fn report(results: &[(&Seen, Result<Killed, Error>)], as_json: bool) -> u8 {
    if as_json {
        let killed: Vec<Value> = results.iter().map(|(seen, r)| to_json(seen, r)).collect();
        ui::json(&json!({ "killed": killed }));
    } else {
        for (seen, result) in results {
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
    let failed = results.iter().find_map(|(_, r)| r.as_ref().err());
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

fn to_json(seen: &Seen, result: &Result<Killed, Error>) -> Value {
    match result {
        Ok(killed) => json!({
            "name": seen.session.name,
            "id": seen.session.id,
            "by": killed.by.word(),
            "exit": killed.ended.as_ref().map(|e| e.exit),
        }),
        Err(error) => json!({
            "name": seen.session.name,
            "id": seen.session.id,
            "error": { "code": error.code(), "message": error.to_string() },
        }),
    }
}
