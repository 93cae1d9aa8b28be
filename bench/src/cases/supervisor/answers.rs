use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::program::{Place, Program};
use crate::child::{self, Done};
use crate::claude;
use crate::error::Error;
use crate::race::{Contestant, race};
use crate::report::{Goal, Group, Target};
use crate::world::World;

const ONE: &str = "dogwatch status NAME";
const ALL: &str = "dogwatch status";
const LINE: &str = "dogwatch tmux-status";
const LIST: &str = "dogwatch ls";

/// Answers, with so many sessions on the server. Every answer that is timed is checked: it names all sessions.
pub(crate) fn answers(world: &World, sessions: usize, rounds: usize) -> Result<Group, Error> {
    claude::fill_up_to(world, sessions)?;
    let names = world.names()?;
    let name = names.into_iter().find(|name| name.starts_with("idle-")).unwrap_or_default();
    let place = Place::of(world)?;
    supervisor_lists(&place, sessions)?;
    let aside = place.path.with_extension("aside");
    let timed = |words: &[&str], check: fn(&str, usize) -> bool, count: usize| {
        let mut command = world.dogwatch(words);
        move || timed(&mut command, |text| check(text, count))
    };
    let asks = |title: &str, words: &[&str], check, count| {
        Contestant::new(title, timed(words, check, count))
    };
    let looks = |words: &[&str], check, count| {
        let (mut time, socket, aside) = (timed(words, check, count), &place.path, &aside);
        Contestant::new(format!("dogwatch {}, by itself", words[0]), move || {
            // Where the socket is not found, a command looks by itself.
            let moved = fs::rename(socket, aside);
            let took = time();
            moved.and_then(|()| fs::rename(aside, socket)).map_err(Error::io("move a socket"))?;
            took
        })
    };
    let mut bare = world.tmux(["display-message", "-p", "x"]);
    let mut contestants = vec![
        Contestant::new("tmux display-message", move || Ok(child::run(&mut bare)?.success()?.took)),
        asks(ONE, &["status", &name], has_rows, 1),
        asks(LIST, &["ls"], has_rows, sessions),
        asks(LINE, &["tmux-status"], has_count, sessions),
        asks(ALL, &["status"], has_rows, sessions),
        asks("dogwatch status --json", &["status", "--json"], is_json_of, sessions),
        looks(&["ls"], has_rows, sessions),
        looks(&["tmux-status"], has_count, sessions),
    ];
    if sessions <= 200 {
        contestants.push(looks(&["status"], has_rows, sessions));
    }
    let most = if sessions > 200 { 15.0 } else { 6.0 };
    let mut targets = vec![Target { runner: ALL, goal: Goal::Milliseconds(most) }];
    if sessions <= 200 {
        targets.extend([
            Target { runner: ONE, goal: Goal::Ratio(1.3) },
            Target { runner: LIST, goal: Goal::Ratio(1.3) },
            Target { runner: LINE, goal: Goal::Milliseconds(3.0) },
        ]);
    }
    let runners = race(world, contestants, rounds)?;
    // It has answered throughout, and is the same one.
    if Place::of(world)?.pid != place.pid {
        return Err(Error::Wrong { what: "the supervisor", found: "another one".to_owned() });
    }
    supervisor_lists(&place, sessions)?;
    Ok(Group { title: format!("asking the supervisor, {sessions} sessions"), runners, targets })
}

/// What it says at its socket, without a command between.
fn supervisor_lists(place: &Place, sessions: usize) -> Result<(), Error> {
    let (_, reply) = Program::ask(place, r#"{"id":1,"ask":"status"}"#)?;
    let listed = reply["answer"]["sessions"].as_array().map_or(0, Vec::len);
    let found = format!("{listed}, not {sessions}");
    if listed == sessions { Ok(()) } else { Err(Error::Wrong { what: "sessions listed", found }) }
}

fn timed(command: &mut Command, is_right: impl Fn(&str) -> bool) -> Result<Duration, Error> {
    let done: Done = child::run(command)?.success()?;
    let text = done.text();
    if is_right(&text) {
        Ok(done.took)
    } else {
        Err(Error::Wrong { what: "an answer", found: text })
    }
}

/// A table with a header.
fn has_rows(text: &str, sessions: usize) -> bool {
    let is_row = |line: &&str| {
        line.split('-').next().is_some_and(|scene| ["working", "idle", "waiting"].contains(&scene))
    };
    text.lines().filter(is_row).count() == sessions
}

fn is_json_of(text: &str, sessions: usize) -> bool {
    let listed: Value = serde_json::from_str(text).unwrap_or_default();
    listed["sessions"].as_array().is_some_and(|all| all.len() == sessions)
        && listed["as_of"].is_string()
}

/// `!67 *67 +66`: nobody has looked at those that are idle, so that all are counted.
fn has_count(text: &str, sessions: usize) -> bool {
    let counts = text.split_whitespace().filter_map(|word| word.get(1..)?.parse::<usize>().ok());
    counts.sum::<usize>() == sessions
}
