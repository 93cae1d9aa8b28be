use std::collections::HashMap;
use std::str::FromStr;

use dogwatch_core::registry::{Edit, VERSION};
use serde_json::{Map, Value};
use yaml_edit::{Document, Mapping, MappingBuilder, ScalarValue, SequenceBuilder};

use super::read;

const SESSIONS: &str = "sessions";

/// Applies the edits to the text; fails with what could not be done.
pub(super) fn edit(text: &str, edits: &[Edit]) -> Result<String, String> {
    let seeded;
    let text = if read::is_empty(text) {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        seeded = format!("{text}{gap}version: {VERSION}\nsessions:\n");
        &seeded
    } else {
        text
    };
    let document = Document::from_str(text).map_err(|error| error.to_string())?;
    let root = document.as_mapping().ok_or("the top level is not a map")?;
    let mut known = Known::default();
    for edit in edits {
        known.carry_out(&root, edit)?;
    }
    Ok(document.to_string())
}

/// Fails unless the edited text says exactly what was intended.
pub(super) fn must_say(text: &str, meant: &Value) -> Result<(), String> {
    let said: Value = read::parse(text).map_err(|(_, message)| message)?;
    // An empty `sessions:` and a missing one mean the same.
    let is_same = said == *meant || plain(&said) == plain(meant);
    if is_same { Ok(()) } else { Err("the edited text would have another meaning".to_owned()) }
}

/// Without what we add to an empty file.
fn plain(value: &Value) -> Value {
    let mut value = value.clone();
    if let Value::Object(map) = &mut value {
        if map.get("version") == Some(&VERSION.into()) {
            map.shift_remove("version");
        }
        if map.get(SESSIONS).is_some_and(Value::is_null) {
            map.shift_remove(SESSIONS);
        }
    }
    value
}

/// Caches the maps of sessions: searching each from the start takes too long in a large file.
#[derive(Default)]
struct Known {
    sessions: Option<Mapping>,
    entries: HashMap<String, Mapping>,
}

impl Known {
    fn carry_out(&mut self, root: &Mapping, edit: &Edit) -> Result<(), String> {
        let [sessions, session, fields @ ..] = edit.path.as_slice() else {
            return Err("only sessions are edited".into());
        };
        debug_assert_eq!(sessions, SESSIONS);
        let all = self.sessions(root)?;
        let Some((last, way)) = fields.split_last() else {
            self.entries.remove(session);
            set(&all, session, &edit.value);
            return Ok(());
        };
        let mut map = self.entry(&all, session)?;
        for key in way {
            map = child(&map, key)?;
        }
        set(&map, last, &edit.value);
        Ok(())
    }

    fn sessions(&mut self, root: &Mapping) -> Result<Mapping, String> {
        if let Some(known) = &self.sessions {
            return Ok(known.clone());
        }
        let all = child(root, SESSIONS)?;
        for entry in all.entries() {
            let name = entry.key_node().and_then(|key| Some(key.as_scalar()?.as_string()));
            let fields = entry.value_node().and_then(|value| value.as_mapping().cloned());
            if let Some((name, fields)) = name.zip(fields) {
                self.entries.insert(name, fields);
            }
        }
        self.sessions = Some(all.clone());
        Ok(all)
    }

    fn entry(&mut self, all: &Mapping, session: &str) -> Result<Mapping, String> {
        if let Some(known) = self.entries.get(session) {
            return Ok(known.clone());
        }
        let entry = child(all, session)?;
        self.entries.insert(session.to_owned(), entry.clone());
        Ok(entry)
    }
}

/// The map under a key, created if missing.
fn child(map: &Mapping, key: &str) -> Result<Mapping, String> {
    if let Some(found) = map.get_mapping(key) {
        return Ok(found);
    }
    map.set(key, Mapping::new_pending_block());
    map.get_mapping(key).ok_or_else(|| format!("cannot turn {key:?} into a map"))
}

fn set(map: &Mapping, key: &str, value: &Value) {
    match value {
        Value::Object(fields) if fields.is_empty() => map.set(key, Mapping::new()),
        Value::Object(fields) => {
            let built = object(MappingBuilder::new(), fields).build_document();
            if let Some(built) = built.as_mapping() {
                map.set(key, built);
            }
        }
        Value::Array(items) => {
            let built = list(SequenceBuilder::new(), items).build_document();
            if let Some(built) = built.as_sequence() {
                map.set(key, built);
            }
        }
        Value::String(text) => map.set(key, scalar(text)),
        Value::Bool(word) => map.set(key, *word),
        Value::Number(number) => match number.as_i64() {
            Some(number) => map.set(key, number),
            None => map.set(key, number.as_f64().unwrap_or_default()),
        },
        Value::Null => map.set(key, None::<&str>),
    }
}

fn object(builder: MappingBuilder, fields: &Map<String, Value>) -> MappingBuilder {
    fields.iter().fold(builder, |builder, (key, value)| match value {
        Value::Object(fields) => builder.mapping(key, |inner| object(inner, fields)),
        Value::Array(items) => builder.sequence(key, |inner| list(inner, items)),
        Value::String(text) => builder.pair(key, scalar(text)),
        Value::Bool(word) => builder.pair(key, *word),
        Value::Number(number) => match number.as_i64() {
            Some(number) => builder.pair(key, number),
            None => builder.pair(key, number.as_f64().unwrap_or_default()),
        },
        Value::Null => builder.pair(key, None::<&str>),
    })
}

fn list(builder: SequenceBuilder, items: &[Value]) -> SequenceBuilder {
    items.iter().fold(builder, |builder, item| match item {
        Value::String(text) => builder.item(scalar(text)),
        other => builder.item(other.to_string()),
    })
}

/// A text, quoted where any YAML reader, old ones too, could read it as another type.
fn scalar(text: &str) -> ScalarValue {
    let said: Option<Value> = read::parse(text).ok();
    if said == Some(Value::from(text)) {
        ScalarValue::string(text)
    } else {
        ScalarValue::double_quoted(text)
    }
}
