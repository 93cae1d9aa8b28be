//! What a step of a run is, as far as it decides what can be done about it.

use serde::{Deserialize, Serialize};

/// Who or what does the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doer {
    #[default]
    Agent,
    Command,
    Commit,
    Merge,
}

/// Only what this says is offered. Without it, what is usual for the trigger.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Offer {
    pub doer: Doer,
    /// What a person calls the item: `story 1.2`, `item intro`, `epic 1`.
    pub item: String,
    /// Whether it is about a group of items: there is no item to skip then, only the step.
    pub is_group: bool,
    /// Who does it when it is run again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Who else is there to do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_agent: Option<String>,
    /// What a person would do by hand: `Set the status in sprint-status.yaml`. Nothing if files cannot prove the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<String>,
}

/// A dialog of an agent that is waiting for an answer. The options of the question are those of the dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialog {
    /// Id of the session.
    pub session: String,
    /// By which the dialog on the screen is known again.
    pub mark: String,
    /// Which request of the agent it is, where its hooks say so: two dialogs may look the same.
    #[serde(default)]
    pub request: String,
    pub options: Vec<String>,
}
