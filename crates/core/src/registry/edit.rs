use serde_json::{Map, Value};

/// Sets one value in the file. Missing maps on the path to it are created.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    pub path: Vec<String>,
    pub value: Value,
}

impl Edit {
    /// A field of a session, or a field within one: `status`, `agent_identities.claude.session_id`.
    pub fn field(session: &str, field: &str, value: impl Into<Value>) -> Self {
        let mut path = entry_path(session);
        path.extend(field.split('.').map(ToOwned::to_owned));
        Self { path, value: value.into() }
    }

    /// A whole session.
    pub fn entry(session: &str, value: Value) -> Self {
        Self { path: entry_path(session), value }
    }
}

pub fn entry_path(session: &str) -> Vec<String> {
    vec!["sessions".to_owned(), session.to_owned()]
}

/// Applies edits to the parsed file: the reference for checking the edited text.
pub fn apply(value: &mut Value, edits: &[Edit]) {
    for edit in edits {
        let mut at = &mut *value;
        for key in &edit.path {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[key.as_str()];
        }
        *at = edit.value.clone();
    }
}
