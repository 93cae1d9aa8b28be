//! A command's output, normalised so that it is the same on every run.

use std::fmt;
use std::process::Output;

use serde_json::Value;

#[derive(Debug)]
#[must_use = "snapshot the output, or assert the exit code"]
pub struct CommandOutput {
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub code: Option<i32>,
    /// Texts that differ from run to run, and their placeholders in snapshots.
    pub known: Vec<(String, &'static str)>,
}

impl CommandOutput {
    pub fn new(output: Output, known: Vec<(String, &'static str)>) -> Self {
        Self {
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
            known,
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Fails the test unless the command succeeded.
    #[track_caller]
    pub fn success(self) -> Self {
        self.code(0)
    }

    /// Fails the test unless the command ended with this exit code.
    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// The one JSON object of the output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self}"))
    }

    /// The JSON object without the moment at which it was seen.
    #[track_caller]
    pub fn facts(&self) -> Value {
        let mut value = self.json();
        if let Some(document) = value.as_object_mut() {
            document.shift_remove("as_of");
        }
        value
    }

    /// The JSON with every value that differs from run to run replaced by its key.
    #[track_caller]
    pub fn json_shape(&self) -> String {
        let mut value = self.json();
        redact(&mut value);
        let text = serde_json::to_string_pretty(&value).unwrap_or_default();
        normalise(&text, &self.known)
    }
}

impl fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&normalise(&self.text(), &self.known))?;
        if !self.stderr.is_empty() {
            write!(f, "------- stderr -------\n{}", normalise(&self.stderr, &self.known))?;
        }
        match self.code {
            Some(0) => Ok(()),
            Some(code) => write!(f, "[exit code: {code}]"),
            None => write!(f, "[ended by a signal]"),
        }
    }
}

const CHANGING: [&str; 9] =
    ["as_of", "id", "pid", "pane", "conversation", "created", "started", "since", "version"];

fn redact(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if CHANGING.contains(&key.as_str()) && !value.is_null() {
                    *value = Value::from(format!("[{key}]"));
                } else {
                    redact(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact),
        _ => {}
    }
}

fn normalise(text: &str, known: &[(String, &'static str)]) -> String {
    let mut text = text.to_owned();
    for (found, word) in known {
        text = text.replace(found, word);
    }
    for (pattern, word) in [
        ("hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh", "$ID"),
        ("9999-99-99T99:99:99", "$TIME"),
        ("999999-999999", "$STAMP"),
    ] {
        text = mask(&text, pattern, word);
    }
    text
}

/// Replaces what matches `pattern`, in which `9` is any digit and `h` any hexadecimal digit.
fn mask(text: &str, pattern: &str, word: &str) -> String {
    let fits = |part: &str| {
        part.len() == pattern.len()
            && part.bytes().zip(pattern.bytes()).all(|(byte, wanted)| match wanted {
                b'9' => byte.is_ascii_digit(),
                b'h' => byte.is_ascii_hexdigit(),
                literal => byte == literal,
            })
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if rest.get(..pattern.len()).is_some_and(fits) {
            out.push_str(word);
            rest = &rest[pattern.len()..];
        } else {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    out
}
