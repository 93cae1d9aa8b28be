//! The fields between two `---` lines at the top of a Markdown file, read and changed without touching the rest.
//!
//! Only unindented lines are fields: `key: value`, a list on one line, or a list of `- item` lines below
//! an empty value. Nested blocks are not changed.

use std::fmt::Write as _;

use super::front_matter::split;

/// The fields of one file, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    fields: Vec<(String, Field)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    Text(String),
    List(Vec<String>),
}

impl Fields {
    /// A file without front matter has no fields.
    pub fn read(text: &str) -> Self {
        let mut fields: Vec<(String, Field)> = Vec::new();
        let mut open = false;
        for line in split(text).0.unwrap_or_default().lines() {
            if let Some((key, value)) = pair(line) {
                let value = plain(value);
                open = value.is_empty();
                fields.push((key.to_owned(), field(value)));
            } else if let Some(item) = line.trim_start().strip_prefix("- ").filter(|_| open) {
                if let Some((_, field)) = fields.last_mut() {
                    let item = unquoted(plain(item));
                    match field {
                        Field::List(items) => items.push(item),
                        Field::Text(_) => *field = Field::List(vec![item]),
                    }
                }
            } else if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
                open = false;
            }
        }
        Self { fields }
    }

    /// Of several with the same name the last one counts.
    pub fn get(&self, key: &str) -> Option<&Field> {
        self.fields.iter().rev().find(|(known, _)| known == key).map(|(_, field)| field)
    }

    /// The text of a field; empty if it is missing or a list.
    pub fn text(&self, key: &str) -> &str {
        match self.get(key) {
            Some(Field::Text(text)) => text,
            _ => "",
        }
    }

    /// The same, with YAML's null values as empty.
    pub fn text_or_nothing(&self, key: &str) -> &str {
        match self.text(key) {
            "null" | "~" => "",
            text => text,
        }
    }

    /// The items of a field; a text is a list of one.
    pub fn list(&self, key: &str) -> Vec<String> {
        match self.get(key) {
            Some(Field::List(items)) => items.clone(),
            Some(Field::Text(text)) if !text.is_empty() && text != "null" => vec![text.clone()],
            _ => Vec::new(),
        }
    }

    pub fn is_empty(&self, key: &str) -> bool {
        match self.get(key) {
            None => true,
            Some(Field::Text(text)) => text.trim().is_empty(),
            Some(Field::List(items)) => items.is_empty(),
        }
    }
}

/// The text with another value in every front matter line with this key; `None` if there is none.
pub fn set(text: &str, key: &str, value: &str) -> Option<String> {
    let head = head(text)?;
    let mut found = false;
    let mut changed = String::with_capacity(text.len());
    for line in head.split_inclusive('\n') {
        if pair(line).is_some_and(|(known, _)| known == key) {
            found = true;
            let end = line.trim_end_matches(['\n', '\r']).len();
            let _ = write!(changed, "{key}: {value}{}", &line[end..]);
        } else {
            changed.push_str(line);
        }
    }
    changed.push_str(&text[head.len()..]);
    found.then_some(changed)
}

/// The front matter including its `---` lines.
pub(super) fn head(text: &str) -> Option<&str> {
    let (front, body) = split(text);
    front.map(|_| &text[..text.len() - body.len()])
}

/// Quotes a value so that it is read back unchanged. Lists and quoted values stay as they are.
pub fn written(value: &str) -> String {
    let is_list = value.starts_with('[') && value.ends_with(']');
    if is_list || is_quoted(value) || plain(value) == value && unquoted(value) == value {
        return value.to_owned();
    }
    serde_json::Value::from(value).to_string()
}

/// An unindented field.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = !key.is_empty()
        && !key.starts_with(['#', '-', ' ', '\t', '"', '\''])
        && !key.contains(char::is_whitespace);
    is_key.then(|| (key, value.trim()))
}

/// A value without a trailing comment.
fn plain(value: &str) -> &str {
    let value = value.trim();
    let after = match value.chars().next() {
        Some('"') => closing(value),
        Some('\'') => value[1..].find('\'').map(|at| at + 2),
        _ => None,
    };
    if let Some(after) = after {
        let rest = value[after..].trim_start();
        return if rest.is_empty() || rest.starts_with('#') { &value[..after] } else { value };
    }
    if value.starts_with('#') {
        return "";
    }
    value.find(" #").map_or(value, |at| value[..at].trim_end())
}

/// The position after the quote that closes the first one.
fn closing(value: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, letter) in value.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn field(value: &str) -> Field {
    let Some(inner) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return Field::Text(unquoted(value));
    };
    if let Ok(items) = serde_json::from_str::<Vec<String>>(value) {
        return Field::List(items);
    }
    let items = inner.split(',').map(|item| unquoted(item.trim()));
    Field::List(items.filter(|item| !item.is_empty()).collect())
}

fn is_quoted(value: &str) -> bool {
    value.len() > 1
        && (value.starts_with('"') && closing(value) == Some(value.len())
            || value.starts_with('\'') && value.ends_with('\''))
}

fn unquoted(value: &str) -> String {
    if !is_quoted(value) {
        return value.to_owned();
    }
    let inner = &value[1..value.len() - 1];
    if value.starts_with('"') {
        serde_json::from_str(value).unwrap_or_else(|_| inner.to_owned())
    } else {
        inner.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\n# note\nepic: 1 # c\nname: \"A \\\"q\\\" # x\"  # old\nrange: [\"1.1\", \"1.2\"]\nloose: [1.1, '1.2']\nbelow:\n  - a\n  - \"b\"\nnested:\n  name: inner\nurl: http://x\nlast: null\n---\nname: body\n";

    #[test]
    fn fields_are_read() {
        let fields = Fields::read(TEXT);
        assert_eq!(fields.text("epic"), "1");
        assert_eq!(fields.text("name"), "A \"q\" # x");
        assert_eq!(fields.list("range"), ["1.1", "1.2"]);
        assert_eq!(fields.list("loose"), ["1.1", "1.2"]);
        assert_eq!(fields.list("below"), ["a", "b"]);
        assert_eq!(fields.text("url"), "http://x");
        assert_eq!((fields.text("last"), fields.text_or_nothing("last")), ("null", ""));
        assert!(fields.is_empty("nested") && fields.get("missing").is_none());
        for none in ["", "\n---\na: 1\n---\n", "---\na: 1\n", "--- \nx"] {
            assert_eq!(Fields::read(none), Fields::default(), "{none:?}");
        }
        assert_eq!(Fields::read("---\r\na: 1\r\n---\r\n").text("a"), "1");
    }

    #[test]
    fn only_the_front_matter_is_changed() {
        let text = "---\nnote: a\r\n  note: in\nnote: b\n---\nnote: body\n";
        let changed = set(text, "note", "x").unwrap();
        assert_eq!(changed, "---\nnote: x\r\n  note: in\nnote: x\n---\nnote: body\n");
        assert_eq!(set(text, "missing", "x"), None);
        assert_eq!(set("note: a\n", "note", "x"), None);
    }

    #[test]
    fn a_written_value_is_read_back() {
        for value in ["PAUSED", "a # b", "#x", " padded", "1.2", "\"open", "it's: so", "", "é"] {
            let text = format!("---\nk: {}\n---\n", written(value));
            assert_eq!(Fields::read(&text).text("k"), value, "{text}");
        }
        for kept in ["PAUSED", "[\"1.1\"]", "\"x\"", "null", "1.2", "it's: so"] {
            assert_eq!(written(kept), kept);
        }
    }
}
