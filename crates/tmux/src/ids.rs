//! tmux's own ids. They restart at 0 with the server, so store the server's pid and start
//! time with them.

use std::fmt;
use std::str::FromStr;

/// A text that is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a tmux {kind} id")]
pub struct BadId {
    pub kind: &'static str,
    pub text: String,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $sigil:literal, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($sigil, "{}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                text.strip_prefix($sigil)
                    // The parser of u32 accepts a leading plus.
                    .filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
                    .and_then(|number| number.parse().ok())
                    .map(Self)
                    .ok_or_else(|| BadId { kind: $kind, text: text.to_owned() })
            }
        }
    };
}

id! {
    /// A pane, `%3`.
    PaneId, '%', "pane"
}
id! {
    /// A window, `@3`.
    WindowId, '@', "window"
}
id! {
    /// A session by number, `$3`. It survives a rename.
    SessionNo, '$', "session"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        assert_eq!("%12".parse::<PaneId>().unwrap().to_string(), "%12");
        assert_eq!("@0".parse::<WindowId>().unwrap(), WindowId(0));
        assert_eq!("$7".parse::<SessionNo>().unwrap(), SessionNo(7));
    }

    #[test]
    fn nothing_else_is_an_id() {
        for text in ["", "%", "3", "@3", "%-1", "%+1", "%1 ", "%1:2", "%99999999999"] {
            assert!(text.parse::<PaneId>().is_err(), "{text:?}");
        }
    }
}
