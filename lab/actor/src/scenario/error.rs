//! Why a scenario cannot be played, and where in the file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A scenario that cannot be read or makes no sense.
#[derive(Debug, Error)]
pub enum ScenarioError {
    #[error("{}: cannot read the scenario: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}:{place}: {problem}", shown(file.as_deref()))]
    Invalid {
        /// Unknown for a scenario that was not read from a file.
        file: Option<PathBuf>,
        place: Place,
        problem: Problem,
    },
}

/// What is wrong at a place in the file.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Problem {
    #[error("{}", one_line(.0))]
    Format(String),
    #[error("expected one action in this step, but it has several")]
    SeveralActions,
    #[error("expected at least one [[step]]")]
    NoSteps,
    #[error("label \"{0}\" is set twice")]
    DuplicateLabel(String),
    #[error("no label \"{label}\"; expected {}", one_of(known))]
    UnknownLabel { label: String, known: Vec<String> },
    #[error("expected a screen file at {}", path.display())]
    MissingScreen { path: PathBuf },
}

impl Problem {
    pub(crate) fn from_toml(error: &toml::de::Error) -> Self {
        // The reader sees an enum with two variants, which tells a writer of scenarios nothing.
        if error.message().starts_with("wanted exactly 1 element") {
            return Self::SeveralActions;
        }
        Self::Format(error.message().to_owned())
    }
}

/// A place in a text as people count it: from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    /// The place of a byte offset; one past the end counts as the end.
    pub fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl ScenarioError {
    pub(crate) fn invalid(text: &str, offset: usize, problem: Problem) -> Self {
        Self::Invalid { file: None, place: Place::of(text, offset), problem }
    }

    pub(crate) fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Invalid { place, problem, .. } => {
                Self::Invalid { file: Some(path.to_owned()), place, problem }
            }
            read @ Self::Read { .. } => read,
        }
    }
}

fn shown(file: Option<&Path>) -> String {
    file.map_or_else(|| "scenario".to_owned(), |path| path.display().to_string())
}

fn one_line(message: &str) -> String {
    message.lines().collect::<Vec<_>>().join(", ")
}

fn one_of(known: &[String]) -> String {
    if known.is_empty() {
        return "a label, but the scenario sets none".to_owned();
    }
    let quoted: Vec<_> = known.iter().map(|label| format!("\"{label}\"")).collect();
    format!("one of {}", quoted.join(", "))
}
