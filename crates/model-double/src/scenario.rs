//! The script of the double: which actions answer which request.
//!
//! The file format is TOML; `README.md` documents it for people. Everything that can be wrong in
//! a file is found here, while the place in the text is still known.

mod action;
mod failure;
mod forms;

use std::path::{Path, PathBuf};

use regex_lite::Regex;
use serde::Deserialize;

pub use action::{
    Action, Ask, Edit, Gate, RawCall, Shell, Speech, Subagent, Todo, TodoList, TodoStatus, Usage,
    Write,
};
pub use failure::{Cut, ErrorKind, Failure};

/// A whole scenario file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Answers requests that are not part of a conversation with a person: titles, summaries.
    #[serde(default = "default_side")]
    pub side: Step,
    /// Answers human messages that no rule matches.
    #[serde(default = "default_steps")]
    pub default: Vec<Step>,
    /// Answers once the steps of a rule are used up, so that a turn always ends.
    #[serde(default = "default_after")]
    pub after: Step,
    #[serde(default, rename = "rule")]
    pub rules: Vec<Rule>,
}

/// What to do for human messages that match a pattern.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    #[serde(rename = "match", deserialize_with = "forms::regex")]
    pub pattern: Regex,
    pub steps: Vec<Step>,
}

/// The actions of one model reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Step(pub Vec<Action>);

impl Step {
    fn say(text: &str) -> Self {
        Self(vec![Action::Text(Speech::from(text.to_owned()))])
    }
}

// A title generator wants JSON with these keys, a model router the others; plain readers of the
// text do not mind.
fn default_side() -> Step {
    Step::say(r#"{"title": "Double", "complexity_reasoning": "double", "complexity_score": 90}"#)
}

fn default_steps() -> Vec<Step> {
    vec![Step::say("This is the model double: no rule matches that message.")]
}

fn default_after() -> Step {
    Step::say("Done.")
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            side: default_side(),
            default: default_steps(),
            after: default_after(),
            rules: Vec::new(),
        }
    }
}

/// A scenario that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("{}: cannot read: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{origin}:{line}:{column}: {message}")]
    Invalid {
        /// File name, or what stands for it.
        origin: String,
        line: usize,
        column: usize,
        message: String,
    },
}

impl Scenario {
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScenarioError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads a scenario from TOML; `origin` names the text in errors.
    pub fn parse(origin: &str, text: &str) -> Result<Self, ScenarioError> {
        toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let (line, column) = place(text, offset);
            ScenarioError::Invalid {
                origin: origin.to_owned(),
                line,
                column,
                message: error.message().trim_end().to_owned(),
            }
        })
    }
}

/// Line and column, both from 1 and in characters, of a byte offset.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests;
