//! Usage limits: what to do about one, and when.
//!
//! [`decide`] decides from facts; [`until`] reads the time that an agent gave; [`account`] says whose limit it is.

pub mod account;
pub mod decide;
pub mod until;
pub mod windows;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use account::Account;
pub use decide::{Decision, Facts, Known, Seen, decide};

/// What to do when an agent meets a usage limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum WhenLimited {
    /// Report it, and do nothing.
    #[default]
    Notify,
    /// Continue once it is over.
    Wait,
    /// Switch to another model of the same agent and continue.
    Switch(String),
    /// Start another agent with the same task.
    Fallback(String),
}

/// A word that is no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown policy {given:?}; use notify, wait, switch:MODEL or fallback:AGENT")]
pub struct BadPolicy {
    pub given: String,
}

impl WhenLimited {
    /// Reads `notify`, `wait`, `switch:MODEL` or `fallback:AGENT`.
    pub fn parse(text: &str) -> Result<Self, BadPolicy> {
        let bad = || BadPolicy { given: text.to_owned() };
        // It becomes a word of a command that is typed into the agent, or the name of an agent.
        let word = |word: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/[]@".contains(c);
            let is_word = !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain);
            is_word.then(|| word.to_owned()).ok_or_else(bad)
        };
        match text.split_once(':') {
            None if text == "notify" => Ok(Self::Notify),
            None if text == "wait" => Ok(Self::Wait),
            Some(("switch", model)) => word(model).map(Self::Switch),
            Some(("fallback", agent)) => word(agent).map(Self::Fallback),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for WhenLimited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Notify => f.write_str("notify"),
            Self::Wait => f.write_str("wait"),
            Self::Switch(model) => write!(f, "switch:{model}"),
            Self::Fallback(agent) => write!(f, "fallback:{agent}"),
        }
    }
}

impl Serialize for WhenLimited {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WhenLimited {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Which window a limit is about, where its text says so: `5-hour`, `weekly`.
pub fn window(text: &str) -> Option<&'static str> {
    let text = text.to_ascii_lowercase();
    let windows = [
        ("5-hour", "5-hour"),
        ("5 hour", "5-hour"),
        ("session limit", "5-hour"),
        ("weekly", "weekly"),
        ("7-day", "weekly"),
        ("daily", "daily"),
        ("per day", "daily"),
        ("monthly", "monthly"),
        ("per minute", "minute"),
    ];
    windows.iter().find(|(words, _)| text.contains(words)).map(|(_, window)| *window)
}

/// Whether a limit is of one model alone: others of the account go on.
pub fn is_of_a_model(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let before = text.split("limit").next().unwrap_or_default();
    ["opus", "sonnet", "haiku", "fable", "gpt-", "gemini-"]
        .iter()
        .any(|model| before.contains(model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_words() {
        for text in ["notify", "wait", "switch:claude-sonnet-5", "switch:gpt-5.5", "fallback:codex"]
        {
            assert_eq!(WhenLimited::parse(text).unwrap().to_string(), text);
        }
        for text in
            ["", "Wait", "wait:1", "switch", "switch:", "switch:a b", "fallback:--x", "switch:a\nb"]
        {
            assert!(WhenLimited::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn windows_and_models() {
        let table = [
            ("5-hour limit reached ∙ resets 3pm", Some("5-hour"), false),
            ("You've hit your session limit · resets 2:30am (UTC)", Some("5-hour"), false),
            ("You've hit your weekly limit · resets Nov 20, 3pm", Some("weekly"), false),
            ("Opus weekly limit reached ∙ resets Nov 20", Some("weekly"), true),
            ("You’ve hit your usage limit. Try again at 3:15 PM.", None, false),
            ("API Error: 429 Requests per minute", Some("minute"), false),
        ];
        for (text, expected, of_model) in table {
            assert_eq!(window(text), expected, "{text}");
            assert_eq!(is_of_a_model(text), of_model, "{text}");
        }
    }
}
