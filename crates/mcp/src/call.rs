//! One call: what it is, how it is refused, how it is recorded.

use std::fmt;

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::kind;
use dogwatch_core::mcp::{Policy, Right, Verb};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::event_data::ToolCall;
use dogwatch_protocol::id::SessionId;
use dogwatch_store::Store;
use jiff::Timestamp;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::brief;

/// Longest part of a wrong argument that is repeated in an error.
const MOST_REPEATED: usize = 200;

/// Why a call failed. The agent reads it, and decides what to do by it.
#[derive(Debug)]
pub(crate) enum Trouble {
    Engine(Error),
    BadArguments(String),
    /// A person has not allowed it.
    NotAllowed {
        right: Right,
        what: String,
    },
    Cancelled,
    /// A fault of dogwatch itself.
    Internal(String),
}

impl<E: Into<Error>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}

impl Trouble {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Engine(error) => error.code(),
            Self::BadArguments(_) => dogwatch_engine::error::BAD_ARGUMENT,
            Self::NotAllowed { .. } => "not_allowed",
            Self::Cancelled => "cancelled",
            Self::Internal(_) => dogwatch_engine::error::INTERNAL,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Engine(error) => error.hint(),
            Self::NotAllowed { right, .. } => Some(format!(
                "ask_person, or have a person add {:?} to `allow` below [mcp] in config.toml",
                right.as_str()
            )),
            Self::BadArguments(_) | Self::Cancelled | Self::Internal(_) => None,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => {
                write!(f, "{}", brief::cut(&error.to_string(), 4 * MOST_REPEATED))
            }
            Self::BadArguments(problem) => write!(f, "bad arguments: {problem}"),
            Self::NotAllowed { what, .. } => write!(f, "not allowed: {what}"),
            Self::Cancelled => write!(f, "cancelled"),
            Self::Internal(what) => write!(f, "a fault of dogwatch: {what}"),
        }
    }
}

pub(crate) type Reply = Result<Value, Trouble>;

/// What a tool returns, as JSON.
pub(crate) fn reply(result: &impl Serialize) -> Reply {
    serde_json::to_value(result).map_err(|error| Trouble::Internal(error.to_string()))
}

/// As the client gets it: the structured result, and the same as text for clients that know only that.
pub(crate) fn result(reply: Reply) -> CallToolResult {
    match reply {
        Ok(value) => CallToolResult::structured(value),
        Err(trouble) => {
            let hint = trouble.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            let text = format!("error ({}): {trouble}{hint}", trouble.code());
            CallToolResult::error(vec![ContentBlock::text(text)])
        }
    }
}

/// The arguments of a tool.
pub(crate) fn arguments<T: DeserializeOwned>(given: Option<JsonObject>) -> Result<T, Trouble> {
    serde_json::from_value(Value::Object(given.unwrap_or_default()))
        .map_err(|error| Trouble::BadArguments(brief::cut(&error.to_string(), MOST_REPEATED)))
}

pub(crate) fn must_be_allowed(
    policy: &Policy,
    right: Right,
    what: impl FnOnce() -> String,
) -> Result<(), Trouble> {
    if policy.allows(right) { Ok(()) } else { Err(Trouble::NotAllowed { right, what: what() }) }
}

/// How a call went, in a word.
pub(crate) fn outcome(reply: &Reply) -> &'static str {
    reply.as_ref().map_or_else(Trouble::code, |_| "ok")
}

/// The session that a result is about: `spawn` and `job_result` know it only afterwards.
pub(crate) fn about(reply: &Reply) -> Option<String> {
    let value = reply.as_ref().ok()?;
    value.get("name").or(value.get("session"))?.as_str().map(ToOwned::to_owned)
}

/// Records that the tool was called, about which session, and how that went. A journal that cannot be written must not lose the answer.
pub(crate) fn record(
    context: &Context,
    verb: Verb,
    by: String,
    session: Option<&str>,
    outcome: &str,
) {
    let data = ToolCall { tool: verb.as_str().to_owned(), by, outcome: outcome.to_owned() };
    let Some(mut store) = context.store().logged("open the database") else { return };
    let about = session.and_then(|name| id_of(context, &store, name));
    let about = about.as_deref();
    store.record_event(Timestamp::now(), about, kind::TOOL_CALL, &data).logged("record a call");
}

/// The session that a name or an id stands for, as far as the database knows.
fn id_of(context: &Context, store: &Store, name: &str) -> Option<SessionId> {
    let by_id = store.by_id(name).logged("find a session").flatten();
    let named = || {
        let named = store.named(&context.socket, name).logged("find a session")?;
        named.into_iter().find(|session| !session.archived)
    };
    by_id.or_else(named).map(|session| session.id)
}
