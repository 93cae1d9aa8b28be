//! What clients may attach to a conversation: `dogwatch://sessions`, `dogwatch://session/NAME`.

use dogwatch_engine::observe::status;
use jiff::Timestamp;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use crate::call::{Trouble, reply};
use crate::read;
use crate::server::Shared;

const ALL: &str = "dogwatch://sessions";
const ONE: &str = "dogwatch://session/";
const JSON: &str = "application/json";

pub(crate) fn list(shared: &Shared) -> Result<Vec<Resource>, Trouble> {
    let all = Resource::new(ALL, "sessions")
        .with_description("All sessions and what each one is doing")
        .with_mime_type(JSON);
    let one = |name: &str| {
        Resource::new(format!("{ONE}{}", encoded(name)), name)
            .with_description("What this session is doing, with the evidence")
            .with_mime_type(JSON)
    };
    let sessions = read::list(shared, &[])?.sessions;
    Ok([all].into_iter().chain(sessions.iter().map(|session| one(&session.name))).collect())
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let one = ResourceTemplate::new(format!("{ONE}{{name}}"), "session");
    vec![one.with_description("What a session is doing, with the evidence").with_mime_type(JSON)]
}

pub(crate) fn read(shared: &Shared, uri: &str) -> Result<ReadResourceResult, Trouble> {
    let value = if uri == ALL {
        reply(&read::list(shared, &[])?)?
    } else if let Some(name) = uri.strip_prefix(ONE).filter(|name| !name.is_empty()) {
        let name = decoded(name);
        reply(&read::report(&status::one(&shared.context, &name, Timestamp::now())?))?
    } else {
        let known = format!("{ALL}, {ONE}NAME");
        return Err(Trouble::BadArguments(format!("no such resource; resources: {known}")));
    };
    let contents = ResourceContents::text(value.to_string(), uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![contents]))
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
