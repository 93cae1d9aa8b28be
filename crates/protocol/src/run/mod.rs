//! Runs of a workflow: plan, facts and results.

mod printed;
mod report;

pub use printed::{
    BegunRun, Complexity, LeftRun, LogLine, PlannedItem, PlannedRun, PlannedStep, RunRow,
    RunStanding, RunStatus, Runs, ToldRun, Validation,
};
pub use report::{Asked, Line, Report, StepLine, Try};

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::escalation::{Action, Trigger};

/// A step of an item or of a group; written as `1.2/dev` or `epic 1/retro`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Job {
    pub subject: Subject,
    pub step: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    Item(String),
    Group(String),
}

impl Subject {
    pub fn name(&self) -> &str {
        match self {
            Self::Item(name) | Self::Group(name) => name,
        }
    }
}

impl Job {
    pub fn of_item(item: &str, step: &str) -> Self {
        Self { subject: Subject::Item(item.to_owned()), step: step.to_owned() }
    }

    pub fn of_group(group: &str, step: &str) -> Self {
        Self { subject: Subject::Group(group.to_owned()), step: step.to_owned() }
    }

    pub fn item(&self) -> Option<&str> {
        match &self.subject {
            Subject::Item(item) => Some(item),
            Subject::Group(_) => None,
        }
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Subject::Item(item) => write!(f, "{item}/{}", self.step),
            Subject::Group(group) => write!(f, "epic {group}/{}", self.step),
        }
    }
}

impl From<Job> for String {
    fn from(job: Job) -> Self {
        job.to_string()
    }
}

impl TryFrom<String> for Job {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (subject, step) =
            text.rsplit_once('/').ok_or_else(|| format!("{text:?} has no step"))?;
        Ok(match subject.strip_prefix("epic ") {
            Some(group) => Self::of_group(group, step),
            None => Self::of_item(subject, step),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// An item begins. `base` is the commit that it starts from.
    Begun {
        item: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worktree: Option<String>,
        /// Files with uncommitted changes at that time, with a hash of their content: they are not part of its work.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        before: BTreeMap<String, String>,
    },
    /// The changes of an item that was given up are on this branch now.
    SetAside {
        item: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        #[serde(default)]
        files: u32,
        /// Files that stay in the tree, with the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<String>,
    },
    /// A step is skipped, on purpose or because it may be.
    Skipped {
        job: Job,
        why: String,
    },
    /// An attempt; recorded before anything is done.
    Attempted {
        job: Job,
        n: u32,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        agent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The step was verified before this attempt: then only an attempt that ends well proves anything.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        held: bool,
    },
    Spawned {
        job: Job,
        n: u32,
        session: String,
    },
    /// The session ended, or has nothing more to do; `output` is the file with its output.
    Ended {
        job: Job,
        n: u32,
        how: How,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        #[serde(default)]
        spent: Spent,
    },
    Verified {
        job: Job,
        n: u32,
        evidence: String,
    },
    /// The attempt failed. `progress` counts what is done of the step, where that is possible.
    Failed {
        job: Job,
        n: u32,
        failure: Failure,
        why: String,
        /// When another try makes sense, if the failure says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        progress: Option<u32>,
        /// The step was done and reports itself that it is not finished: a review with findings.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        not_clean: bool,
    },
    /// The session was ended and its pane closed.
    Closed {
        job: Job,
        n: u32,
    },
    /// A question to a person was raised.
    Escalated {
        id: String,
        job: Job,
        trigger: Trigger,
        critical: bool,
        why: String,
    },
    Answered {
        id: String,
        action: Action,
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// The story is deferred: attempts keep stopping at the same place.
    Deferred {
        job: Job,
        why: String,
    },
    /// Whether a group is complete.
    GroupChecked {
        group: String,
        complete: bool,
        why: String,
    },
    Paused {
        by: String,
        why: String,
    },
    Resumed {
        by: String,
    },
    Aborted {
        by: String,
        why: String,
    },
    Completed,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum How {
    /// It finished its work, as far as visible from outside.
    Finished,
    Failed {
        failure: Failure,
        why: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
}

/// What a step is repeated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Each item: a story.
    Item,
    /// Each group, once its items are done: an epic.
    Group,
}

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The session could not be started.
    Spawn,
    /// The agent ended by itself, without success.
    Crash,
    /// The session is gone: tmux or the machine went down.
    Lost,
    /// A usage or rate limit.
    Limit,
    /// The agent's last turn failed: the service could not be reached, or refused.
    Error,
    /// No sign of life, or it took too long.
    Stuck,
    /// It waits for a person.
    Waiting,
    /// It ended well, but its result is missing.
    Unverified,
    /// Its result shows that it failed.
    Failed,
    /// Its result shows neither.
    Unclear,
}

impl Failure {
    pub const ALL: [Self; 10] = [
        Self::Spawn,
        Self::Crash,
        Self::Lost,
        Self::Limit,
        Self::Error,
        Self::Stuck,
        Self::Waiting,
        Self::Unverified,
        Self::Failed,
        Self::Unclear,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spawn => "spawn",
            Self::Crash => "crash",
            Self::Lost => "lost",
            Self::Limit => "limit",
            Self::Error => "error",
            Self::Stuck => "stuck",
            Self::Waiting => "waiting",
            Self::Unverified => "unverified",
            Self::Failed => "failed",
            Self::Unclear => "unclear",
        }
    }

    /// Whether it says nothing about the work: such attempts do not count towards the step's own limit.
    pub fn is_outside_the_work(self) -> bool {
        matches!(self, Self::Lost | Self::Limit)
    }
}

/// The agent of a step, and its fallback.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AgentChoice {
    pub primary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// For the first agent only: another agent has other models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The limits of one item; null is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Budget {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// In millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
}

impl Budget {
    #[must_use]
    pub fn times(self, n: u64) -> Self {
        let times = |limit: Option<u64>| limit.map(|limit| limit.saturating_mul(n));
        Self { tokens: times(self.tokens), micro_usd: times(self.micro_usd) }
    }
}

/// The usage according to the agent's transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Spent {
    #[serde(default)]
    pub input: u64,
    #[serde(default)]
    pub output: u64,
    #[serde(default)]
    pub cached: u64,
    #[serde(default)]
    pub micro_usd: u64,
}

impl Spent {
    /// Reads from the cache cost very little, and are not counted.
    pub fn tokens(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            micro_usd: self.micro_usd.saturating_add(other.micro_usd),
        }
    }

    pub fn is_over(self, budget: Budget) -> bool {
        budget.tokens.is_some_and(|limit| self.tokens() > limit)
            || budget.micro_usd.is_some_and(|limit| self.micro_usd > limit)
    }
}

/// What an agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Permissions {
    /// It asks before it changes files or runs commands.
    Ask,
    /// It changes files of the project without asking, and asks before it runs commands.
    AcceptEdits,
    /// It asks nothing.
    #[default]
    Bypass,
}

impl Permissions {
    pub const ALL: [Self; 3] = [Self::Ask, Self::AcceptEdits, Self::Bypass];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Bypass => "bypass",
        }
    }

    /// A description for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ask => {
                "agents ask before they change files or run commands; answer with `dogwatch escalations`"
            }
            Self::AcceptEdits => {
                "agents change files without asking and ask before other actions; answer with `dogwatch escalations`"
            }
            Self::Bypass => {
                "agents run commands and change files without asking (permission prompts are bypassed)"
            }
        }
    }
}
