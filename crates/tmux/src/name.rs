use std::fmt;
use std::str::FromStr;

/// Prefix of dogwatch's own sessions, which are hidden from lists.
pub const ANCHOR_PREFIX: &str = "_dogwatch";

/// A session name that tmux keeps unchanged and that, written `=name:`, means exactly that session.
///
/// tmux reads a leading `$` as an id even after `=`, and falls back to the session of a *client*
/// of that name (`/dev/pts/3`, `client-1234`) when no session has it. A session with such a
/// name must be addressed by its [`crate::SessionNo`].
///
/// tmux expands formats in the name of a new session: pass it through [`crate::escape_format`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName(String);

/// A text that cannot be an exact session name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} cannot be used as a tmux session name: {reason}")]
pub struct BadName {
    pub name: String,
    pub reason: &'static str,
}

impl SessionName {
    pub fn new(name: impl Into<String>) -> Result<Self, BadName> {
        let name = name.into();
        match objection(&name) {
            Some(reason) => Err(BadName { name, reason }),
            None => Ok(Self(name)),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn objection(name: &str) -> Option<&'static str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if name.is_empty() {
        Some("empty")
    } else if name.contains([':', '.']) {
        Some("tmux replaces `:` and `.`")
    } else if name.contains(['$', '\\']) {
        Some("tmux escapes `$` and backslashes")
    } else if name.chars().any(char::is_control) {
        Some("it contains control characters")
    } else if name.starts_with(['=', '@', '%']) {
        Some("tmux reads its first character as part of a target")
    } else if name.strip_prefix("client-").is_some_and(is_number)
        || name.starts_with("/dev/")
        || name.strip_prefix("pts/").is_some_and(is_number)
        || name.strip_prefix("ttys").is_some_and(is_number)
    {
        Some("tmux reads it as the name of a client")
    } else {
        None
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for SessionName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionName {
    type Err = BadName;

    fn from_str(name: &str) -> Result<Self, BadName> {
        Self::new(name)
    }
}

impl TryFrom<String> for SessionName {
    type Error = BadName;

    fn try_from(name: String) -> Result<Self, BadName> {
        Self::new(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_exact() {
        for name in ["web", "web-2_b", "proj/feature", "Größe 3", "client-x", "a=b", "-x", "a#b"]
        {
            assert_eq!(SessionName::new(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn ambiguous_names_are_refused() {
        for name in [
            "",
            "a:b",
            "a.b",
            "a\nb",
            "$3",
            "a$b",
            "a\\b",
            "=web",
            "@1",
            "%1",
            "client-77",
            "/dev/pts/3",
        ] {
            assert!(SessionName::new(name).is_err(), "{name:?}");
        }
    }
}
