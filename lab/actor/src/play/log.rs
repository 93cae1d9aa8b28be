//! The actor's own log: what happened in a play that its terminal does not show.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::ending::Trouble;
use super::files;

/// Lines of the form `LINE what happened`, where LINE is the step's in the scenario.
#[derive(Debug, Default)]
pub(super) struct Log {
    file: Option<File>,
    line: usize,
}

impl Log {
    pub(super) fn open(path: Option<&Path>) -> Result<Self, Trouble> {
        let file = path.map(files::open_to_append).transpose()?;
        Ok(Self { file, line: 1 })
    }

    pub(super) fn at(&mut self, line: usize) {
        self.line = line;
    }

    /// A log that cannot be written does not end the play.
    pub(super) fn note(&mut self, what: impl fmt::Display) {
        if let Some(file) = &mut self.file {
            let _ = file.write_all(format!("{} {what}\n", self.line).as_bytes());
        }
    }
}
