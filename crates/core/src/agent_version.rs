//! Versions of agents: how they are read and compared, and what each can take.
//!
//! A profile describes the newest version. Older ones know fewer hook events and options, and some end, open a dialog
//! or ignore a whole file because of one word that they do not know. What must be left out before which version is
//! data: `[[before]]` in the profile.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};

use crate::profile::{FileRule, OwnWordWay, Profile};

/// Three numbers, and whether it is a release: one that is not sorts before the release of the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentVersion {
    numbers: [u64; 3],
    is_release: bool,
}

/// The text is no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a version; write it as 1.2.3")]
pub struct NoVersion {
    text: String,
}

impl FromStr for AgentVersion {
    type Err = NoVersion;

    /// Reads `1.2.3`, `v1.2`, `1.2.3-alpha.4` and `1.2.3+build`.
    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let no_version = || NoVersion { text: text.to_owned() };
        let plain = text.strip_prefix('v').unwrap_or(text);
        let end = plain.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(plain.len());
        let (numbers, rest) = plain.split_at(end);
        if !(rest.is_empty() || rest.starts_with(['-', '+'])) {
            return Err(no_version());
        }
        let parts: Result<Vec<u64>, _> = numbers.split('.').map(str::parse).collect();
        let numbers = match parts.map_err(|_| no_version())?[..] {
            [major, minor] => [major, minor, 0],
            [major, minor, patch] => [major, minor, patch],
            _ => return Err(no_version()),
        };
        Ok(Self { numbers, is_release: !rest.starts_with('-') })
    }
}

impl fmt::Display for AgentVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        let pre = if self.is_release { "" } else { "-pre" };
        write!(f, "{major}.{minor}.{patch}{pre}")
    }
}

impl<'de> Deserialize<'de> for AgentVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// The version in what a program prints when it is asked for it: `2.1.325 (Claude Code)`, `codex-cli 0.166.0`.
pub fn find(printed: &str) -> Option<&str> {
    let words =
        printed.split_whitespace().map(|word| word.trim_matches(['(', ')', ',', ';', ':', '.']));
    words.into_iter().find(|word| word.parse::<AgentVersion>().is_ok())
}

/// Versions from one to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionRange {
    pub from: AgentVersion,
    pub to: AgentVersion,
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to {
            self.from.fmt(f)
        } else {
            write!(f, "{} to {}", self.from, self.to)
        }
    }
}

/// What must not be put into versions before this one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Before {
    pub version: AgentVersion,
    /// Hook events that they do not know.
    #[serde(default)]
    pub without_events: Vec<String>,
    /// They have no hooks that could be put in.
    #[serde(default)]
    pub without_hooks: bool,
    /// What they get instead of `launch.args`.
    #[serde(default)]
    pub args: Option<Vec<String>>,
    /// Instead of `launch.conversation`.
    #[serde(default)]
    pub conversation: Option<Vec<String>>,
    /// Instead of `launch.env`.
    #[serde(default)]
    pub env: Option<BTreeMap<String, String>>,
    /// Instead of `files`.
    #[serde(default)]
    pub files: Option<Vec<FileRule>>,
}

/// Whether a version is one that was played against the model double.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Verified,
    /// Older than all of them.
    Older,
    /// Newer than all of them.
    Newer,
    /// Which version it is could not be found out.
    Unreadable,
    /// No version of this agent was.
    NeverPlayed,
}

impl Profile {
    /// The profile as this version can take it. A version that could not be found out gets what the oldest can take.
    #[must_use]
    pub fn for_version(&self, version: Option<AgentVersion>) -> Self {
        let mut fitting = self.clone();
        let concerned = self.before.iter().filter(|b| version.is_none_or(|v| v < b.version));
        for before in concerned {
            if let Some(hooks) = &mut fitting.hooks {
                hooks.events.retain(|event| !before.without_events.contains(event));
            }
            if before.without_hooks || fitting.hooks.as_ref().is_some_and(|h| h.events.is_empty()) {
                fitting.hooks = None;
            }
            let replace = |field: &mut Vec<String>, by: &Option<Vec<String>>| {
                if let Some(by) = by {
                    field.clone_from(by);
                }
            };
            replace(&mut fitting.launch.args, &before.args);
            replace(&mut fitting.launch.conversation, &before.conversation);
            if let Some(env) = &before.env {
                fitting.launch.env.clone_from(env);
            }
            if let Some(files) = &before.files {
                fitting.files.clone_from(files);
            }
        }
        fitting
    }

