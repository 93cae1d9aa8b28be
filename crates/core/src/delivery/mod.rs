//! Delivering a message to an agent: what is done next, decided from what was seen.
//!
//! | phase | seen | step |
//! | --- | --- | --- |
//! | before | it has ended | failed |
//! | | a dialog, a draft of somebody's, at work (unless it may be), starting, unclear | look again; in the end refused or queued |
//! | | its box is empty | paste |
//! | staged | proof, whoever submitted it | delivered |
//! | | nothing in the box yet | look again, for as long as an echo may take; then failed: never pasted twice |
//! | | our text in the box, and no dialog | submit |
//! | | more than our text | look again; in the end typed, not submitted |
//! | submitted | proof | delivered |
//! | | our text still in the box | submit again, three times in all; then typed, not submitted |
//! | | the box is empty | wait for proof; the agent at work, or the text above the box, is the weakest |
//!
//! So text is never put into a dialog, nobody presses Enter on text that is not ours, a text is pasted at most once, and
//! what is not proven is not called delivered.

pub mod box_text;
mod machine;
#[cfg(test)]
mod machine_tests;
pub mod safe_text;

pub use machine::{Delivery, Step};

use serde::{Deserialize, Serialize};

/// When a message may be put into the agent's box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Once it is at its prompt with nothing running.
    Idle,
    /// Also while it works: agents queue such messages, or are steered by them.
    Now,
}

/// How far a message has come. Kept, so that whoever takes it over goes on from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Before,
    /// It was put into the box, or is about to be: if nobody knows whether it was, it must not be put there again.
    Staged,
    Submitted,
}

/// What was seen of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    pub agent: Agent,
    pub input: Input,
    pub proof: Option<Proof>,
    /// Our text stands above the box, as something that was said.
    pub is_shown: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agent {
    Over(String),
    Starting,
    Ready,
    Working,
    /// Something waits for an answer: the question.
    Dialog(String),
    /// What it is doing is not known: what is missing.
    Unclear(String),
}

/// What is in the input box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Empty,
    Ours,
    /// Somebody else's text, or ours with more around it.
    Other(String),
    /// There is no box in sight.
    Unseen,
}

/// What shows that the agent has taken the message, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// Its hook told of this very text.
    Hook,
    /// Its transcript has this very text.
    Transcript,
    /// It began to work right after the text left the box.
    State,
    /// The text stands above the box.
    Screen,
}

impl Proof {
    pub fn word(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Transcript => "transcript",
            Self::State => "state",
            Self::Screen => "screen",
        }
    }
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Delivered {
        proof: Proof,
        /// It was at work: it queued the message, or was steered by it.
        while_working: bool,
    },
    /// Its time was over before the agent could take it. It is kept, in its order.
    Queued {
        because: String,
    },
    /// It is in the box, and was not submitted.
    TypedNotSubmitted {
        because: String,
    },
    /// It was not put anywhere.
    Refused {
        because: String,
    },
    Failed {
        because: String,
    },
}

impl Outcome {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Delivered { .. } => "delivered",
            Self::Queued { .. } => "queued",
            Self::TypedNotSubmitted { .. } => "typed_not_submitted",
            Self::Refused { .. } => "refused",
            Self::Failed { .. } => "failed",
        }
    }

    pub fn because(&self) -> Option<&str> {
        match self {
            Self::Delivered { .. } => None,
            Self::Queued { because }
            | Self::TypedNotSubmitted { because }
            | Self::Refused { because }
            | Self::Failed { because } => Some(because),
        }
    }
}
