//! Usage limits, as `limits` prints them.

use jiff::Timestamp;
use serde::Serialize;

use crate::event_data::LimitAction;
use crate::id::SessionId;

/// All accounts with sessions that run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Since when automatic continuation is paused.
    pub paused: Option<Timestamp>,
    pub accounts: Vec<AccountLimits>,
}

/// One account.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AccountLimits {
    /// Agent and folder, or the fingerprint of a key; `AGENT unknown` if that is not known.
    pub account: String,
    pub agent: String,
    /// Whether its sessions are known to share their limits.
    pub known: bool,
    /// Until when the account is limited, by what its agents said.
    pub until: Option<Timestamp>,
    pub windows: Vec<LimitWindow>,
    pub sessions: Vec<LimitedSession>,
}

/// A window in which use is counted, as the agent reports it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LimitWindow {
    /// `5-hour`, `weekly`, …
    pub window: String,
    /// How much of it is used.
    pub used_percent: Option<f64>,
    pub resets: Option<Timestamp>,
    /// When the agent said so.
    pub seen: Timestamp,
}

/// A session of an account.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LimitedSession {
    pub id: SessionId,
    pub name: String,
    /// Its state, as `status` has it.
    pub state: String,
    /// `notify`, `wait`, `switch:MODEL`, `fallback:AGENT`
    pub when_limited: String,
    /// Its last limit; null if it met none.
    pub last: Option<LastLimit>,
}

/// The last limit of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LastLimit {
    pub began: Timestamp,
    pub until: Option<Timestamp>,
    /// What the agent said.
    pub text: String,
    pub action: LimitAction,
    /// When dogwatch acts; null once it has.
    pub continues: Option<Timestamp>,
    /// For people.
    pub because: Option<String>,
}

/// The result of `limits pause` and `limits resume`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LimitsPaused {
    pub paused: bool,
    /// Whether that is new.
    pub changed: bool,
}

/// The result of `limits set`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LimitPolicySet {
    pub id: SessionId,
    pub name: String,
    pub when_limited: String,
}
