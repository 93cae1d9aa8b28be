//! `parse-output <file> <step> [--state-file FILE]`: what a session's transcript says about its step.

use std::path::Path;

use crate::answers::NotParsed;
use crate::reading::{self, NotRead};

use super::{Call, Reply, project};

pub(super) fn parse_output(call: &Call) -> Reply {
    let (Some(file), Some(step)) = (call.word(0), call.word(1)) else { return nothing() };
    let Some(transcript) = project::text_of(Path::new(file)) else { return nothing() };
    if transcript.trim().is_empty() {
        return nothing();
    }
    let options = Call::new(call.command, call.words.get(2..).unwrap_or_default());
    let reading =
        options.with_value("--state-file").map_err(|_| NotRead::Contract).and_then(|state_file| {
            reading::read_transcript(&project::here(), &transcript, step, state_file)
        });
    match reading {
        Ok(reading) => Reply::json(&reading),
        Err(error) => failed(&error.to_string()),
    }
}

fn nothing() -> Reply {
    failed("output file not found or empty")
}

fn failed(reason: &str) -> Reply {
    Reply::json(&NotParsed { status: "error", reason }).failed()
}
