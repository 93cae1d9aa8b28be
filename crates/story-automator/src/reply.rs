//! The answer to a call: a text for each stream, and the exit code.

use std::io::{self, Write as _};

use dogwatch_base::log::Logged as _;
use serde::Serialize;

use crate::answers::{Detail, failure};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: u8,
}

impl Reply {
    pub(crate) fn text(stdout: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), ..Self::default() }
    }

    /// One line.
    pub(crate) fn line(text: impl std::fmt::Display) -> Self {
        Self::text(format!("{text}\n"))
    }

    /// JSON on one line, everything beyond ASCII escaped.
    pub(crate) fn json(value: &impl Serialize) -> Self {
        Self::line(escaped(&compact(value)))
    }

    /// JSON on one line, unescaped.
    pub(crate) fn raw_json(value: &impl Serialize) -> Self {
        Self::line(compact(value))
    }

    /// A message for a person, and failure.
    pub(crate) fn refused(stderr: impl Into<String>) -> Self {
        Self { stderr: stderr.into(), code: 1, ..Self::default() }
    }

    pub(crate) fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// The same answer, as a failure.
    pub(crate) fn failed(self) -> Self {
        self.with_code(1)
    }
}

fn compact(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| {
        let fault = failure("internal_error", Detail { detail: error.to_string() });
        serde_json::to_string(&fault).unwrap_or_default()
    })
}

/// JSON over several lines, everything beyond ASCII escaped.
pub(crate) fn pretty(value: &impl Serialize) -> String {
    escaped(&serde_json::to_string_pretty(value).logged("write JSON").unwrap_or_default())
}

/// JSON over several lines, unescaped.
pub(crate) fn pretty_raw(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).logged("write JSON").unwrap_or_default()
}

/// Every character beyond ASCII as `\uXXXX`, as a surrogate pair if necessary.
fn escaped(json: &str) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter.is_ascii() {
            text.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

/// Prints a warning to stderr that the answer has no field for.
pub(crate) fn warn(words: impl std::fmt::Display) {
    // A caller that is gone cannot be notified.
    let _ = writeln!(io::stderr(), "{}", dogwatch_core::terminal::coloured(&words.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_beyond_ascii_are_escaped_unless_asked_for() {
        let value = serde_json::json!({"a": "é😀", "b": [1, true]});
        assert_eq!(
            Reply::json(&value).stdout,
            "{\"a\":\"\\u00e9\\ud83d\\ude00\",\"b\":[1,true]}\n"
        );
        assert_eq!(Reply::raw_json(&value).stdout, "{\"a\":\"é😀\",\"b\":[1,true]}\n");
    }
}
