//! The kinds of secrets, as data.

use std::sync::LazyLock;

use regex_lite::Regex;
use serde::Deserialize;

use super::flat::{Fill, Span};
use super::near::{self, Clues, Haystack};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    pub(super) common_names: Vec<String>,
    #[serde(rename = "rule")]
    pub(super) rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) name: String,
    /// Its matches are keys by their form, in any context.
    #[serde(default)]
    pub(super) is_a_key: bool,
    /// It identifies a person, and is not a secret.
    #[serde(default)]
    pub(super) personal: bool,
    /// One of these, in lower case, is in every match.
    words: Vec<String>,
    /// How far before one of them a match may begin.
    #[serde(default = "close")]
    before: usize,
    /// Characters that soon follow them.
    #[serde(default)]
    then: String,
    #[serde(deserialize_with = "regex")]
    pattern: Regex,
    #[serde(default)]
    needs_digit: bool,
    #[serde(default)]
    keep: String,
}

fn close() -> usize {
    24
}

pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a test parses the built-in file")]
    toml::from_str(include_str!("../../masks.toml")).expect("invariant: built-in masks parse")
});

impl Rule {
    #[cfg(test)]
    pub(super) fn has_hidden_part(&self) -> bool {
        self.pattern.capture_names().flatten().any(|name| name == "hide")
    }

    pub(super) fn spans(&'static self, hay: &Haystack) -> impl Iterator<Item = Span> {
        let clues = Clues { words: &self.words, before: self.before, then: &self.then };
        let found = near::find(hay, clues, &self.pattern, "hide").into_iter();
        let is_secret = |text: &str| {
            let has_digit = text.bytes().any(|b| b.is_ascii_digit());
            (has_digit || !self.needs_digit) && !stands_for_something(text)
        };
        let secret = found.filter(move |hidden| is_secret(hidden.text));
        secret.map(|hidden| Span { at: hidden.at, fill: Fill::Secret(&self.keep) })
    }
}

/// Words in the place of a secret that are not one: types, and descriptions.
const NO_SECRETS: [&str; 27] = [
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "string",
    "str",
    "bytes",
    "text",
    "number",
    "int",
    "bool",
    "boolean",
    "any",
    "object",
    "optional",
    "required",
    "missing",
    "invalid",
    "expired",
    "empty",
    "unset",
    "unknown",
    "wrong",
    "incorrect",
    "the",
];

/// `$TOKEN`, `${TOKEN}`, `<token>`, `null`: a placeholder for a secret.
fn stands_for_something(text: &str) -> bool {
    let inner =
        text.strip_prefix('$').map(|name| name.trim_start_matches('{').trim_end_matches('}'));
    let is_variable =
        |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    let word = text.trim_matches(|c: char| "&()<>[]{},;:*?!.".contains(c));
    let is_word = NO_SECRETS.iter().any(|one| word.eq_ignore_ascii_case(one));
    inner.is_some_and(is_variable) || is_word || (text.starts_with('<') && text.ends_with('>'))
}

fn regex<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Regex, D::Error> {
    let pattern = String::deserialize(deserializer)?;
    Regex::new(&pattern).map_err(serde::de::Error::custom)
}
