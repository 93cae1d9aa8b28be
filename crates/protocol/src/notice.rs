//! Notifications for people, as every channel gets them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a notification is about. The names are those of the configuration file and of the JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Occasion {
    EscalationRaised,
    EscalationAnswered,
    JobDone,
    JobFailed,
    Drift,
}

impl Occasion {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EscalationRaised => "escalation_raised",
            Self::EscalationAnswered => "escalation_answered",
            Self::JobDone => "job_done",
            Self::JobFailed => "job_failed",
            Self::Drift => "drift",
        }
    }
}

/// A notification. The format is an interface: commands read it on standard input, webhooks as the body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Notice {
    pub occasion: Occasion,
    pub at: Timestamp,
    pub host: String,
    /// One line.
    pub title: String,
    /// The whole text, for people.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The same for machines.
    #[serde(default)]
    pub data: Value,
}
