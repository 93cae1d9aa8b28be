//! Parses workflow files. Problems are reported with line and column, before anything starts.

mod placeholders;
mod step;
mod values;
mod verifier;

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use self::step::RawStep;
use self::values::word;
use super::definition::{Per, Workflow};
use crate::suggest::{distance, place};

pub use self::placeholders::{PLACEHOLDERS, fill};
pub use self::step::POLICY_STEPS;

/// A workflow file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct BadWorkflow {
    pub file: String,
    pub line: usize,
    pub column: usize,
    pub problem: String,
    pub hint: Option<String>,
}

type Problem = (Range<usize>, String);

fn problem<T>(span: Range<usize>, text: impl Into<String>) -> Result<T, Problem> {
    Err((span, text.into()))
}

/// Parses a workflow; `file` is only for error messages.
pub fn read(file: &str, text: &str) -> Result<Workflow, BadWorkflow> {
    let bad = |(span, problem): Problem| {
        let (line, column) = place(text, span.start);
        let hint = hint(&problem);
        BadWorkflow { file: file.to_owned(), line, column, problem, hint }
    };
    let raw: RawWorkflow = toml::from_str(text).map_err(|error| {
        bad((error.span().unwrap_or(0..0), error.message().replace('\n', "; ")))
    })?;
    raw.check().map_err(bad)
}

/// The closest of the words that the error names.
fn hint(problem: &str) -> Option<String> {
    let words: Vec<&str> = problem.split('`').skip(1).step_by(2).collect();
    let (written, known) = words.split_first()?;
    let nearest = known.iter().min_by_key(|word| distance(written, word))?;
    (distance(written, nearest) <= 3).then(|| format!("did you mean `{nearest}`?"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWorkflow {
    name: Spanned<String>,
    #[serde(default)]
    title: String,
    #[serde(default)]
    items: Vec<Spanned<String>>,
    #[serde(default)]
    step: Vec<Spanned<RawStep>>,
}

impl RawWorkflow {
    fn check(self) -> Result<Workflow, Problem> {
        word(&self.name, "the name of a workflow")?;
        if self.step.is_empty() {
            return problem(self.name.span(), "the workflow has no steps; add a [[step]]");
        }
        let mut items = Vec::new();
        for item in self.items {
            word(&item, "an item")?;
            if items.contains(item.get_ref()) {
                return problem(item.span(), format!("duplicate item {:?}", item.get_ref()));
            }
            items.push(item.into_inner());
        }
        let mut ids = BTreeSet::new();
        let mut steps = Vec::new();
        for raw in self.step {
            let (span, raw) = (raw.span(), raw.into_inner());
            if !ids.insert(raw.id.get_ref().clone()) {
                let text = format!("duplicate step id {:?}", raw.id.get_ref());
                return problem(raw.id.span(), text);
            }
            steps.push(raw.check(span)?);
        }
        if !steps.iter().any(|step| step.per == Per::Item) {
            return problem(self.name.span(), "no step runs per item");
        }
        Ok(Workflow { name: self.name.into_inner(), title: self.title, items, steps })
    }
}
