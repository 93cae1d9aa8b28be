//! Messages to agents: when one may be delivered, its outcome, and the proof of delivery.

use crate::id::{MessageId, SessionId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// When a message may be put into the agent's input box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// When it is at its prompt with nothing running.
    Idle,
    /// Also while it works: agents queue such messages, or are steered by them.
    Now,
}

/// The proof that the agent took the message, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// Its hook reported this text.
    Hook,
    /// Its transcript has this text.
    Transcript,
    /// It began to work right after the text left the box.
    State,
    /// The text is above the box.
    Screen,
    /// It was a command that ends the agent, and the agent ended right after.
    Exit,
}

impl Proof {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Transcript => "transcript",
            Self::State => "state",
            Self::Screen => "screen",
            Self::Exit => "exit",
        }
    }
}

/// The outcome of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Delivered {
        proof: Proof,
        /// The agent was working: it queued the message, or was steered by it.
        while_working: bool,
    },
    /// The time limit passed before the agent could take it. It stays in the queue.
    Queued {
        because: String,
    },
    /// It is in the box, and was not submitted.
    TypedNotSubmitted {
        because: String,
    },
    /// It was not typed.
    Refused {
        because: String,
    },
    Failed {
        because: String,
    },
}

impl Outcome {
    pub fn as_str(&self) -> &'static str {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Line ends of other systems were converted.
    LineEnds,
    /// Control characters were removed: they would act on the agent.
    ControlCharacters,
    /// A blank was appended, so that Enter does not start a new line.
    Continued,
    /// Trailing line ends were removed.
    TrailingLineEnds,
}

/// Messages, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Messages {
    pub messages: Vec<Message>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Message {
    #[serde(flatten)]
    pub posted: PostedMessage,
    #[serde(flatten)]
    pub outcome: MessageOutcome,
}

/// The result of `send`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Receipt {
    #[serde(flatten)]
    pub posted: PostedMessage,
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What was changed to make the text safe.
    pub changes: Vec<Change>,
}

/// A message, without its outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PostedMessage {
    /// For `messages --cancel`.
    pub id: MessageId,
    /// Id of the session.
    pub session: SessionId,
    /// Name of the session, if it is still known.
    pub name: Option<String>,
    /// As it was pasted or typed.
    pub text: String,
    /// It is a slash command of the agent.
    pub slash: bool,
    /// When it was accepted.
    pub posted: Timestamp,
    /// When it was put into the input box.
    pub staged: Option<Timestamp>,
    /// When it was last submitted.
    pub submitted: Option<Timestamp>,
    /// When its outcome was known.
    pub done: Option<Timestamp>,
}

/// The outcome of a message, or that it is still to be delivered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum MessageOutcome {
    Settled(Outcome),
    Pending { outcome: Pending },
}

/// A message that is still to be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pending {
    Queued,
}

/// A message that was cancelled.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CancelledMessage {
    /// Its id.
    pub cancelled: MessageId,
}

/// An answer to a dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Answered {
    pub name: String,
    /// Id of the dialog.
    pub dialog: String,
    pub question: Option<String>,
    /// The option that was chosen.
    pub choice: String,
    pub outcome: AnswerOutcome,
}

/// Whether the dialog has closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    Answered,
    Unproven,
}
