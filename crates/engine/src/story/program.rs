//! Programs of a project's, told by an exit code as shells do it.

use std::process::Command;
use std::time::Duration;

use crate::program;

/// How a program ended that took too long, and one that could not be started: what shells say.
const TOO_LONG: i32 = 124;
const NOT_STARTED: i32 = 127;

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) output: Vec<u8>,
    pub(crate) errors: Vec<u8>,
    /// The output was heard to its end.
    pub(crate) is_whole: bool,
}

impl Ended {
    /// What it said of its trouble.
    pub(crate) fn words(&self) -> String {
        let all = [self.errors.as_slice(), self.output.as_slice()].concat();
        String::from_utf8_lossy(&all).trim().to_owned()
    }
}

pub(crate) fn run(command: Command, input: &[u8], at_most: Duration) -> Ended {
    match program::run(command, input, at_most) {
        Ok(ended) => Ended {
            code: ended.code().unwrap_or(TOO_LONG),
            is_whole: ended.stdout.is_whole,
            output: ended.stdout.bytes,
            errors: ended.stderr.bytes,
        },
        Err(error) => {
            let (output, errors) = (Vec::new(), error.to_string().into_bytes());
            Ended { code: NOT_STARTED, output, errors, is_whole: false }
        }
    }
}
