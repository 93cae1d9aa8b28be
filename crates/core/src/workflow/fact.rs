//! What happened in a run, one line each. The journal of a run is these, in order, and nothing else decides what is next.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::definition::Failure;
use super::plan::Spent;
use crate::escalation::{Action, Trigger};

/// A step of an item or of a group; written as `1.2/dev` or `epic 1/retro`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
            text.rsplit_once('/').ok_or_else(|| format!("no step in {text:?}"))?;
        Ok(match subject.strip_prefix("epic ") {
            Some(group) => Self::of_group(group, step),
            None => Self::of_item(subject, step),
        })
    }
}

/// A fact and when it was written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Dated {
    pub at: Timestamp,
    pub fact: Fact,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// An item's turn has come. `base` is the commit that it starts from.
    Begun {
        item: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worktree: Option<String>,
        /// Files that were changed then and not committed, with a mark of what was in them: none of them is its work.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        before: BTreeMap<String, String>,
    },
    /// What an item that was given up has left in the tree is on this branch now.
    SetAside {
        item: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        #[serde(default)]
        files: u32,
        /// Files that stay where they are, with the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<String>,
    },
    /// A step is left out, on purpose or because it may.
    Skipped {
        job: Job,
        why: String,
    },
    /// About to be tried; written before anything is done.
    Attempted {
        job: Job,
        n: u32,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        agent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The step was verified already before this attempt: then only an attempt that ends well proves anything.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        held: bool,
    },
    Spawned {
        job: Job,
        n: u32,
        session: String,
    },
    /// The session is over, or has nothing more to do; `output` is where its words were kept.
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
    /// The attempt failed. `progress` counts what is done of the step, where that can be counted.
    Failed {
        job: Job,
        n: u32,
        failure: Failure,
        why: String,
        /// When it is worth trying again, if the failure says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        progress: Option<u32>,
        /// The step did its part and says itself that it is not finished: a review with findings.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        not_clean: bool,
    },
    /// The session was ended and its pane closed.
    Closed {
        job: Job,
        n: u32,
    },
    /// A person is asked.
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
    /// The story is put off: attempts end at the same place again and again.
    Deferred {
        job: Job,
        why: String,
    },
    /// Whether a group has everything that it needs to be called complete.
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

/// How a session came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum How {
    /// It did what it had to, as far as one can see from outside.
    Finished,
    Failed {
        failure: Failure,
        why: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
}
