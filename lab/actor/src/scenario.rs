//! A scenario as data: read from TOML and checked as a whole before anything is played.

mod error;
mod input;
mod step;
mod time;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

pub use error::{Place, Problem, ScenarioError};
pub use input::{Echo, Input, Reply, Timeout, Want};
pub use step::{
    AppendJson, AppendLine, AwaitFile, Clock, FatalSignal, Hook, IgnorableSignal, Label, PrintFile,
    Repeat, Screen, Session, Spawn, Step, StopSignal, Stream, Ticking, WriteFile,
};
pub use time::{Pause, Span};

/// What a Ctrl-C does in raw mode, where the terminal no longer turns it into a signal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnCtrlC {
    #[default]
    Exit,
    Ignore,
    ExitOnSecond,
}

/// A checked scenario: each label that a step names exists.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub(crate) steps: Vec<Step>,
    /// The line in the file on which each step begins, for messages.
    pub(crate) lines: Vec<usize>,
    pub(crate) labels: BTreeMap<String, usize>,
    pub(crate) base_dir: PathBuf,
    pub(crate) record: Option<String>,
    pub(crate) record_sizes: Option<String>,
    pub(crate) on_ctrl_c: OnCtrlC,
    pub(crate) ctrl_c_code: u8,
    pub(crate) hook_base: Map<String, Value>,
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    record: Option<String>,
    record_sizes: Option<String>,
    #[serde(default)]
    on_ctrl_c: OnCtrlC,
    #[serde(default = "interrupted")]
    ctrl_c_code: u8,
    #[serde(default)]
    hook_base: Map<String, Value>,
    #[serde(default, rename = "step")]
    steps: Vec<Spanned<Step>>,
}

/// What a shell reports for a program that SIGINT ended.
fn interrupted() -> u8 {
    130
}

impl Scenario {
    /// Reads a scenario from its text. Relative paths in it are meant from `base_dir`.
    pub fn parse(text: &str, base_dir: impl Into<PathBuf>) -> Result<Self, ScenarioError> {
        let document: Document = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            ScenarioError::invalid(text, offset, Problem::from_toml(&error))
        })?;
        if document.steps.is_empty() {
            return Err(ScenarioError::invalid(text, 0, Problem::NoSteps));
        }
        let lines =
            document.steps.iter().map(|step| Place::of(text, step.span().start).line).collect();
        let steps: Vec<Step> = document.steps.into_iter().map(Spanned::into_inner).collect();
        let labels = collect_labels(text, &steps)?;
        let scenario = Self {
            steps,
            lines,
            labels,
            base_dir: base_dir.into(),
            record: document.record,
            record_sizes: document.record_sizes,
            on_ctrl_c: document.on_ctrl_c,
            ctrl_c_code: document.ctrl_c_code,
            hook_base: document.hook_base,
        };
        scenario.check_targets(text)?;
        Ok(scenario)
    }

    /// Reads a scenario file and checks that the screens it shows exist.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = fs::read_to_string(path)
            .map_err(|source| ScenarioError::Read { path: path.to_owned(), source })?;
        let base_dir = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, base_dir)
            .and_then(|scenario| scenario.check_screens(&text).map(|()| scenario))
            .map_err(|error| error.in_file(path))
    }

    fn check_targets(&self, text: &str) -> Result<(), ScenarioError> {
        for label in self.steps.iter().flat_map(Step::targets) {
            if !self.labels.contains_key(label.get_ref()) {
                let problem = Problem::UnknownLabel {
                    label: label.get_ref().clone(),
                    known: self.labels.keys().cloned().collect(),
                };
                return Err(ScenarioError::invalid(text, label.span().start, problem));
            }
        }
        Ok(())
    }

    fn check_screens(&self, text: &str) -> Result<(), ScenarioError> {
        for step in &self.steps {
            let Step::Screen(screen) = step else { continue };
            let path = self.base_dir.join(screen.file.get_ref());
            // A path with a placeholder is only known when it is played.
            if !screen.file.get_ref().contains('{') && !path.is_file() {
                let problem = Problem::MissingScreen { path };
                return Err(ScenarioError::invalid(text, screen.file.span().start, problem));
            }
        }
        Ok(())
    }
}

fn collect_labels(text: &str, steps: &[Step]) -> Result<BTreeMap<String, usize>, ScenarioError> {
    let mut labels = BTreeMap::new();
    for (index, step) in steps.iter().enumerate() {
        let Step::Label(label) = step else { continue };
        if labels.insert(label.get_ref().clone(), index).is_some() {
            let problem = Problem::DuplicateLabel(label.get_ref().clone());
            return Err(ScenarioError::invalid(text, label.span().start, problem));
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests;
