//! Named agent configurations in a file of the user: `{"version", "presets": [{name, createdAt, config}]}`.

use serde_json::{Map, Value};

use crate::answers::PresetName;

/// The content of such a file; unknown fields are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Presets {
    file: Map<String, Value>,
}

impl Default for Presets {
    fn default() -> Self {
        let mut file = Map::new();
        file.insert("version".into(), Value::from("1.0.0"));
        file.insert("presets".into(), Value::Array(Vec::new()));
        Self { file }
    }
}

impl Presets {
    pub fn read(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Value::Object(mut file) = value else { return Err("not an object".to_owned()) };
        file.entry("version").or_insert_with(|| Value::from("1.0.0"));
        let list = file.entry("presets").or_insert_with(|| Value::Array(Vec::new()));
        if list.is_null() {
            *list = Value::Array(Vec::new());
        }
        if !list.is_array() {
            return Err("presets is not a list".to_owned());
        }
        Ok(Self { file })
    }

    pub fn to_json(&self) -> Value {
        Value::Object(self.file.clone())
    }

    fn all(&self) -> &[Value] {
        self.file.get("presets").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Names and creation times.
    pub(crate) fn list(&self) -> Vec<PresetName> {
        let shown = |preset: &Value| PresetName {
            name: field(preset, "name").to_owned(),
            created_at: field(preset, "createdAt").to_owned(),
        };
        self.all().iter().map(shown).collect()
    }

    pub fn load(&self, name: &str) -> Option<(String, Value)> {
        let preset = self.all().iter().find(|preset| is_called(preset, name))?;
        let config = preset.get("config").cloned().unwrap_or_else(|| Value::Object(Map::new()));
        Some((field(preset, "name").to_owned(), config))
    }

    /// True if the name is new. An existing one keeps its spelling.
    pub fn save(&mut self, name: &str, config: Value, now: &str) -> bool {
        let Some(Value::Array(list)) = self.file.get_mut("presets") else { return false };
        if let Some(preset) = list.iter_mut().find(|preset| is_called(preset, name)) {
            preset["config"] = config;
            preset["createdAt"] = now.into();
            return false;
        }
        let preset = [("name", name.into()), ("createdAt", now.into()), ("config", config)];
        list.push(Map::from_iter(preset.map(|(key, value)| (key.to_owned(), value))).into());
        true
    }

    /// False if there is no such name.
    pub fn delete(&mut self, name: &str) -> bool {
        let Some(Value::Array(list)) = self.file.get_mut("presets") else { return false };
        let before = list.len();
        list.retain(|preset| !is_called(preset, name));
        list.len() < before
    }
}

fn field<'a>(preset: &'a Value, name: &str) -> &'a str {
    preset.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn is_called(preset: &Value, name: &str) -> bool {
    preset.is_object() && field(preset, "name").to_lowercase() == name.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_case_insensitive() {
        let mut presets = Presets::default();
        assert!(presets.save("All-Claude", json!({"a": 1}), "t1"));
        assert!(!presets.save("all-claude", json!({"a": 2}), "t2"));
        let listed = serde_json::to_value(presets.list()).unwrap();
        assert_eq!(listed, json!([{"name": "All-Claude", "createdAt": "t2"}]));
        assert_eq!(presets.load("ALL-CLAUDE"), Some(("All-Claude".to_owned(), json!({"a": 2}))));
        assert!(!presets.delete("x"));
        assert!(presets.delete("ALL-claude"));
        assert_eq!(presets, Presets::default());
    }

    #[test]
    fn unknown_fields_of_the_file_are_kept() {
        let mut presets =
            Presets::read("{\"version\":\"2\",\"extra\":1,\"presets\":[{\"name\":\"a\"}]}")
                .unwrap();
        assert_eq!(presets.load("A").unwrap().1, json!({}));
        presets.save("b", json!({}), "t");
        assert_eq!(presets.to_json()["extra"], 1);
        assert_eq!(Presets::read("{\"presets\":null}").unwrap().list().len(), 0);
        for text in ["{", "[]", "{\"presets\": 1}"] {
            assert!(Presets::read(text).is_err(), "{text}");
        }
    }
}
