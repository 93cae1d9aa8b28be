//! What hosts tell each other over MQTT: topics, and the payloads on them.
//!
//! Every shape has a JSON Schema in `docs/schemas`; `docs/mqtt.md` is for those who join with other tools.

mod order;
mod pace;
mod picture;
#[cfg(test)]
mod schema_tests;
mod terms;
mod topics;

pub use order::{Envelope, Kill, Order, OrderError, Reply, ReplyState, Send, Spawn, Verb};
pub use pace::Pace;
pub use picture::{HostPicture, Picture};
pub use terms::{SpawnRefused, SpawnTerms, Stale, freshness};
pub use topics::{Place, TopicError, Topics, session_level};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Subject;

/// Whether a host is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    Online,
    /// It said goodbye, or the broker lost it and says so in its name.
    Gone,
}

/// The retained word on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostStatus {
    pub v: u32,
    pub host: String,
    pub state: Presence,
    /// When it came online.
    pub since: Timestamp,
    /// Why it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The verbs that it carries out for others.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Of dogwatch.
    #[serde(default)]
    pub version: String,
}

/// The retained word on a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    pub v: u32,
    pub host: String,
    pub session: Subject,
    /// Started by dogwatch.
    pub ours: bool,
    /// When it was seen.
    pub at: Timestamp,
    /// Since when the state holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// How sure that is: `asserted`, `inferred` or `stale`.
    #[serde(default)]
    pub basis: String,
    /// The state and what belongs to it. A newer host may have states that this one does not know.
    pub status: Value,
}
