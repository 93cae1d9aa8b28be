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

pub use dogwatch_protocol::message::{Outcome, Proof, When};

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
