//! The command line of the actor, for its own binary and for `dogwatch lab actor`.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::play::{Ending, SLEEPER, play, sleeper};
use crate::{Scenario, ScenarioError, Stage, demo};

const USAGE: &str = "\
Play a scenario file on this terminal, as if it were an agent

Usage: actor FILE
       actor --check FILE
       actor --demo worker|asker|failer

Exit codes: what the scenario says; 2 if it cannot be read or makes no sense;
74 if a step cannot be played; 124 if a deadline passes.
";

/// The scenario or the command line is invalid.
const BAD_USAGE: u8 = 2;
const CANNOT_PLAY: u8 = 74;

/// Runs the actor with these arguments, the program's name not among them.
///
/// `reentry` are the arguments with which this executable comes here; see [`Stage::standard`].
pub fn main(reentry: &[&str], args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let words: Vec<&OsStr> = args.iter().map(OsString::as_os_str).collect();
    let code = match words.as_slice() {
        [flag, ..] if *flag == SLEEPER => sleep(&args[1..]),
        [flag] if *flag == "--help" || *flag == "-h" => {
            say(io::stdout(), USAGE);
            0
        }
        [flag, file] if *flag == "--check" => check(Scenario::load(Path::new(file))),
        [flag, name] if *flag == "--demo" => match name.to_str().and_then(demo::by_name) {
            Some(text) => perform(Scenario::parse(text, ""), reentry),
            None => refuse(),
        },
        [file] if !file.as_encoded_bytes().starts_with(b"-") => {
            perform(Scenario::load(Path::new(file)), reentry)
        }
        _ => refuse(),
    };
    ExitCode::from(code)
}

fn check(scenario: Result<Scenario, ScenarioError>) -> u8 {
    match scenario {
        Ok(_) => 0,
        Err(error) => complain(BAD_USAGE, &error),
    }
}

fn perform(scenario: Result<Scenario, ScenarioError>, reentry: &[&str]) -> u8 {
    let scenario = match scenario {
        Ok(scenario) => scenario,
        Err(error) => return complain(BAD_USAGE, &error),
    };
    let stage = match Stage::standard(reentry) {
        Ok(stage) => stage,
        Err(error) => return complain(CANNOT_PLAY, &error),
    };
    let ending = play(&scenario, stage);
    let code = ending.code();
    match ending {
        Ending::Exit(_) => code,
        Ending::Failed(error) => complain(code, &error),
    }
}

fn sleep(arguments: &[OsString]) -> u8 {
    match sleeper(arguments) {
        Ok(()) => 0,
        Err(error) => complain(CANNOT_PLAY, &error),
    }
}

fn refuse() -> u8 {
    say(io::stderr(), USAGE);
    BAD_USAGE
}

fn complain(code: u8, error: &dyn std::error::Error) -> u8 {
    say(io::stderr(), &format!("actor: {error}\n"));
    code
}

/// Ignores failures: there is no other way to report them.
fn say(mut stream: impl Write, text: &str) {
    let _ = stream.write_all(text.as_bytes());
}
