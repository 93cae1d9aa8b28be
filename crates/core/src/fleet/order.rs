//! Requests of one host to another, and the replies.

use jiff::Timestamp;
use serde_json::Value;

use dogwatch_protocol::fleet::{Kill, Request, Send, Spawn, Verb};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    Send(Send),
    Spawn(Spawn),
    Kill(Kill),
}

/// Why a request could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    #[error("not JSON: {0}")]
    NotJson(String),
    #[error("\"id\" is missing")]
    NoId,
    #[error("invalid request: {0}")]
    Bad(String),
}

/// The common fields of all requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    pub id: String,
    pub from: Option<String>,
    /// When it was issued. A request without it is refused.
    pub issued: Option<Timestamp>,
    pub expires: Option<Timestamp>,
}

impl Envelope {
    fn around<T>(&self, order: T) -> Request<T> {
        Request {
            v: crate::event::VERSION,
            id: self.id.clone(),
            from: self.from.clone(),
            issued: self.issued,
            expires: self.expires,
            order,
        }
    }
}

/// Longest id that is stored.
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
        let written = match self {
            Self::Send(order) => serde_json::to_value(envelope.around(order)),
            Self::Spawn(order) => serde_json::to_value(envelope.around(order)),
            Self::Kill(order) => serde_json::to_value(envelope.around(order)),
        };
        // Texts, numbers and times: cannot fail.
        written.unwrap_or_default()
    }

    /// Reads the common fields of a request, whatever its verb.
    pub fn envelope(payload: &[u8]) -> Result<(Envelope, Value), OrderError> {
        let value: Value =
            serde_json::from_slice(payload).map_err(|e| OrderError::NotJson(e.to_string()))?;
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let id = text("id").filter(|id| !id.is_empty() && id.len() <= MOST_ID);
        let id = id.ok_or(OrderError::NoId)?.to_owned();
        let time = |key: &str| match text(key) {
            Some(time) => {
                let bad = |_| OrderError::Bad(format!("{key:?} is not a time: {time:?}"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::When;
    use crate::fleet::{Reply, ReplyState};
    use serde_json::json;

    #[test]
    fn a_request_is_written_and_read_back() {
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
    fn a_request_written_by_hand_is_read() {
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
