//! Published payloads match their schemas.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::{
    Envelope, HostStatus, Kill, Order, Presence, Reply, ReplyState, Send, SessionState, Spawn,
};
use crate::delivery::When;
use crate::event::{Event, Subject};

/// Every field is described, and every required field is present.
fn fits(schema: &str, value: impl Serialize) {
    let schema = &dogwatch_protocol::schemas::all().unwrap()[schema];
    let value = serde_json::to_value(value).unwrap();
    let fields = value.as_object().unwrap();
    for field in fields.keys() {
        assert!(schema["properties"][field].is_object(), "{field} is not in {}", schema["title"]);
    }
    for required in schema["required"].as_array().unwrap() {
        assert!(fields.contains_key(required.as_str().unwrap()), "{required} is not in {value}");
    }
}

#[test]
fn published_payloads_match_their_schemas() {
    let at = Timestamp::from_second(1_794_700_000).unwrap();
    let subject = Subject { id: "1".into(), name: "fix".into(), agent: "claude".into() };
    let (host, text) = ("desk".to_owned(), Some("x".to_owned()));
    fits(
        "event",
        Event {
            v: 1,
            id: "1".into(),
            at,
            host: host.clone(),
            kind: "state".into(),
            session: Some(subject.clone()),
            data: json!({}),
        },
    );
    fits(
        "host-status",
        HostStatus {
            v: 1,
            host: host.clone(),
            state: Presence::Gone,
            since: at,
            because: text.clone(),
            allow: vec![],
            version: "0".into(),
        },
    );
    fits(
        "session-state",
        SessionState {
            v: 1,
            host: host.clone(),
            session: subject,
            ours: true,
            at,
            since: Some(at),
            basis: "asserted".into(),
            status: json!({ "state": "exited" }),
        },
    );
    fits(
        "reply",
        Reply {
            v: 1,
            id: "1".into(),
            host,
            verb: "kill".into(),
            state: ReplyState::Done,
            because: text.clone(),
            code: text.clone(),
            exit: Some(0),
            result: json!({}),
        },
    );
    let envelope = Envelope { id: "1".into(), from: None, issued: Some(at), expires: None };
    let send = Send {
        session: "s".into(),
        text: "t".into(),
        slash: false,
        when: When::Idle,
        timeout: Some(1),
    };
    let spawn = Spawn {
        agent: "a".into(),
        cwd: "/".into(),
        name: text.clone(),
        prompt: text.clone(),
        model: text,
        unattended: false,
    };
    let kill = Kill { session: "s".into(), now: false };
    for (schema, order) in [
        ("request-send", Order::Send(send)),
        ("request-spawn", Order::Spawn(spawn)),
        ("request-kill", Order::Kill(kill)),
    ] {
        fits(schema, order.write(&envelope));
    }
}