    /// The profile without anything that is put in for our own sake.
    #[must_use]
    pub fn bare(&self) -> Self {
        let mut bare = self.clone();
        bare.hooks = None;
        bare.files.clear();
        bare.launch.args.clear();
        bare.launch.env.clear();
        bare.launch.conversation.clear();
        if bare.own_word == Some(OwnWordWay::OpencodeHttp) {
            bare.own_word = None;
        }
        bare
    }

    /// Whether it depends on the version what is put into the agent, or what is said of it.
    pub fn depends_on_version(&self) -> bool {
        !self.before.is_empty() || self.verified.is_some()
    }

    pub fn standing(&self, version: Option<AgentVersion>) -> Standing {
        match (self.verified, version) {
            (None, _) => Standing::NeverPlayed,
            (Some(_), None) => Standing::Unreadable,
            (Some(range), Some(version)) if version < range.from => Standing::Older,
            (Some(range), Some(version)) if version > range.to => Standing::Newer,
            (Some(_), Some(_)) => Standing::Verified,
        }
    }

    /// What a person should know of this version; nothing if it was verified.
    pub fn caution(&self, version: Option<&str>) -> Option<String> {
        let parsed = version.and_then(|text| text.parse().ok());
        let range = self.verified?;
        let than = match self.standing(parsed) {
            Standing::Verified | Standing::NeverPlayed => return None,
            Standing::Unreadable => {
                return Some(format!(
                    "cannot tell the version of {}; it is started without hooks that an old one may not take",
                    self.title
                ));
            }
            Standing::Older => "older",
            Standing::Newer => "newer",
        };
        let (title, version) = (&self.title, version.unwrap_or_default());
        Some(format!("{title} {version} is {than} than what dogwatch was verified with ({range})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{builtin, builtin_names};

    fn version(text: &str) -> AgentVersion {
        text.parse().unwrap()
    }

    #[test]
    fn read_and_compared() {
        let sorted = [
            "0.9",
            "0.80.0",
            "0.101.0-alpha.3",
            "0.101.0",
            "v1.0.0",
            "2.1.9",
            "2.1.84",
            "2.1.325+x",
        ];
        assert!(sorted.map(version).is_sorted_by(|a, b| a < b));
        for bad in ["", "2", "2.x", "1.2.3.4", "1..2", "latest", "2.1.3beta", "1.2.3 (x)", "-1.2"] {
            assert!(bad.parse::<AgentVersion>().is_err(), "{bad}");
        }
        assert_eq!(version("2.1.3-rc.1").to_string(), "2.1.3-pre");
    }

    #[test]
    fn found_in_what_is_printed() {
        for (printed, want) in [
            ("2.1.325 (Claude Code)\n", Some("2.1.325")),
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("0.61.0\n", Some("0.61.0")),
            ("warning: 2 things\naider v0.86.2", Some("v0.86.2")),
            ("(1.2.3)", Some("1.2.3")),
            ("codex-cli 0.0.0-dev", Some("0.0.0-dev")),
            ("command not found", None),
            ("", None),
        ] {
            assert_eq!(find(printed), want, "{printed}");
        }
    }

    #[test]
    fn the_tables_are_in_order_and_about_what_there_is() {
        for name in builtin_names() {
            let profile = builtin(name).unwrap();
            let newest_first = |a: &Before, b: &Before| a.version > b.version;
            assert!(profile.before.is_sorted_by(newest_first), "{name}");
            let events = profile.hooks.map(|hooks| hooks.events).unwrap_or_default();
            for before in &profile.before {
                for event in &before.without_events {
                    assert!(events.contains(event), "{name} {event}");
                }
            }
            if let Some(VersionRange { from, to }) = profile.verified {
                assert!(from <= to && profile.before.iter().all(|b| b.version <= to), "{name}");
            }
        }
    }

    /// What each version gets: how many events, and its arguments without values.
    #[test]
    fn what_each_version_can_take() {
        let all = |name: &str| builtin(name).unwrap().hooks.map_or(0, |hooks| hooks.events.len());
        let table: [(&str, &str, usize, &[&str], bool); 35] = [
            // agent, version, events that it lacks, options, and whether it has files of ours
            ("claude", "2.1.325", 0, &["--settings", "--session-id"], true),
            ("claude", "9.0.0", 0, &["--settings", "--session-id"], true),
            ("claude", "2.1.138", 0, &["--settings", "--session-id"], true),
            ("claude", "2.1.84", 0, &["--settings", "--session-id"], true),
            ("claude", "2.1.84-beta.1", 1, &["--settings", "--session-id"], true),
            ("claude", "2.1.83", 1, &["--settings", "--session-id"], true),
            ("claude", "2.1.78", 1, &["--settings", "--session-id"], true),
            ("claude", "2.1.77", 2, &["--settings", "--session-id"], true),
            ("claude", "2.1.75", 3, &["--settings", "--session-id"], true),
            ("claude", "2.1.33", 3, &["--settings", "--session-id"], true),
            ("claude", "2.1.0", 4, &["--settings", "--session-id"], true),
            ("claude", "2.0.60", 4, &["--settings", "--session-id"], true),
            ("claude", "2.0.55", 5, &["--settings", "--session-id"], true),
            ("claude", "2.0.1", 7, &["--settings", "--session-id"], true),
            ("claude", "1.0.128", 7, &["--settings", "--session-id"], true),
            ("claude", "1.0.62", 8, &["--settings", "--session-id"], true),
            ("claude", "1.0.61", 9, &["--settings", "--session-id"], true),
            ("claude", "1.0.60", 16, &["--session-id"], false),
            ("claude", "1.0.51", 16, &[], false),
            ("codex", "0.166.0", 0, &["-c"], false),
            ("codex", "0.155.0", 0, &[], false),
            ("codex", "0.149.0", 1, &[], false),
            ("codex", "0.144.6", 2, &[], false),
            ("codex", "0.129.0", 2, &[], false),
            ("codex", "0.128.0", 4, &[], false),
            ("codex", "0.124.0", 4, &[], false),
            ("codex", "0.123.0", 10, &[], false),
            ("codex", "0.80.0", 10, &[], false),
            ("gemini", "0.61.0", 0, &["--session-id"], false),
            ("gemini", "0.41.0", 0, &["--session-id"], false),
            ("gemini", "0.40.1", 0, &[], false),
            ("opencode", "1.18.33", 0, &["--port"], true),
            ("opencode", "1.18.3", 0, &["--port"], true),
            ("opencode", "1.17.11", 0, &[], false),
            ("opencode", "1.2.27", 0, &[], false),
        ];
        for (name, text, lacking, options, files) in table {
            let fitting = builtin(name).unwrap().for_version(Some(version(text)));
            let events = fitting.hooks.map_or(0, |hooks| hooks.events.len());
            assert_eq!(all(name) - events, lacking, "{name} {text}");
            let arguments = fitting.launch.args.iter().chain(&fitting.launch.conversation);
            let seen: Vec<&String> = arguments.filter(|arg| arg.starts_with('-')).collect();
            assert_eq!(seen, options, "{name} {text}");
            assert_eq!(!fitting.files.is_empty(), files, "{name} {text}");
            // A password without a server, or the reverse.
            assert_eq!(
                fitting.launch.env.is_empty(),
                name != "opencode" || !files,
                "{name} {text}"
            );
        }
    }

    /// A version that cannot be told gets nothing that an old one could choke on.
    #[test]
    fn unknown_is_careful() {
        for name in ["claude", "codex", "gemini", "opencode"] {
            let profile = builtin(name).unwrap();
            let careful = profile.for_version(None);
            assert_eq!(careful.hooks, None, "{name}");
            assert!(careful.files.is_empty() && careful.launch.args.is_empty(), "{name}");
            assert!(
                careful.launch.env.is_empty() && careful.launch.conversation.is_empty(),
                "{name}"
            );
            assert_eq!(careful.launch.prompt, profile.launch.prompt, "{name}");
        }
    }

    #[test]
    fn what_is_said_of_a_version() {
        let claude = builtin("claude").unwrap();
        for (text, standing) in [
            (Some("2.1.325"), Standing::Verified),
            (Some("2.0.60"), Standing::Verified),
            (Some("2.1.326"), Standing::Newer),
            (Some("1.0.128"), Standing::Older),
            (None, Standing::Unreadable),
        ] {
            assert_eq!(claude.standing(text.map(version)), standing, "{text:?}");
            assert_eq!(claude.caution(text).is_none(), standing == Standing::Verified, "{text:?}");
        }
        assert_eq!(
            claude.caution(Some("2.1.400")).unwrap(),
            "Claude Code 2.1.400 is newer than what dogwatch was verified with (2.0.1 to 2.1.325)"
        );
        let agy = builtin("agy").unwrap();
        assert_eq!(agy.standing(None), Standing::NeverPlayed);
        assert_eq!(agy.caution(None), None);
    }
}
