//! What a workflow is: steps, how each is known to be done, and what is tried when it is not.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Deserialize;

pub use dogwatch_protocol::run::{Failure, Per};

use crate::escalation::Trigger;

/// A whole workflow, checked: what it says can be carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    pub name: String,
    pub title: String,
    /// What it is done for, if nobody says so at the start.
    pub items: Vec<String>,
    pub steps: Vec<Step>,
}

impl Workflow {
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// Whether its stories are built by BMAD's own unattended build.
    pub fn builds_itself(&self) -> bool {
        self.steps.iter().any(|step| step.verify.contains(&Verifier::Build))
    }

    /// The steps of an item, or of a group of items, in order.
    pub fn steps_per(&self, per: Per) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.per == per)
    }

    /// The same, with a last step that brings each item's branch home.
    #[must_use]
    pub fn with_merges(mut self) -> Self {
        let after =
            self.steps.iter().rposition(|step| step.per == Per::Item).map_or(0, |at| at + 1);
        self.steps.insert(after, Step::merge());
        self
    }
}

impl Workflow {
    /// The same, with the limits that a project sets.
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

/// Who does a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// An agent is told this.
    Agent { prompt: Prompt },
    /// A program is run in a session of its own.
    Command { run: Vec<String> },
    /// What was done is committed.
    Commit { message: String },
    /// The branch of a story that was done beside others is merged.
    Merge,
}

/// What an agent is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    Own(String),
    /// What the project's policy has for this step of BMAD's, and something to add.
    Policy {
        step: String,
        extra: String,
    },
}

impl Work {
    /// Whether it is done in a session.
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
    /// If it holds before the first attempt, there is nothing to do.
    pub done_before: bool,
    /// Its failure is written down and stops nothing.
    pub optional: bool,
    /// It is repeated until it is verified; each attempt is a cycle.
    pub is_loop: bool,
    /// How often it is attempted at most, whatever the reasons.
    pub attempts: u32,
    pub timeout: SignedDuration,
    pub retry: BTreeMap<Failure, Retry>,
    /// The story is put off, and nobody is asked, if attempts end at the very same place again and again.
    pub defer_on_plateau: bool,
    /// The question that is asked in the end, if not the usual one of that failure.
    pub asks: Option<Trigger>,
}

impl Step {
    /// What is tried after a failure of this kind.
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

/// The step that a workflow gets when its items are done side by side.
pub const MERGE: &str = "merge";

/// What is tried after a failure: so many more times with each agent, after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    pub times: u32,
    /// The same, for a story that others wait for.
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

    /// What is tried if the workflow does not say.
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

/// How a step is known to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verifier {
    /// It came to an end of its own, and well.
    SessionExit,
    /// So many files have such names.
    Files { glob: String, count: Count },
    /// The story's row in sprint status says one of these.
    SprintStatus { is: Vec<String> },
    /// The story's own file says one of these.
    StoryFile { is: Vec<String> },
    /// One of the two says one of these: agents forget either.
    Status { is: Vec<String> },
    /// What the project's policy asks of the step.
    Policy,
    /// The spec that BMAD's own build keeps of the story says done.
    Build,
    /// The working tree has changes, or none.
    Git { tree: Tree },
    /// A command ends with 0.
    Command { run: String, timeout: SignedDuration },
    /// The last lines that it showed match one pattern and not the other.
    Output { success: Option<String>, failure: Option<String> },
}

impl Verifier {
    /// Whether what it finds proves something by itself: the others speak of a session, and say nothing without one.
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
