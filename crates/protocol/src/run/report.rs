use jiff::Timestamp;
use serde::Serialize;

use super::{Job, Spent};
use crate::escalation::{Action, Trigger};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    pub run: String,
    pub workflow: String,
    /// `going`, `paused`, `aborted` or `complete`.
    pub standing: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    pub begun: Timestamp,
    /// When it was over, or the time of the last fact.
    pub last: Timestamp,
    pub seconds: i64,
    pub items: Vec<Line>,
    pub groups: Vec<Line>,
    pub questions: Vec<Asked>,
    pub attempts: usize,
    pub retries: usize,
    pub spent: Spent,
}

/// An item or a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Line {
    pub name: String,
    pub title: String,
    /// `waiting`, `in-progress`, `done`, `deferred` or `dropped`.
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Timestamp>,
    pub steps: Vec<StepLine>,
    pub spent: Spent,
}

impl Report {
    /// Items and groups, with the names that people use.
    pub fn lines(&self) -> impl Iterator<Item = (String, &Line)> {
        let items = self.items.iter().map(|line| (line.name.clone(), line));
        // Without groups, all items of a workflow form one with its name.
        let is_whole = |line: &Line| line.name == self.workflow;
        items.chain(self.groups.iter().map(move |line| {
            (if is_whole(line) { line.name.clone() } else { format!("epic {}", line.name) }, line)
        }))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StepLine {
    pub step: String,
    pub label: String,
    /// `waiting`, `in-progress`, `resting`, `asked`, or how it ended: `done`, `skip`, `accepted`, `dropped`.
    pub state: &'static str,
    /// The evidence, or the reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    pub seconds: i64,
    pub attempts: Vec<Try>,
    pub spent: Spent,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Try {
    pub n: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    pub begun: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Timestamp>,
    /// `running`, `verified`, `skipped`, or the kind of failure.
    pub result: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    pub spent: Spent,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Asked {
    pub id: String,
    pub job: Job,
    pub trigger: Trigger,
    pub critical: bool,
    pub why: String,
    pub at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}
