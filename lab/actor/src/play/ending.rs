//! How a play ends.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The way a play came to its end, other than by a signal.
#[derive(Debug)]
pub enum Ending {
    /// As the scenario, or a Ctrl-C, wanted it.
    Exit(u8),
    Failed(PlayError),
}

/// A step that could not be played.
#[derive(Debug, Error)]
#[error("line {line}: {trouble}")]
pub struct PlayError {
    /// Where the step begins in the scenario.
    pub line: usize,
    #[source]
    pub trouble: Trouble,
}

/// Why a step failed.
#[derive(Debug, Error)]
pub enum Trouble {
    #[error("{} did not appear in time", path.display())]
    TimedOut { path: PathBuf },
    #[error("the input ended while it was waited for")]
    InputEnded,
    #[error("the scenario jumps in circles without ever waiting")]
    Runaway,
    #[error("environment variable {name} is not set")]
    Unset { name: String },
    #[error("failed to use {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("failed to use the terminal: {0}")]
    Terminal(io::Error),
    #[error("failed to start a child: {0}")]
    Child(io::Error),
    #[error("failed to use signals: {0}")]
    Signals(io::Error),
}

/// What cuts a play short, from within a step.
#[derive(Debug)]
pub(super) enum Cut {
    Exit(u8),
    Trouble(Trouble),
}

impl From<Trouble> for Cut {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl Ending {
    pub(super) fn failed(line: usize, trouble: Trouble) -> Self {
        Self::Failed(PlayError { line, trouble })
    }

    /// The exit code of the process: 124 when a deadline passed, as `timeout` has it, and 74 when
    /// a step could not be played.
    pub fn code(&self) -> u8 {
        match self {
            Self::Exit(code) => *code,
            Self::Failed(error) => match error.trouble {
                Trouble::TimedOut { .. } => 124,
                _ => 74,
            },
        }
    }
}
