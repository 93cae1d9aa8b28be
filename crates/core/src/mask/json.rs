//! JSON stays valid JSON: each string in it is masked separately.

use serde_json::{Map, Value};

use super::names::says_secret;
use super::{Fill, Masks, Span, flat};

impl Masks {
    /// Masks all strings of a value, field names too. A field whose name marks a secret is hidden completely.
    pub fn json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => self.items(items),
            Value::Object(fields) => {
                let mut masked = Map::new();
                for (name, value) in fields {
                    let value =
                        if is_secret(&name) { self.hidden(value) } else { self.json(value) };
                    masked.insert(free(&masked, self.text(&name)), value);
                }
                Value::Object(masked)
            }
            other => other,
        }
    }

    /// JSON lines, as agents write their transcripts. A line that is not JSON is masked as text.
    pub fn json_lines(&self, lines: &str) -> String {
        let mut out = String::with_capacity(lines.len());
        for line in lines.lines() {
            match serde_json::from_str(line) {
                Ok(value) => out.push_str(&self.json(value).to_string()),
                Err(_) => out.push_str(&self.text(line)),
            }
            out.push('\n');
        }
        out
    }

    /// In a command line, the word after `--token` is a secret.
    fn items(&self, items: Vec<Value>) -> Value {
        let is_option = |item: &Value| {
            item.as_str()
                .is_some_and(|word| word.starts_with('-') && is_secret(word) && !word.contains('='))
        };
        let mut after_option = false;
        let masked = items.into_iter().map(|item| {
            let is_secret = std::mem::replace(&mut after_option, is_option(&item));
            if is_secret && item.is_string() { self.hidden(item) } else { self.json(item) }
        });
        masked.collect()
    }

    fn hidden(&self, value: Value) -> Value {
        match value {
            Value::String(text) => {
                let all = Span { at: 0..text.len(), fill: Fill::Secret("") };
                Value::String(flat::replace(&text, &[all]))
            }
            Value::Array(items) => items.into_iter().map(|item| self.hidden(item)).collect(),
            Value::Object(fields) => {
                let hide = |(name, value): (String, Value)| (self.text(&name), self.hidden(value));
                fields.into_iter().map(hide).collect()
            }
            other => other,
        }
    }
}

/// A field with the plain name `key` may be anything.
fn is_secret(name: &str) -> bool {
    !matches!(name, "key" | "keys" | "Key" | "Keys") && says_secret(name)
}

/// The strings of a value whose field names mark secrets.
pub fn secrets_of(value: &Value) -> Vec<String> {
    let Value::Object(fields) = value else { return Vec::new() };
    let found = fields.iter().flat_map(|(name, value)| match value {
        Value::String(text) if is_secret(name) => vec![text.clone()],
        other => secrets_of(other),
    });
    found.collect()
}

/// Two names may become equal by masking; no field may be lost for that.
fn free(taken: &Map<String, Value>, name: String) -> String {
    let mut free = name.clone();
    let mut number = 1;
    while taken.contains_key(&free) {
        number += 1;
        free = format!("{name}#{number}");
    }
    free
}
