//! A small schema language in which a policy describes the reading of a transcript.

use serde_json::{Map, Value};

/// The required keys and their types.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    required: Vec<String>,
    shape: Map<String, Value>,
}

impl Schema {
    /// `None` if the text is not a schema.
    pub fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let shape = value.get("schema")?.as_object().filter(|shape| !shape.is_empty())?.clone();
        let required = match value.get("requiredKeys") {
            None => shape.keys().cloned().collect(),
            Some(keys) => {
                let keys = keys.as_array()?.iter().map(|key| key.as_str().map(ToOwned::to_owned));
                keys.collect::<Option<Vec<_>>>()?
            }
        };
        Some(Self { required, shape })
    }

    /// As shown to the model.
    pub fn shape(&self) -> Value {
        Value::Object(self.shape.clone())
    }

    /// Whether a reading matches. Additional keys are allowed.
    pub fn fits(&self, reading: &Value) -> bool {
        let Some(reading) = reading.as_object() else { return false };
        self.required.iter().all(|key| reading.contains_key(key)) && fits_all(&self.shape, reading)
    }
}

fn fits_all(shape: &Map<String, Value>, reading: &Map<String, Value>) -> bool {
    shape.iter().all(|(key, kind)| reading.get(key).is_some_and(|value| fits(kind, value)))
}

fn fits(kind: &Value, value: &Value) -> bool {
    match (kind, value) {
        (Value::Object(shape), Value::Object(reading)) => fits_all(shape, reading),
        (Value::String(kind), value) => fits_kind(kind, value),
        _ => false,
    }
}

fn fits_kind(kind: &str, value: &Value) -> bool {
    let text = || value.as_str().filter(|text| !text.trim().is_empty());
    match kind {
        "integer" => value.is_i64() || value.is_u64(),
        "true|false" => value.is_boolean(),
        "path or null" => value.is_null() || text().is_some(),
        words if words.contains('|') && !words.contains(' ') => {
            value.as_str().is_some_and(|value| words.split('|').any(|word| word == value))
        }
        _ => text().is_some(),
    }
}

/// The first matching object in a model's answer: on one line, over several, or in a code block.
pub fn find_fitting(answer: &str, schema: &Schema) -> Option<Value> {
    objects(answer).find(|value| schema.fits(value))
}

/// All JSON objects in a text, only outermost ones.
fn objects(text: &str) -> impl Iterator<Item = Value> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(at) = text[from..].find('{') {
            let start = from + at;
            let mut values =
                serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
            if let Some(Ok(value)) = values.next() {
                from = start + values.byte_offset();
                return Some(value);
            }
            from = start + 1;
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn review() -> Schema {
        Schema::read(include_str!("../../data/parse/review.json")).unwrap()
    }

    fn auto(tests_added: Value, summary: &str) -> Value {
        json!({"status": "SUCCESS", "tests_added": tests_added, "coverage_improved": true, "summary": summary, "next_action": "proceed"})
    }

    #[test]
    fn values_match_their_kinds() {
        let schema = Schema::read(include_str!("../../data/parse/auto.json")).unwrap();
        assert!(schema.fits(&auto(json!(4), "s")));
        assert!(!schema.fits(&auto(json!(4.0), "s")));
        assert!(!schema.fits(&auto(json!(true), "s")));
        assert!(!schema.fits(&auto(json!(4), " ")));
        let table = [
            ("path or null", json!(null), true),
            ("path or null", json!("x"), true),
            ("path or null", json!(""), false),
            ("A|B", json!("B"), true),
            ("A|B", json!("C"), false),
            ("true|false", json!("true"), false),
            ("a word or two", json!("x"), true),
        ];
        for (kind, value, fitting) in table {
            assert_eq!(fits_kind(kind, &value), fitting, "{kind} {value}");
        }
    }

    #[test]
    fn nested_parts_are_all_required() {
        let part = |issues: Value| json!({"status": "FAILURE", "issues_found": issues, "all_fixed": false, "summary": "s", "next_action": "retry"});
        let all = json!({"critical": 1, "high": 0, "medium": 2, "low": 3});
        assert!(review().fits(&part(all)));
        assert!(!review().fits(&part(json!({"critical": 1}))));
    }

    #[test]
    fn an_answer_may_contain_other_text() {
        let schema = Schema::read(include_str!("../../data/parse/retro.json")).unwrap();
        let answer = "Sure {not json}:\n```json\n{\n  \"status\": \"SUCCESS\",\n  \"summary\": \"a { b\",\n  \"next_action\": \"proceed\"\n}\n```\n";
        assert_eq!(find_fitting(answer, &schema).unwrap()["summary"], "a { b");
        assert_eq!(find_fitting("hello {}", &schema), None);
        assert_eq!(find_fitting("{{{{ é", &schema), None);
    }
}
