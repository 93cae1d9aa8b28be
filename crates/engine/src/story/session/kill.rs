//! Ending a session. What it showed is kept for whoever reads it next: until a session of that name is started, or `gc`.

use dogwatch_tmux::{Command, SessionName};
use jiff::Timestamp;

use super::{Place, polls, remains};
use crate::act::kill;
use crate::snapshot;
use crate::{Context, Error};

/// Ends the session of exactly this name, whoever has started it; that there is none is no error. True if there was one.
pub fn kill(context: &Context, place: &Place, name: &str) -> Result<bool, Error> {
    let dashed = name.replace('.', "-");
    let ours = snapshot::look_at_named(context, &dashed)?;
    for seen in &ours {
        kill::kill(context, seen, false, Timestamp::now())?;
    }
    let is_there = if ours.is_empty() { kill_stranger(context, &dashed)? } else { true };
    polls::forget(context, name);
    remains::of_session(place, name);
    Ok(is_there)
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

/// Ends many side by side: each may take seconds to leave politely. Returns how many have ended, and what went wrong.
pub fn kill_all(context: &Context, place: &Place, names: &[String]) -> (usize, Vec<Error>) {
    let results: Vec<Result<bool, Error>> = std::thread::scope(|scope| {
        let begin = |name: &'_ String| {
            let name = name.clone();
            std::thread::Builder::new().spawn_scoped(scope, move || kill(context, place, &name))
        };
        let ending: Vec<_> = names.iter().map(|name| (name, begin(name))).collect();
        let ended = ending.into_iter().filter_map(|(name, handle)| match handle {
            Ok(handle) => handle.join().ok(),
            // No thread to be had: one after the other, then.
            Err(_) => Some(kill(context, place, name)),
        });
        ended.collect()
    });
    let mut errors = Vec::new();
    let mut ended = 0;
    for result in results {
        match result {
            Ok(was_there) => ended += usize::from(was_there),
            Err(error) => errors.push(error),
        }
    }
    (ended, errors)
}
