//! What a run is to do: which items, in which order, by whom. Written down once, when the run begins.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

pub use dogwatch_protocol::run::{AgentChoice, Budget, Spent};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    pub items: Vec<Item>,
    /// Steps that are left out on purpose.
    #[serde(default)]
    pub skip: Vec<String>,
    /// More than one: each item gets a worktree of its own.
    #[serde(default)]
    pub side_by_side: u32,
    /// Who does the steps of a group.
    #[serde(default)]
    pub group_agents: BTreeMap<String, AgentChoice>,
    #[serde(default)]
    pub budget: Budget,
    /// How often a step that is repeated may be, and how often a crash is tried again, if the project says so.
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

/// One thing that all steps are done for: a story.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Item {
    pub id: String,
    /// What its file and its row in sprint status are called, if that is more than the id.
    #[serde(default)]
    pub key: String,
    #[serde(default)]
    pub title: String,
    /// Its epic.
    #[serde(default)]
    pub group: Option<String>,
    /// Others need it, so its failure concerns them.
    #[serde(default)]
    pub blocking: bool,
    /// Items of this run that must be done before.
    #[serde(default)]
    pub after: Vec<String>,
    /// Who does which step.
    #[serde(default)]
    pub agents: BTreeMap<String, AgentChoice>,
    /// What an agent is told of it, if that is more than its id and title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub intent: String,
    /// Steps that somebody else did before this run began.
    #[serde(default)]
    pub done: Vec<String>,
}

impl Item {
    pub fn key(&self) -> &str {
        if self.key.is_empty() { &self.id } else { &self.key }
    }
}
