//! A workflow: its steps, how each is verified, and what is retried.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Deserialize;

pub use dogwatch_protocol::run::{Failure, Per};

use crate::escalation::Trigger;

/// A checked workflow: it can be executed.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    pub name: String,
    pub title: String,
    /// The default items.
    pub items: Vec<String>,
    pub steps: Vec<Step>,
}

impl Workflow {
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// Whether BMAD's own unattended build does its stories.
    pub fn builds_itself(&self) -> bool {
        self.steps.iter().any(|step| step.verify.contains(&Verifier::Build))
    }

    /// The steps of an item, or of a group of items, in order.
    pub fn steps_per(&self, per: Per) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.per == per)
    }

    /// The same, with a last step that merges each item's branch.
    #[must_use]
    pub fn with_merges(mut self) -> Self {
        let after =
            self.steps.iter().rposition(|step| step.per == Per::Item).map_or(0, |at| at + 1);
        self.steps.insert(after, Step::merge());
        self
    }
}

impl Workflow {
    /// The same, with the limits of a project.
    #[must_use]
    pub fn with_limits(mut self, cycles: Option<u32>, crash_retries: Option<u32>) -> Self {
        for step in &mut self.steps {
            if let Some(cycles) = cycles.filter(|_| step.is_loop) {
                step.attempts = cycles;
                for rule in step.retry.values_mut() {
                    rule.times = rule.times.max(cycles);
                }
            } else if let Some(times) = crash_retries.filter(|_| step.work.has_session()) {
                step.retry.insert(Failure::Crash, Retry { times, ..Retry::usual(Failure::Crash) });
            }
        }
        self
    }
}

/// What does a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// An agent with this prompt.
    Agent { prompt: Prompt },
    /// A program in its own session.
    Command { run: Vec<String> },
    /// A commit of the changes.
    Commit { message: String },
    /// A merge of the branch of a story that was done in parallel.
    Merge,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    Own(String),
    /// The policy's prompt for this BMAD step, and a text to append.
    Policy {
        step: String,
        extra: String,
    },
}

impl Work {
    /// Whether it runs in a session.
    pub fn has_session(&self) -> bool {
        matches!(self, Self::Agent { .. } | Self::Command { .. })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub id: String,
    pub label: String,
    pub per: Per,
    pub work: Work,
    pub agent: Option<String>,
    pub fallback: Option<String>,
    pub model: Option<String>,
    /// All of them must hold.
    pub verify: Vec<Verifier>,
    /// If it holds before the first attempt, the step is done.
    pub done_before: bool,
    /// A failure is recorded and does not stop the item.
    pub optional: bool,
    /// Repeated until it is verified; each attempt is a cycle.
    pub is_loop: bool,
    /// Limit on attempts, for all reasons together.
    pub attempts: u32,
    pub timeout: SignedDuration,
    pub retry: BTreeMap<Failure, Retry>,
    /// Defer the story without a question if attempts keep stopping at the same place.
    pub defer_on_plateau: bool,
    /// The trigger of the final question, if not the default for the failure.
    pub asks: Option<Trigger>,
}

impl Step {
    /// The retry rule after a failure of this kind.
    pub fn rule(&self, failure: Failure) -> Retry {
        self.retry.get(&failure).copied().unwrap_or_else(|| Retry::usual(failure))
    }

    /// Whether its verifiers prove anything without a session that has just ended.
    pub fn can_be_looked_at(&self) -> bool {
        self.work.has_session() && self.verify.iter().any(Verifier::proves)
    }

    fn merge() -> Self {
        Self {
            id: MERGE.into(),
            label: MERGE.into(),
            per: Per::Item,
            work: Work::Merge,
            agent: None,
            fallback: None,
            model: None,
            verify: vec![],
            done_before: false,
            optional: false,
            is_loop: false,
            attempts: 2,
            timeout: SignedDuration::from_mins(10),
            retry: BTreeMap::from([(Failure::Failed, Retry::none())]),
            defer_on_plateau: false,
            asks: Some(Trigger::DependencyConflict),
        }
    }
}

/// The step that is added when items run in parallel.
pub const MERGE: &str = "merge";

/// Retries after a failure: so many with each agent, after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    pub times: u32,
    /// The same, for a story that others depend on.
    pub times_if_blocking: Option<u32>,
    pub delay: SignedDuration,
}

impl Retry {
    pub fn none() -> Self {
        Self::times(0, 0)
    }

    fn times(times: u32, seconds: i64) -> Self {
        Self { times, times_if_blocking: None, delay: SignedDuration::from_secs(seconds) }
    }

    /// The default rule.
    pub fn usual(failure: Failure) -> Self {
        match failure {
            Failure::Spawn => Self::times(2, 5),
            Failure::Crash | Failure::Stuck => Self::times(2, 0),
            Failure::Lost => Self::times(8, 0),
            Failure::Limit => Self::times(12, 300),
            Failure::Error => Self::times(2, 60),
            Failure::Waiting | Failure::Unverified | Failure::Failed | Failure::Unclear => {
                Self::times(1, 0)
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verifier {
    /// The session ended by itself and successfully.
    SessionExit,
    /// The number of files that match.
    Files { glob: String, count: Count },
    /// The story's row in the sprint status has one of these values.
    SprintStatus { is: Vec<String> },
    /// The story's file has one of these values.
    StoryFile { is: Vec<String> },
    /// One of the two has one of these values: agents forget either.
    Status { is: Vec<String> },
    /// As the project's policy demands for the step.
    Policy,
    /// The spec of BMAD's own build says that the story is done.
    Build,
    /// The working tree has changes, or none.
    Git { tree: Tree },
    /// A command ends with 0.
    Command { run: String, timeout: SignedDuration },
    /// The last lines of the output match one pattern and not the other.
    Output { success: Option<String>, failure: Option<String> },
}

impl Verifier {
    /// Whether it proves anything by itself: the other verifiers need a session.
    pub fn proves(&self) -> bool {
        !matches!(self, Self::SessionExit | Self::Output { .. })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    Exactly(u32),
    AtLeast(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tree {
    Clean,
    Dirty,
}
