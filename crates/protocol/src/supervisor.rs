//! Who supervises a tmux server.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A supervisor about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Serving {
    pub pid: i32,
    /// When the process started, as the kernel counts: with the pid, it names this process and no later one.
    pub start: u64,
    /// The version of its program.
    pub version: String,
    pub program: PathBuf,
    /// Since when it serves.
    pub since: Timestamp,
}

/// What `dogwatch supervisor` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Supervisor {
    /// The tmux server's socket.
    pub socket: PathBuf,
    /// Whether a supervisor serves it. Without one, the next command that needs it starts it.
    pub serves: bool,
    /// Not there for a supervisor that has just started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<Serving>,
    /// The socket where it answers programs (`docs/protocol.md`). Not there if nobody serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listens: Option<PathBuf>,
    /// What it says of itself. Not there if it does not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// Living sessions that dogwatch started on this server.
    pub sessions: usize,
    pub open: OpenWork,
    /// What is not tried again, because supervisors died while they were at it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aside: Vec<SetAside>,
}

/// Something that supervisors died of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SetAside {
    /// In words: a message, a request for keys, a usage limit, a loop, callbacks; with the id of it or of its session.
    pub what: String,
    pub at: Timestamp,
}

/// What a supervisor says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Health {
    /// Programs that are connected to its socket, without the one that asks.
    pub clients: usize,
    /// What went wrong lately, the newest last.
    pub errors: Vec<LastError>,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LastError {
    pub at: Timestamp,
    pub message: String,
}

/// What is not done yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OpenWork {
    pub messages: usize,
    pub jobs: usize,
    /// Usage limits that are to be acted on.
    pub limits: usize,
    /// Sessions that wait to be told of work that they gave away.
    pub callbacks: usize,
}
