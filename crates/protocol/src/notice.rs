//! Notifications for people, as every channel gets them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::SessionId;
use crate::status::{Basis, Status};

/// What a notification is about. The names are those of the configuration file and of the JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Occasion {
    /// A session needs a person.
    Waiting,
    /// A turn is over, or a command ended with 0.
    Done,
    /// A turn failed.
    Error,
    Limited,
    /// A session crashed or is lost.
    Crashed,
    Stuck,
    Looping,
    /// Two sessions edit the same file.
    Collision,
    /// A budget is used up.
    Budget,
    EscalationRaised,
    EscalationAnswered,
    JobDone,
    JobFailed,
    Drift,
    /// `notify test`.
    Test,
    /// Several notifications in one.
    Several,
}

impl Occasion {
    pub const ALL: [Self; 16] = [
        Self::Waiting,
        Self::Done,
        Self::Error,
        Self::Limited,
        Self::Crashed,
        Self::Stuck,
        Self::Looping,
        Self::Collision,
        Self::Budget,
        Self::EscalationRaised,
        Self::EscalationAnswered,
        Self::JobDone,
        Self::JobFailed,
        Self::Drift,
        Self::Test,
        Self::Several,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Error => "error",
            Self::Limited => "limited",
            Self::Crashed => "crashed",
            Self::Stuck => "stuck",
            Self::Looping => "looping",
            Self::Collision => "collision",
            Self::Budget => "budget",
            Self::EscalationRaised => "escalation_raised",
            Self::EscalationAnswered => "escalation_answered",
            Self::JobDone => "job_done",
            Self::JobFailed => "job_failed",
            Self::Drift => "drift",
            Self::Test => "test",
            Self::Several => "several",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|occasion| occasion.as_str() == word)
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
    /// The notifications that were sent in one, if there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub several: Vec<Notice>,
}

/// The data of a notification about a session's status.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StatusNotice {
    pub id: SessionId,
    pub name: String,
    pub agent: String,
    pub project: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    pub basis: Basis,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    #[serde(flatten)]
    pub status: Status,
}

/// What `notify log` prints, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct NotifyLog {
    pub deliveries: Vec<Delivery>,
}

/// One notification on one channel.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Delivery {
    /// When the event was recorded.
    pub at: Timestamp,
    pub occasion: Occasion,
    pub session: Option<String>,
    pub title: String,
    pub channel: String,
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was last tried, sent or given up.
    pub tried: Option<Timestamp>,
    /// While it waits: when it is tried next.
    pub due: Option<Timestamp>,
    /// Why it failed or was not sent, for people.
    pub because: Option<String>,
}

/// How far a notification has come on one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// Not due yet, or to be tried again.
    Waiting,
    Sent,
    /// Tried for the last time.
    Failed,
    /// Not sent on purpose: it was over before it was due, or a client was attached.
    Skipped,
}

impl DeliveryState {
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Sent, Self::Failed, Self::Skipped];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// What `notify test` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct NotifyTest {
    /// All channels took it.
    pub ok: bool,
    pub channels: Vec<TestedChannel>,
}

/// One channel and whether it took the test notification.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TestedChannel {
    pub channel: String,
    pub ok: bool,
    pub milliseconds: u64,
    /// Why it failed, for people.
    pub because: Option<String>,
}
