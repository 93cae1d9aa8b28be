//! Ids, each with its own type: the id of a job cannot be used for a session.
//!
//! Ids that become the name of a file or directory also come from environment variables, hooks and other programs' files, so they
//! are validated before they are used in a path.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::record::ProcessIdent;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl PartialEq<String> for $name {
            fn eq(&self, other: &String) -> bool {
                self.0 == *other
            }
        }

        impl PartialEq<$name> for String {
            fn eq(&self, other: &$name) -> bool {
                *self == other.0
            }
        }

        impl PartialEq<$name> for str {
            fn eq(&self, other: &$name) -> bool {
                *self == *other.0
            }
        }
    };
}

id!(
    /// A session. Managed ones have a UUID; an unmanaged agent has an id made of its pane and process.
    SessionId
);
id!(
    /// A job.
    JobId
);
id!(
    /// A message.
    MessageId
);
id!(
    /// A run of a workflow.
    RunId
);

/// Longest id accepted, in bytes. A UUID has 36.
pub const MAX_LEN: usize = 128;

/// Why a text cannot be an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadId {
    shown: String,
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.shown;
        write!(
            f,
            "{shown:?} is not an id: 1 to {MAX_LEN} ASCII letters, digits, '-', '_' and '.', with '%' allowed in front"
        )
    }
}

impl std::error::Error for BadId {}

impl FromStr for SessionId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        if is_id(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(BadId { shown: text.chars().take(MAX_LEN).collect() })
    }
}

/// Whether a text can be an id: a single file name, not hidden, and not an option on a command line. Ids of unmanaged agents
/// begin with the id of their pane, `%3-…`.
pub fn is_id(text: &str) -> bool {
    let rest = text.strip_prefix('%').unwrap_or(text);
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    text.len() <= MAX_LEN
        && rest.starts_with(|c: char| c.is_ascii_alphanumeric())
        && rest.bytes().all(allowed)
}

impl SessionId {
    /// The id of an unmanaged agent. It contains the process: another agent in the same pane is another session.
    pub fn unmanaged(pane: &str, process: ProcessIdent) -> Self {
        Self(format!("{pane}-{}-{}", process.pid, process.start))
    }

    /// Who started the session with this id. Ids also come from outside; one that names no process is managed.
    pub fn origin(&self) -> Origin {
        let named = || {
            let mut parts = self.0.strip_prefix('%')?.splitn(3, '-').skip(1);
            let (pid, start) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            Some(Origin::Unmanaged { process: ProcessIdent { pid, start } })
        };
        named().unwrap_or(Origin::Managed)
    }
}

/// Who started a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Origin {
    /// dogwatch: it has a runner, records of its start and end, and hooks.
    #[default]
    Managed,
    /// Not dogwatch. This is the first process of the agent in its pane.
    Unmanaged { process: ProcessIdent },
}

impl Origin {
    pub fn is_managed(self) -> bool {
        self == Self::Managed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_managed_from_unmanaged_sessions() {
        let process = ProcessIdent { pid: 41, start: 99 };
        let id = SessionId::unmanaged("%3", process);
        assert_eq!((id.as_str(), id.origin()), ("%3-41-99", Origin::Unmanaged { process }));
        for text in ["", "%", "%3", "%3-", "%3-x-y", "%3-1", "0190-1-2"] {
            assert_eq!(SessionId::from(text).origin(), Origin::Managed, "{text}");
        }
    }

    #[test]
    fn valid_and_invalid_ids() {
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
