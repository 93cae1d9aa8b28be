//! Messages to agents: when one may be delivered, its outcome, and the proof of delivery.

use crate::id::{MessageId, SessionId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// When a message may be put into the agent's box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Once it is at its prompt with nothing running.
    Idle,
    /// Also while it works: agents queue such messages, or are steered by them.
    Now,
}

/// What shows that the agent has taken the message, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
    /// Line ends of other systems.
    LineEnds,
    /// Control characters, which would act on the agent instead of being read by it.
    ControlCharacters,
    /// A blank was put after it, lest Enter be taken for a new line.
    Continued,
    /// Line ends at its end.
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

/// What `send` did.
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
    /// `messages --cancel` takes it.
    pub id: MessageId,
    /// Id of the session.
    pub session: SessionId,
    /// Name of the session, if it is still known.
    pub name: Option<String>,
    /// As it was pasted or typed.
    pub text: String,
    /// It is a slash command of the agent.
    pub slash: bool,
    /// When it was kept.
    pub posted: Timestamp,
    /// When it was put into the input box.
    pub staged: Option<Timestamp>,
    /// When it was submitted, the last time.
    pub submitted: Option<Timestamp>,
    /// When its outcome was known.
    pub done: Option<Timestamp>,
}

/// What became of a message, or that it is still to be delivered.
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

/// A message that was taken back.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CancelledMessage {
    /// Its id.
    pub cancelled: MessageId,
}

/// An answer to a dialog.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Answered {
    pub name: String,
    /// The mark of the dialog.
    pub dialog: String,
    pub question: Option<String>,
    /// The option that was chosen.
    pub choice: String,
    pub outcome: AnswerOutcome,
}

/// Whether the dialog is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    Answered,
    Unproven,
}
