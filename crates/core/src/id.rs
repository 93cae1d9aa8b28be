//! Ids that become the name of a file or folder of ours. They come from environment variables, hooks and other programs' files,
//! so they are parsed before any path is made of them.

use std::fmt;
use std::str::FromStr;

/// Longest id accepted, in bytes. A UUID has 36.
pub const MAX_LEN: usize = 128;

/// The id of a session, parsed: never a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionId(String);

/// Why a text cannot be an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{shown:?} is not an id: 1 to {MAX_LEN} ASCII letters, digits, '-', '_' and '.', with '%' allowed in front"
)]
pub struct BadId {
    shown: String,
}

impl SessionId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        if is_id(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(BadId { shown: text.chars().take(MAX_LEN).collect() })
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a text can be an id: one name of a file, not hidden, and no option on a command line. Agents that dogwatch did not
/// start have the id of their pane in front, `%3-…`.
pub fn is_id(text: &str) -> bool {
    let rest = text.strip_prefix('%').unwrap_or(text);
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    text.len() <= MAX_LEN
        && rest.starts_with(|c: char| c.is_ascii_alphanumeric())
        && rest.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_an_id() {
        let longest = "x".repeat(MAX_LEN);
        for good in [
            "0199d5c4-7c1e-7cc0-a8a4-8a2b5d6c7e8f",
            "%3-812-99",
            "261115-081318-ab12",
            "run-00ff",
            "a.b_c",
            &longest,
        ] {
            assert_eq!(good.parse::<SessionId>().unwrap().as_str(), good);
        }
        let too_long = "x".repeat(MAX_LEN + 1);
        for bad in [
            "",
            ".",
            "..",
            "../dogwatch.db",
            "..%2fdogwatch.db",
            "a/b",
            "/etc/passwd",
            "-rf",
            ".hidden",
            "%",
            "%%1",
            "%-1",
            "a b",
            "a\nb",
            "a\0b",
            "a\\b",
            "é",
            "a%",
            &too_long,
        ] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad:?}");
        }
    }
}
