//! One call: what it is, how it is refused, how it is recorded.

use std::fmt;

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::kind;
use dogwatch_core::mcp::{Policy, Right};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::event_data::ToolCall;
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
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Engine(error) => error.hint(),
            Self::NotAllowed { right, .. } => Some(format!(
                "ask_person, or have a person add {:?} to `allow` below [mcp] in config.toml",
                right.as_str()
            )),
            Self::BadArguments(_) | Self::Cancelled => None,
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
        }
    }
}

pub(crate) type Reply = Result<Value, Trouble>;

/// What a tool returns, as JSON.
pub(crate) fn reply(result: &impl Serialize) -> Reply {
    serde_json::to_value(result).map_err(|error| Trouble::BadArguments(error.to_string()))
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

/// Records that the tool was called, about which session, and how that went. A journal that cannot be written must not lose the answer.
pub(crate) fn record(
    context: &Context,
    tool: Right,
    by: String,
    session: Option<&str>,
    reply: &Reply,
) {
    let outcome = reply.as_ref().map_or_else(Trouble::code, |_| "ok").to_owned();
    let data = ToolCall { tool: tool.as_str().to_owned(), by, outcome };
    let Some(mut store) = context.store().logged("open the database") else { return };
    let known = session.filter(|name| store.knows(name).unwrap_or(false));
    store.record_event(Timestamp::now(), known, kind::TOOL_CALL, &data).logged("record a call");
}
