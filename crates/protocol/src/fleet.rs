//! What hosts exchange over MQTT; `docs/mqtt.md` describes it for other tools.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Subject;
use crate::message::When;

/// Whether a host is online.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    Online,
    /// It disconnected, or the broker lost it and published its last will.
    Gone,
}

/// Whether a host is online. `PREFIX/HOST/status`; QoS 1, retained, and the last will.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostStatus {
    /// Version of the format. Fields may be added within a version.
    #[cfg_attr(feature = "schemas", schemars(extend("const" = 1)))]
    pub v: u32,
    pub host: String,
    pub state: Presence,
    /// When it came online; also for a host that is gone.
    pub since: Timestamp,
    /// Why it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The requests that it accepts.
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<Verb>"))]
    pub allow: Vec<String>,
    /// Version of dogwatch.
    #[serde(default)]
    pub version: String,
}

/// The status of a session. `PREFIX/HOST/session/NAME/state`; QoS 1, retained; an empty payload when it is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionState {
    /// Version of the format. Fields may be added within a version.
    #[cfg_attr(feature = "schemas", schemars(extend("const" = 1)))]
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
    /// How sure the status is.
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schemars(with = "crate::status::Basis"))]
    pub basis: String,
    /// The state with its details, as in `dogwatch status --json`. A newer host may have states that are not listed here.
    #[cfg_attr(feature = "schemas", schemars(with = "crate::status::Status"))]
    pub status: Value,
}

/// Requests to a host, if it allows them by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    Send,
    Spawn,
    Kill,
}

impl Verb {
    pub const ALL: [Self; 3] = [Self::Send, Self::Spawn, Self::Kill];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Spawn => "spawn",
            Self::Kill => "kill",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == word)
    }
}

/// A message to a session. `PREFIX/HOST/request/send`; QoS 1, never retained, with response topic and correlation data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Send {
    /// Name, id or pane.
    pub session: String,
    pub text: String,
    /// It is a slash command of the agent.
    #[serde(default)]
    pub slash: bool,
    /// When it may be delivered.
    #[serde(default = "when_idle")]
    pub when: When,
    /// Seconds to wait for the agent; without it, without limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
}

fn when_idle() -> When {
    When::Idle
}

/// Start an agent. `PREFIX/HOST/request/spawn`; QoS 1, never retained, with response topic and correlation data. Only agents that the host knows: no commands, no variables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Spawn {
    /// Name of the profile.
    pub agent: String,
    /// A directory on the host, absolute.
    pub cwd: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default)]
    pub unattended: bool,
}

/// End a session. `PREFIX/HOST/request/kill`; QoS 1, never retained, with response topic and correlation data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Kill {
    /// Name, id or pane.
    pub session: String,
    /// Kill it immediately.
    #[serde(default)]
    pub now: bool,
}

/// A request: the common fields, and those of its verb.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Request<T> {
    /// Version of the format. Fields may be added within a version.
    #[serde(default = "version")]
    #[cfg_attr(feature = "schemas", schemars(extend("const" = 1)))]
    pub v: u32,
    /// A request with the same id is executed once.
    #[cfg_attr(feature = "schemas", schemars(length(min = 1, max = 200)))]
    pub id: String,
    /// The requester, for the journal.
    pub from: Option<String>,
    /// When the request was issued. A request that is older than 5 minutes (or its `expires`), or from the future, is refused.
    #[cfg_attr(feature = "schemas", schemars(required))]
    pub issued: Option<Timestamp>,
    /// Refused after that time.
    pub expires: Option<Timestamp>,
    #[serde(flatten)]
    pub order: T,
}

fn version() -> u32 {
    crate::event::VERSION
}

/// The progress of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReplyState {
    /// The host has accepted it, and will execute it once. Another reply follows.
    Accepted,
    Done,
    /// The host does not allow this.
    Refused,
    /// It failed, or could not be started.
    Failed,
    /// It came too late.
    Expired,
    /// It was started before, and its outcome is unknown.
    Unknown,
}

impl ReplyState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Unknown => "unknown",
        }
    }
}

/// A host's reply, on the response topic with the correlation data of the request; QoS 1. `accepted` is followed by another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Reply {
    /// Version of the format. Fields may be added within a version.
    #[cfg_attr(feature = "schemas", schemars(extend("const" = 1)))]
    pub v: u32,
    /// Id of the request.
    pub id: String,
    pub host: String,
    pub verb: String,
    pub state: ReplyState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// A stable error code, as in the errors of the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The exit code of the corresponding command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<u8>,
    /// `send`: `session`, `message`, `outcome` …; `spawn`: `session`, `id`, `agent`, `pane`, `cwd`; `kill`: `session`, `id`, `by`, `exit`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result: Value,
}

/// All hosts and their sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Fleet {
    pub hosts: Vec<Host>,
}

/// All hosts and their sessions, after each change.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FleetNews {
    pub hosts: Vec<Host>,
    /// Why the broker cannot be reached now.
    pub trouble: Option<String>,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Host {
    pub host: String,
    /// For a host that is not online, `sessions` is what was last known.
    pub online: bool,
    pub status: Option<HostStatus>,
    pub sessions: Vec<SessionState>,
}
