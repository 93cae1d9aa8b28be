//! Delivers a message to an agent: decides the next step from what was observed.
//!
//! | phase | seen | step |
//! | --- | --- | --- |
//! | before | the session has ended | failed |
//! | | a dialog, a person's draft, working (unless that is allowed), starting, unclear | look again; in the end refused or queued |
//! | | the input box is empty | paste |
//! | staged | proof, even if a person submitted it | delivered |
//! | | nothing in the box yet | look again, while an echo may still come; then failed: never pasted twice |
//! | staged, submitted | the agent has not read what was typed | look again, for two minutes: it is busy, and an Enter more would be one too many |
//! | | our text in the box, and no dialog | submit |
//! | | more than our text | look again; in the end typed, not submitted |
//! | submitted | proof | delivered; into a turn that had begun before: as soon as the agent goes on with it |
//! | | that turn has ended, and the agent did nothing since it took the text | failed: no model was asked |
//! | | a command that ends the agent, and the agent ended with code 0 | delivered |
//! | | our text still in the box | submit again, three times in all; then typed, not submitted |
//! | | the box is empty | wait for proof; a working agent, or the text above the box, is the weakest |
//!
//! So text is never put into a dialog, Enter is never pressed on text that is not ours, a text is pasted at most once, and
//! only a proven message is called delivered.

pub mod box_text;
mod machine;
#[cfg(test)]
mod machine_tests;
pub mod safe_text;
mod taken;

use crate::status::evidence::Shows;
use crate::status::{Basis, Status, Verdict};
pub use machine::{Delivery, Step};
pub use taken::{Taken, taken};

use serde::{Deserialize, Serialize};

pub use dogwatch_protocol::message::{Outcome, Proof, When};

/// The progress of a message. Stored, so that another process can continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Before,
    /// It was put into the box, or is about to be: after a crash it must not be put there again.
    Staged,
    Submitted,
}

/// What was seen of the agent when a text was put into its box. Stored with the message: whoever goes on with it has not seen it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The word for the status.
    pub state: String,
    pub is_asserted: bool,
    /// A weak proof of a message to an agent at work is none: it works anyway.
    pub was_working: bool,
    /// The pane remembers what was typed, so that it can be told whether it was.
    #[serde(default)]
    pub is_noted: bool,
}

/// What kind of text is delivered: that decides what proves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Message,
    /// A slash command: it may open a dialog; messages do not.
    Command,
    /// A slash command that ends the agent.
    Quit,
}

impl Kind {
    /// Besides the profile's exit command, the words are those of claude, codex, gemini and opencode; `/logout` ends
    /// claude and codex too.
    pub fn of(text: &str, is_slash: bool, exit: Option<&str>) -> Self {
        match text.split_whitespace().next() {
            _ if !is_slash => Self::Message,
            Some("/exit" | "/quit" | "/q" | "/logout") => Self::Quit,
            Some(_) if exit == Some(text.trim()) => Self::Quit,
            _ => Self::Command,
        }
    }
}

/// An observation of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    pub agent: Agent,
    pub input: Input,
    pub proof: Option<Proof>,
    /// Into which turn the agent took the message, where there is a proof.
    pub taken: Taken,
    /// Our text is above the box, as a submitted message.
    pub is_shown: bool,
    /// What was typed is still in the terminal: the agent has not read it.
    pub is_unread: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agent {
    Over(String),
    /// It ended by itself, with code 0.
    Exited(String),
    Starting,
    Ready,
    Working,
    /// A dialog waits for an answer: its question.
    Dialog(String),
    /// The status is unknown: what is missing.
    Unclear(String),
}

impl Agent {
    /// What a verdict means for a message. A dialog on the screen overrides any verdict. `life` is the reason of the session's
    /// liveness.
    pub fn of(verdict: &Verdict, screen: Option<&Shows>, life: &str) -> Self {
        let asks = |question: &Option<String>, what: &str| {
            Self::Dialog(question.clone().unwrap_or_else(|| what.to_owned()))
        };
        if let Some(Shows::Dialog(what, question)) = screen
            && !verdict.status.is_over()
        {
            return asks(question, what.as_str());
        }
        if verdict.basis == Basis::Stale {
            return Self::Unclear("tmux does not answer".to_owned());
        }
        match &verdict.status {
            Status::Starting => Self::Starting,
            Status::Working { .. } => Self::Working,
            Status::Waiting { r#for, question, .. } => asks(question, r#for.as_str()),
            Status::Idle { .. } | Status::Error { .. } | Status::Limited { .. } => Self::Ready,
            Status::Exited => Self::Exited(life.to_owned()),
            Status::Stopped { .. } | Status::Crashed { .. } | Status::Lost { .. } => {
                Self::Over(life.to_owned())
            }
            Status::Stuck { .. } => Self::Unclear("it seems to be stuck".to_owned()),
            Status::Unknown { missing } => Self::Unclear(missing.clone()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Empty,
    Ours,
    /// Another text, or ours with more around it.
    Other(String),
    /// No box is visible.
    Unseen,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_verdict_means_for_a_message() {
        let idle = |interrupted| Status::Idle {
            after_turn: true,
            interrupted,
            background: 0,
            draft: None,
        };
        let unknown = Status::Unknown { missing: "a screen".into() };
        let table = [
            (Status::Starting, Agent::Starting),
            (idle(false), Agent::Ready),
            (idle(true), Agent::Ready),
            (Status::Error { kind: "api".into(), text: "529".into() }, Agent::Ready),
            (Status::Limited { until: None, text: "x".into() }, Agent::Ready),
            (Status::Exited, Agent::Exited("exit code 0".into())),
            (Status::Crashed { exit: None }, Agent::Over("exit code 0".into())),
            (unknown, Agent::Unclear("a screen".into())),
        ];
        for (status, expected) in table {
            let shown = format!("{status:?}");
            let mut verdict =
                Verdict { status, basis: Basis::Asserted, since: None, reasons: vec![] };
            assert_eq!(Agent::of(&verdict, None, "exit code 0"), expected, "{shown}");
            verdict.basis = Basis::Stale;
            assert!(matches!(Agent::of(&verdict, None, ""), Agent::Unclear(_)), "{shown}");
        }
    }
}
