//! Jobs: how far one has come.

use crate::id::{JobId, SessionId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How far a job has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum JobState {
    Queued,
    Delivered,
    Running,
    Done {
        /// The agent's last words, if it keeps a transcript.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    Failed {
        because: String,
        /// What the agent had said by then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    Cancelled {
        by: String,
    },
}

impl JobState {
    pub const WORDS: [&str; 6] = ["queued", "delivered", "running", "done", "failed", "cancelled"];

    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Delivered => "delivered",
            Self::Running => "running",
            Self::Done { .. } => "done",
            Self::Failed { .. } => "failed",
            Self::Cancelled { .. } => "cancelled",
        }
    }

    pub fn is_over(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Failed { .. } | Self::Cancelled { .. })
    }

    /// The same without what the agent said: that is for the owner of the job.
    #[must_use]
    pub fn without_result(&self) -> Self {
        match self {
            Self::Done { .. } => Self::Done { result: None },
            Self::Failed { because, .. } => Self::Failed { because: because.clone(), result: None },
            other => other.clone(),
        }
    }

    pub fn result(&self) -> Option<&str> {
        match self {
            Self::Done { result } | Self::Failed { result, .. } => result.as_deref(),
            _ => None,
        }
    }
}

/// Jobs, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Jobs {
    pub jobs: Vec<Job>,
}

/// A prompt that was given to a session, and how far it has come.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Job {
    /// Also the id of the message that carries the prompt.
    pub id: JobId,
    /// Id of the session.
    pub session: SessionId,
    /// Name of the session, if it is still known.
    pub name: Option<String>,
    pub prompt: String,
    pub submitted: Timestamp,
    pub delivered: Option<Timestamp>,
    pub running: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// The dialog that holds it up.
    pub waiting: Option<String>,
    #[serde(flatten)]
    pub state: JobState,
}

/// The job of a session, beside the session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobBrief {
    pub id: JobId,
    /// As in `job show`.
    pub state: String,
    /// The dialog that holds it up.
    pub waiting: Option<String>,
}
