//! What happened, in the one shape that the journal, `dogwatch events` and MQTT share.
//!
//! The shape is an interface, described by `docs/schemas/event.json`: fields may be added, none changes its meaning.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the shape.
pub const VERSION: u32 = 1;

/// The words for kinds of events. A reader passes over those that it does not know.
pub mod kind {
    /// A session is about to be made: `{name, agent}`.
    pub const CREATED: &str = "created";
    /// Its program runs.
    pub const STARTED: &str = "started";
    /// It is in another state than before: the state, with `from` and `since`.
    pub const STATE: &str = "state";
    /// Its program has ended: the exit record.
    pub const ENDED: &str = "ended";
    /// Its end was requested.
    pub const KILL_REQUESTED: &str = "kill_requested";
    /// It is done with, and lists no longer show it.
    pub const DELETED: &str = "deleted";
    /// A message to it was posted, and settled.
    pub const MESSAGE_POSTED: &str = "message_posted";
    pub const MESSAGE_SETTLED: &str = "message_settled";
    /// What is written down and what is there differ.
    pub const DRIFT: &str = "drift";
    /// A job is in another state than before.
    pub const JOB: &str = "job";
    /// A command changed a registry.
    pub const SESSION_CREATED: &str = "session_created";
    pub const SESSION_ADOPTED: &str = "session_adopted";
    pub const SESSION_RESUMED: &str = "session_resumed";
    pub const SESSION_DELETED: &str = "session_deleted";
    /// A person is asked, and has answered.
    pub const ESCALATION_RAISED: &str = "escalation_raised";
    pub const ESCALATION_ANSWERED: &str = "escalation_answered";
    /// Something happened in a run of stories: `{run, fact, …}`.
    pub const RUN: &str = "run";
    /// The host is there: how many sessions it has, by state.
    pub const HEARTBEAT: &str = "heartbeat";
    /// Another host's order was taken: `{id, verb, from}`.
    pub const REQUEST: &str = "request";
    /// Another host's order was refused: `{id, verb, from, because}`.
    pub const REQUEST_REFUSED: &str = "request_refused";
    /// A person could not be told of something.
    pub const NOT_TOLD: &str = "not_told";

    /// All that are written here.
    pub const ALL: [&str; 21] = [
        CREATED,
        STARTED,
        STATE,
        ENDED,
        KILL_REQUESTED,
        DELETED,
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
        NOT_TOLD,
    ];
}

/// The session that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Subject {
    /// Of a session that dogwatch started, a UUID; of an agent that others started, the pane and its process, beginning with `%`.
    pub id: String,
    pub name: String,
    pub agent: String,
}

/// Something that happened. `PREFIX/HOST/session/NAME/event`, or `PREFIX/HOST/event` if it is about no session; QoS 1, not retained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Event {
    /// Version of the shape. Fields may be added within a version.
    #[cfg_attr(feature = "schemas", schemars(extend("const" = 1)))]
    pub v: u32,
    /// A UUID of version 7. The same id again is the same event again: drop it.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "uuid")))]
    pub id: String,
    /// When it happened.
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// One of these, or one of a newer dogwatch.
    #[cfg_attr(feature = "schemas", schemars(extend("examples" = kind::ALL)))]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Subject>,
    /// What belongs to the kind; see `docs/mqtt.md`.
    #[serde(default)]
    pub data: Value,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_shape_of_version_1_is_read_for_ever() {
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
