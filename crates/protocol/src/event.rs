//! Events, in the one form that the journal, `dogwatch events` and MQTT share.
//!
//! The form is an interface, described by `dogwatch schema event`: fields may be added, none changes its meaning.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the format.
pub const VERSION: u32 = 1;

/// The kinds of events. Readers ignore unknown ones.
pub mod kind {
    /// A session is about to be created: `{name, agent}`.
    pub const CREATED: &str = "created";
    /// Its program runs.
    pub const STARTED: &str = "started";
    /// Its agent could not take what dogwatch gave it, and was started again without: `{because}`.
    pub const RESTARTED: &str = "restarted";
    /// Its state changed: the state, with `from` and `since`.
    pub const STATE: &str = "state";
    /// Its program has ended: the exit record.
    pub const ENDED: &str = "ended";
    /// Its end was requested.
    pub const KILL_REQUESTED: &str = "kill_requested";
    /// It was archived or removed; lists no longer show it.
    pub const DELETED: &str = "deleted";
    /// It came back from the archive: lists show it again.
    pub const UNARCHIVED: &str = "unarchived";
    /// A person gave it a title, or took it away: `{title, from}`.
    pub const RENAMED: &str = "renamed";
    /// Its tags changed: `{tags}`.
    pub const TAGGED: &str = "tagged";
    /// A message to it was accepted, and its outcome is known.
    pub const MESSAGE_POSTED: &str = "message_posted";
    pub const MESSAGE_SETTLED: &str = "message_settled";
    /// The registry and what is running differ.
    pub const DRIFT: &str = "drift";
    /// The state of a job changed.
    pub const JOB: &str = "job";
    /// A command changed a registry.
    pub const SESSION_CREATED: &str = "session_created";
    pub const SESSION_ADOPTED: &str = "session_adopted";
    pub const SESSION_RESUMED: &str = "session_resumed";
    pub const SESSION_DELETED: &str = "session_deleted";
    /// A question to a person was raised, and answered.
    pub const ESCALATION_RAISED: &str = "escalation_raised";
    pub const ESCALATION_ANSWERED: &str = "escalation_answered";
    /// Something happened in a run of stories: `{run, fact, …}`.
    pub const RUN: &str = "run";
    /// The host is online: its number of sessions, by state.
    pub const HEARTBEAT: &str = "heartbeat";
    /// Another host's request was accepted: `{id, verb, from}`.
    pub const REQUEST: &str = "request";
    /// Another host's request was refused: `{id, verb, from, because}`.
    pub const REQUEST_REFUSED: &str = "request_refused";
    /// A rule answered a request for permission: `{tool, asks, answer, rules}`.
    pub const RULES_ANSWERED: &str = "rules_answered";
    /// A rule would have answered, but had answered too often: `{tool, asks, because}`.
    pub const RULES_HELD: &str = "rules_held";
    /// Rules were paused, and resumed.
    pub const RULES_PAUSED: &str = "rules_paused";
    pub const RULES_RESUMED: &str = "rules_resumed";
    /// A budget is used up, or was lifted.
    pub const BUDGET: &str = "budget";
    /// An agent called a tool of `dogwatch mcp`: `{tool, by, outcome}`.
    pub const TOOL_CALL: &str = "tool_call";
    /// A usage limit is to be waited for, was acted on, or was left to a person: `{action, account, …}`.
    pub const LIMIT: &str = "limit";
    /// Automatic continuation after limits was paused, and resumed: `{by}`.
    pub const LIMITS_PAUSED: &str = "limits_paused";
    pub const LIMITS_RESUMED: &str = "limits_resumed";
    /// Two sessions edit the same file: `{path, with, text, held}`.
    pub const COLLISION: &str = "collision";
    /// An agent that went round in circles was interrupted: `{what, times, since}`.
    pub const LOOP_INTERRUPTED: &str = "loop_interrupted";
    /// A notification failed.
    pub const NOT_TOLD: &str = "not_told";
    /// A tmux server died, and sessions with it: `{socket, pid, at, exact, sessions}`.
    pub const SERVER_DIED: &str = "server_died";

    pub const ALL: [&str; 37] = [
        CREATED,
        STARTED,
        RESTARTED,
        STATE,
        ENDED,
        KILL_REQUESTED,
        DELETED,
        UNARCHIVED,
        RENAMED,
        TAGGED,
        MESSAGE_POSTED,
        MESSAGE_SETTLED,
        DRIFT,
        JOB,
        SESSION_CREATED,
        SESSION_ADOPTED,
        SESSION_RESUMED,
        SESSION_DELETED,
        ESCALATION_RAISED,
        ESCALATION_ANSWERED,
        RUN,
        HEARTBEAT,
        REQUEST,
        REQUEST_REFUSED,
        RULES_ANSWERED,
        RULES_HELD,
        RULES_PAUSED,
        RULES_RESUMED,
        BUDGET,
        TOOL_CALL,
        LIMIT,
        LIMITS_PAUSED,
        LIMITS_RESUMED,
        COLLISION,
        LOOP_INTERRUPTED,
        NOT_TOLD,
        SERVER_DIED,
    ];
}

/// The session that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Subject {
    /// A UUID for a managed session; for an unmanaged agent its pane and process, beginning with `%`.
    pub id: String,
    pub name: String,
    pub agent: String,
}

/// An event. `PREFIX/HOST/session/NAME/event`, or `PREFIX/HOST/event` if it is not about a session; QoS 1, not retained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Event {
    /// Version of the format. Fields may be added within a version.
    #[cfg_attr(feature = "schemas", schemars(extend("const" = 1)))]
    pub v: u32,
    /// A UUID of version 7. The same id means the same event: drop duplicates.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "uuid")))]
    pub id: String,
    /// When it happened.
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// One of these, or one of a newer dogwatch.
    #[cfg_attr(feature = "schemas", schemars(extend("examples" = kind::ALL.as_slice())))]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Subject>,
    /// Depends on the kind; see `docs/mqtt.md`.
    #[serde(default)]
    pub data: Value,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn version_1_can_still_be_read() {
        let written = json!({
            "v": 1, "id": "019a7f00-0000-7000-8000-000000000001", "at": "2026-11-15T12:00:00Z", "host": "box",
            "kind": "state", "session": { "id": "s", "name": "fix", "agent": "claude" },
            "data": { "state": "idle", "from": "working" }, "added": "later",
        });
        let event: Event = serde_json::from_value(written.clone()).unwrap();
        assert_eq!((event.kind.as_str(), &event.data["from"]), (kind::STATE, &json!("working")));
        let mut again = serde_json::to_value(&event).unwrap();
        again["added"] = json!("later");
        assert_eq!(again, written);
        let bare =
            json!({ "v": 1, "id": "x", "at": "2026-11-15T12:00:00Z", "kind": "of the future" });
        assert_eq!(serde_json::from_value::<Event>(bare).unwrap().session, None);
    }
}
