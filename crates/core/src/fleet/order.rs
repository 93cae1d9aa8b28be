//! What one host may ask of another, and what it answers.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delivery::When;

/// What can be asked of a host, if it allows it by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    Send,
    Spawn,
    Kill,
}

impl Verb {
    pub const ALL: [Self; 3] = [Self::Send, Self::Spawn, Self::Kill];

    pub fn word(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Spawn => "spawn",
            Self::Kill => "kill",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.word() == word)
    }
}

/// A message to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Send {
    pub session: String,
    pub text: String,
    #[serde(default)]
    pub slash: bool,
    #[serde(default = "when_idle")]
    pub when: When,
    /// Seconds to wait for the agent; without it, as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
}

fn when_idle() -> When {
    When::Idle
}

/// An agent to be started. Only agents that the host knows: no commands, no variables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawn {
    pub agent: String,
    /// A folder on the host.
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

/// A session to be ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kill {
    pub session: String,
    #[serde(default)]
    pub now: bool,
}

/// A request as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    Send(Send),
    Spawn(Spawn),
    Kill(Kill),
}

/// Why a request could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("it has no \"id\", by which it would be known again")]
    NoId,
    #[error("it does not say what is wanted: {0}")]
    Bad(String),
}

/// What every request has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    pub id: String,
    pub from: Option<String>,
    /// When it was given. An order without it is not carried out.
    pub issued: Option<Timestamp>,
    pub expires: Option<Timestamp>,
}

/// Longest id that is remembered.
const MOST_ID: usize = 200;

impl Order {
    pub fn verb(&self) -> Verb {
        match self {
            Self::Send(_) => Verb::Send,
            Self::Spawn(_) => Verb::Spawn,
            Self::Kill(_) => Verb::Kill,
        }
    }

    /// The payload of a request.
    pub fn write(&self, envelope: &Envelope) -> Value {
        let order = match self {
            Self::Send(send) => serde_json::to_value(send),
            Self::Spawn(spawn) => serde_json::to_value(spawn),
            Self::Kill(kill) => serde_json::to_value(kill),
        };
        let mut payload = serde_json::json!({
            "v": crate::event::VERSION,
            "id": envelope.id,
            "from": envelope.from,
            "issued": envelope.issued,
            "expires": envelope.expires,
        });
        if let (Some(payload), Ok(Value::Object(order))) = (payload.as_object_mut(), order) {
            payload.extend(order);
        }
        payload
    }

    /// The head of a request, whatever its verb.
    pub fn envelope(payload: &[u8]) -> Result<(Envelope, Value), OrderError> {
        let value: Value =
            serde_json::from_slice(payload).map_err(|e| OrderError::NotJson(e.to_string()))?;
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let id = text("id").filter(|id| !id.is_empty() && id.len() <= MOST_ID);
        let id = id.ok_or(OrderError::NoId)?.to_owned();
        let time = |key: &str| match text(key) {
            Some(time) => {
                let bad = |_| OrderError::Bad(format!("{key:?} is no time: {time:?}"));
                time.parse().map(Some).map_err(bad)
            }
            None => Ok(None),
        };
        let (issued, expires) = (time("issued")?, time("expires")?);
        let from = text("from").map(ToOwned::to_owned);
        Ok((Envelope { id, from, issued, expires }, value))
    }

    pub fn read(verb: Verb, value: Value) -> Result<Self, OrderError> {
        let bad = |e: serde_json::Error| OrderError::Bad(e.to_string());
        match verb {
            Verb::Send => serde_json::from_value(value).map(Self::Send).map_err(bad),
            Verb::Spawn => serde_json::from_value(value).map(Self::Spawn).map_err(bad),
            Verb::Kill => serde_json::from_value(value).map(Self::Kill).map_err(bad),
        }
    }
}

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyState {
    /// The host has taken it, and will carry it out once. Another reply follows.
    Accepted,
    Done,
    /// The host does not do this.
    Refused,
    /// It was tried, or could not even be.
    Failed,
    /// It came too late.
    Expired,
    /// It was begun before, and nobody knows how it went.
    Unknown,
}

impl ReplyState {
    pub fn word(self) -> &'static str {
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

/// What a host answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    pub v: u32,
    /// The request's.
    pub id: String,
    pub host: String,
    pub verb: String,
    pub state: ReplyState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// A stable word for what went wrong, and the exit code that the command would have had on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<u8>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result: Value,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn written_and_read_back() {
        let envelope = Envelope {
            id: "r1".into(),
            from: Some("desk".into()),
            issued: Some(Timestamp::from_second(1_794_600_000).unwrap()),
            expires: Some(Timestamp::from_second(1_794_700_000).unwrap()),
        };
        let kill = Kill { session: "fix".into(), now: true };
        let order = Order::Kill(kill);
        let payload = order.write(&envelope).to_string();
        let (read, value) = Order::envelope(payload.as_bytes()).unwrap();
        assert_eq!(read, envelope);
        assert_eq!(Order::read(Verb::Kill, value.clone()), Ok(order));
        assert!(matches!(Order::read(Verb::Send, value), Err(OrderError::Bad(_))));
    }

    #[test]
    fn by_hand() {
        let read = |text: &str| Order::envelope(text.as_bytes());
        assert!(matches!(read("kill it"), Err(OrderError::NotJson(_))));
        assert_eq!(read("{}"), Err(OrderError::NoId));
        assert!(matches!(read(r#"{"id":"1","expires":"soon"}"#), Err(OrderError::Bad(_))));
        let (_, value) = read(r#"{"id":"1","session":"fix","text":"hi"}"#).unwrap();
        let Ok(Order::Send(send)) = Order::read(Verb::Send, value) else {
            panic!("it can be read")
        };
        assert_eq!((send.text.as_str(), send.when, send.timeout), ("hi", When::Idle, None));
        assert_eq!(Verb::from_word("rm"), None);
    }

    #[test]
    fn the_shape_of_a_reply() {
        let reply = Reply {
            v: 1,
            id: "r1".into(),
            host: "box".into(),
            verb: "kill".into(),
            state: ReplyState::Refused,
            because: Some("no".into()),
            code: None,
            exit: None,
            result: Value::Null,
        };
        let written = json!({ "v": 1, "id": "r1", "host": "box", "verb": "kill", "state": "refused", "because": "no" });
        assert_eq!(serde_json::to_value(&reply).unwrap(), written);
        assert_eq!(serde_json::from_value::<Reply>(written).unwrap(), reply);
    }
}
