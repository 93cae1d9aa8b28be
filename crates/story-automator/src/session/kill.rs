//! Ends sessions. Their output is kept until a session of that name is started, or until `gc`.

use dogwatch_tmux::{Command, SessionName};
use jiff::Timestamp;

use super::{Place, polls, remains};
use dogwatch_engine::actions::kill;
use dogwatch_engine::observe::snapshot;
use dogwatch_engine::{Context, Error};

/// Ends the session of exactly this name, managed or not; a missing one is not an error. True if there was one.
pub fn kill(context: &Context, place: &Place, name: &str) -> Result<bool, Error> {
    kill_each(context, place, &[name.to_owned()]).pop().unwrap_or(Ok(false))
}

/// The same for many, in parallel.
fn kill_each(context: &Context, place: &Place, names: &[String]) -> Vec<Result<bool, Error>> {
    let mut all = Vec::new();
    let mut found = Vec::new();
    for name in names {
        found.push(snapshot::look_at_named(context, &name.replace('.', "-")).map(|ours| {
            let count = ours.len();
            all.extend(ours);
            count
        }));
    }
    let mut ended = match kill::kill_all(context, &all, false, Timestamp::now()) {
        Ok(ended) => ended.into_iter(),
        Err(error) => return vec![Err(error)],
    };
    let finish = |(name, found): (&String, Result<usize, Error>)| {
        let count = found?;
        // Report an error after trying all of them.
        let mut all = Ok(());
        for one in ended.by_ref().take(count) {
            all = all.and(one.map(drop));
        }
        all?;
        let is_there = count > 0 || kill_stranger(context, &name.replace('.', "-"))?;
        polls::forget(context, name);
        remains::of_session(place, name);
        Ok(is_there)
    };
    names.iter().zip(found).map(finish).collect()
}

fn kill_stranger(context: &Context, name: &str) -> Result<bool, Error> {
    let Ok(name) = SessionName::new(name) else { return Ok(false) };
    match context.tmux.run_one(Command::new("kill-session").target(&name)) {
        Ok(_) => Ok(true),
        Err(dogwatch_tmux::Error::NotFound { .. }) => Ok(false),
        Err(error) if error.is_no_server() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Ends many in parallel: each may take seconds to exit. Returns how many have ended, and the errors.
pub fn kill_all(context: &Context, place: &Place, names: &[String]) -> (usize, Vec<Error>) {
    let mut errors = Vec::new();
    let mut ended = 0;
    for result in kill_each(context, place, names) {
        match result {
            Ok(was_there) => ended += usize::from(was_there),
            Err(error) => errors.push(error),
        }
    }
    (ended, errors)
}
