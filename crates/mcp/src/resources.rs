//! What clients may attach to a conversation: `dogwatch://sessions`, `dogwatch://session/NAME`.

use dogwatch_core::mcp::{Right, Verb};
use dogwatch_engine::Error;
use dogwatch_engine::error::SessionError;
use dogwatch_engine::observe::{listing, status};
use jiff::Timestamp;
use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::Value;

use crate::call::{Reply, Trouble, reply};
use crate::read;
use crate::server::Shared;

const ALL: &str = "dogwatch://sessions";
const ONE: &str = "dogwatch://session/";
const JSON: &str = "application/json";

/// What a resource is, and the tool that returns the same.
pub(crate) enum Address {
    All,
    One(String),
}

impl Address {
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        match uri.strip_prefix(ONE) {
            _ if uri == ALL => Some(Self::All),
            Some(name) if !name.is_empty() => Some(Self::One(decoded(name))),
            _ => None,
        }
    }

    pub(crate) fn verb(&self) -> Verb {
        match self {
            Self::All => Verb::Sessions,
            Self::One(_) => Verb::Why,
        }
    }

    pub(crate) fn session(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::One(name) => Some(name),
        }
    }
}

pub(crate) fn list(shared: &Shared) -> Result<Vec<Resource>, Trouble> {
    let all = Resource::new(ALL, "sessions")
        .with_description("All sessions and what each one is doing")
        .with_mime_type(JSON);
    let one = |name: &str| {
        Resource::new(format!("{ONE}{}", encoded(name)), name)
            .with_description("What this session is doing, with the evidence")
            .with_mime_type(JSON)
    };
    if !shared.options.policy.allows(Right::Use(Verb::Why)) {
        return Ok(vec![all]);
    }
    let sessions = read::list(shared, &[])?.sessions;
    Ok([all].into_iter().chain(sessions.iter().map(|session| one(&session.name))).collect())
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let one = ResourceTemplate::new(format!("{ONE}{{name}}"), "session");
    vec![one.with_description("What a session is doing, with the evidence").with_mime_type(JSON)]
}

pub(crate) fn read(shared: &Shared, address: &Address) -> Reply {
    match address {
        Address::All => reply(&read::list(shared, &[])?),
        Address::One(name) => {
            reply(&listing::report(&status::one(&shared.context, name, Timestamp::now())?))
        }
    }
}

pub(crate) fn contents(uri: &str, value: &Value) -> ReadResourceResult {
    let contents = ResourceContents::text(value.to_string(), uri).with_mime_type(JSON);
    ReadResourceResult::new(vec![contents])
}

/// What the client gets instead.
pub(crate) fn error(trouble: &Trouble) -> ErrorData {
    let text = format!("error ({}): {trouble}", trouble.code());
    match trouble {
        Trouble::NotAllowed { .. } => ErrorData::invalid_request(text, None),
        Trouble::Engine(Error::Session(SessionError::NoSuchSession { .. })) => {
            ErrorData::resource_not_found(text, None)
        }
        _ => ErrorData::internal_error(text, None),
    }
}

pub(crate) fn unknown(uri: &str) -> ErrorData {
    let uri = crate::brief::cut(uri, 60);
    let text = format!("no such resource: {uri:?}; resources: {ALL}, {ONE}NAME");
    ErrorData::resource_not_found(text, None)
}

/// As a part of an address: what is neither a letter nor a digit of ASCII is written as `%XX`.
fn encoded(name: &str) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing into a string does not fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte =
            code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_address() {
        for name in ["api", "a b", "é%2", "%", "a/b", "100%"] {
            assert_eq!(decoded(&encoded(name)), name);
        }
        assert_eq!(encoded("a b"), "a%20b");
        assert_eq!(decoded("%zz%4"), "%zz%4");
    }
}
