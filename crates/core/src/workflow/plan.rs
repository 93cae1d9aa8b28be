//! The plan of a run: which items, in which order, with which agents. Stored once, when the run begins.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

pub use dogwatch_protocol::run::{AgentChoice, Budget, Spent};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    pub items: Vec<Item>,
    /// Steps to skip.
    #[serde(default)]
    pub skip: Vec<String>,
    /// With more than one, each item gets its own worktree.
    #[serde(default)]
    pub side_by_side: u32,
    /// The agents of group steps.
    #[serde(default)]
    pub group_agents: BTreeMap<String, AgentChoice>,
    #[serde(default)]
    pub budget: Budget,
    /// The project's limits on cycles and crash retries.
    #[serde(default)]
    pub cycles: Option<u32>,
    #[serde(default)]
    pub crash_retries: Option<u32>,
}

impl Plan {
    pub fn item(&self, id: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.id == id)
    }

    pub fn has_worktrees(&self) -> bool {
        self.side_by_side > 1
    }

    /// Groups in the order of their first items.
    pub fn groups(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let groups = self.items.iter().filter_map(|item| item.group.as_deref());
        groups.filter(|group| seen.insert(*group)).collect()
    }
}

/// What all steps are repeated for: a story.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Item {
    pub id: String,
    /// The name of its file and its row in the sprint status, if that is more than the id.
    #[serde(default)]
    pub key: String,
    #[serde(default)]
    pub title: String,
    /// Its epic.
    #[serde(default)]
    pub group: Option<String>,
    /// Other items depend on it.
    #[serde(default)]
    pub blocking: bool,
    /// Items of this run that must be done before.
    #[serde(default)]
    pub after: Vec<String>,
    /// The agents of its steps.
    #[serde(default)]
    pub agents: BTreeMap<String, AgentChoice>,
    /// The text about it for the agent, if that is more than its id and title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub intent: String,
    /// Steps that were done before this run began.
    #[serde(default)]
    pub done: Vec<String>,
}

impl Item {
    pub fn key(&self) -> &str {
        if self.key.is_empty() { &self.id } else { &self.key }
    }
}
