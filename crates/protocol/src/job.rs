//! Jobs and their progress.

use crate::id::{JobId, SessionId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The progress of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum JobState {
    Queued,
    Delivered,
    Running,
    Done {
        /// The agent's last message, if it keeps a transcript.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    Failed {
        because: String,
        /// The agent's last message until then.
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

    /// The same without the agent's messages: those are for the owner of the job.
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

/// A prompt for a session, and its progress.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Job {
    /// Also the id of the message with the prompt.
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
    /// The dialog that blocks it.
    pub waiting: Option<String>,
    #[serde(flatten)]
    pub state: JobState,
}

/// A session's job, in a list of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobBrief {
    pub id: JobId,
    /// As in `job show`.
    pub state: String,
    /// The dialog that blocks it.
    pub waiting: Option<String>,
}
