use std::cmp::Ordering;
use std::fmt;

/// A tmux release, as printed by `tmux -V` or `#{version}`.
#[derive(Debug, Clone)]
pub struct Version {
    major: u32,
    minor: u32,
    /// `next-3.6` and `3.7-rc2` come before 3.6 and 3.7.
    released: bool,
    /// 0 for `3.3`, 1 for `3.3a`.
    letter: u8,
    text: String,
}

impl Version {
    /// Parses `tmux 3.3a`, `3.2`, `tmux next-3.6`, `tmux 3.7-rc`, `tmux openbsd-7.4`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix("tmux ").unwrap_or(text).trim();
        if let Some(system) = text.strip_prefix("openbsd-") {
            let (major, minor, _) = numbers(system)?;
            // OpenBSD's base tmux has the system's version; 6.9 was released with the code of 3.2.
            let minor = if (major, minor) >= (6, 9) { 2 } else { 1 };
            return Some(Self { major: 3, minor, released: true, letter: 0, text: text.into() });
        }
        let (number, next) = match text.strip_prefix("next-") {
            Some(number) => (number, true),
            None => (text, false),
        };
        let (major, minor, rest) = numbers(number)?;
        let (letter, rest) = match rest.as_bytes() {
            [letter @ b'a'..=b'z', ..] => (letter - b'a' + 1, &rest[1..]),
            _ => (0, rest),
        };
        let released = !next && !rest.starts_with("-rc");
        Some(Self { major, minor, released, letter, text: text.into() })
    }

    /// Whether this crate's formats and flags exist; they need 3.2.
    pub fn is_supported(&self) -> bool {
        (self.major, self.minor) >= (3, 2)
    }

    /// Before 3.6, a server built with utempter (Debian, Ubuntu) may miss the end of a pane's
    /// process: the pane is dead, its status is unknown until another child of the server exits,
    /// such as `run-shell -b true`.
    pub fn may_lose_exit_status(&self) -> bool {
        (self.major, self.minor) < (3, 6)
    }

    fn key(&self) -> (u32, u32, bool, u8) {
        (self.major, self.minor, self.released, self.letter)
    }
}

fn numbers(text: &str) -> Option<(u32, u32, &str)> {
    let (major, rest) = text.split_once('.')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest[..end].parse().ok()?, &rest[end..]))
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap_or_else(|| panic!("{text:?} is a version"))
    }

    #[test]
    fn versions_are_ordered() {
        let order = [
            "tmux 2.9a",
            "3.0",
            "tmux 3.1c",
            "tmux 3.2-rc3",
            "3.2",
            "tmux 3.2a",
            "tmux 3.3a\n",
            "3.5",
            "tmux next-3.6",
            "tmux 3.6a",
            "tmux 3.7-rc",
            "3.7",
            "3.10",
            "4.0",
        ];
        for pair in order.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn supported_from_3_2() {
        for (text, supported) in [
            ("tmux 3.1c", false),
            ("tmux 3.2", true),
            ("tmux 3.3a", true),
            ("tmux next-3.6", true),
            ("tmux openbsd-7.4", true),
            ("tmux openbsd-6.6", false),
            ("tmux 1.8", false),
        ] {
            assert_eq!(version(text).is_supported(), supported, "{text}");
        }
    }

    #[test]
    fn versions_that_may_lose_an_exit_status() {
        assert!(version("3.3a").may_lose_exit_status());
        assert!(version("3.5a").may_lose_exit_status());
        assert!(!version("3.6").may_lose_exit_status());
    }

    #[test]
    fn other_text_is_not_a_version() {
        for text in ["", "tmux", "tmux master", "screen 4", "3", "tmux x.y"] {
            assert!(Version::parse(text).is_none(), "{text:?}");
        }
    }
}
