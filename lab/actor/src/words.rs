//! Placeholders in texts: `{env:NAME}`, `{cwd}`, `{input}` and those of single steps.

use serde_json::{Map, Value};

/// Replaces each `{name}` that `lookup` knows and leaves all other braces as they are, so that JSON
/// and code can stand in a text unescaped.
pub(crate) fn expand(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from_open) = rest.split_at(open);
        expanded.push_str(before);
        let known = from_open.find('}').and_then(|close| {
            let value = lookup(&from_open[1..close])?;
            Some((value, &from_open[close + 1..]))
        });
        if let Some((value, after)) = known {
            expanded.push_str(&value);
            rest = after;
        } else {
            expanded.push('{');
            rest = &from_open[1..];
        }
    }
    expanded + rest
}

/// Replaces placeholders in all strings of a JSON value; keys stay as they are.
pub(crate) fn expand_json(value: &Value, lookup: &dyn Fn(&str) -> Option<String>) -> Value {
    match value {
        Value::String(text) => Value::String(expand(text, lookup)),
        Value::Array(items) => items.iter().map(|item| expand_json(item, lookup)).collect(),
        Value::Object(fields) => Value::Object(expand_fields(fields, lookup)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

pub(crate) fn expand_fields(
    fields: &Map<String, Value>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Map<String, Value> {
    fields.iter().map(|(key, value)| (key.clone(), expand_json(value, lookup))).collect()
}

/// The words of a command given as one text: a JSON array of strings, or words between blanks.
pub(crate) fn command_words(text: &str) -> Vec<String> {
    serde_json::from_str(text)
        .unwrap_or_else(|_| text.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lookup(name: &str) -> Option<String> {
        match name {
            "n" => Some("7".to_owned()),
            "env:SECRET" => Some("{n}".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn known_names_are_replaced_once_and_the_rest_is_kept() {
        let cases = [
            ("", ""),
            ("line {n}", "line 7"),
            ("{n}{n}", "77"),
            ("{env:SECRET}", "{n}"),
            ("{other} {n", "{other} {n"),
            ("{{n}}", "{7}"),
            (r#"{"a":{"b":{n}}}"#, r#"{"a":{"b":7}}"#),
            ("ü{n}✔", "ü7✔"),
        ];
        for (text, expected) in cases {
            assert_eq!(expand(text, &lookup), expected, "{text}");
        }
    }

    #[test]
    fn strings_are_replaced_at_any_depth() {
        let value = json!({"{n}": ["{n}", {"x": "a{n}"}, 1, null]});
        let expected = json!({"{n}": ["7", {"x": "a7"}, 1, null]});
        assert_eq!(expand_json(&value, &lookup), expected);
    }

    #[test]
    fn commands_are_json_or_plain_words() {
        let cases: [(&str, &[&str]); 4] = [
            (r#"["a b", "c"]"#, &["a b", "c"]),
            ("dogwatch  hook claude", &["dogwatch", "hook", "claude"]),
            ("[not json", &["[not", "json"]),
            ("  ", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(command_words(text), expected, "{text}");
        }
    }
}
