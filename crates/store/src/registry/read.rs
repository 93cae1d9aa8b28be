use std::collections::BTreeMap;
use std::path::Path;

use dogwatch_core::registry::Registry;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::MOST_BYTES;
use crate::StoreError;

/// Reads a registry: the whole document, and the typed part of it.
pub(super) fn read(path: &Path, text: &str) -> Result<(Value, Registry), StoreError> {
    let bad =
        |place, message: String| StoreError::BadRegistry { path: path.to_owned(), place, message };
    if text.len() > MOST_BYTES {
        let message = format!("{} bytes; at most {MOST_BYTES} are allowed", text.len());
        return Err(bad(None, message));
    }
    let value: Value = parse(text).map_err(|(place, message)| bad(place, message))?;
    match Registry::from_value(&value) {
        Ok(registry) => Ok((value, registry)),
        // Parse again with a reader that reports the position.
        Err(problem) => {
            let place = parse::<Shape>(text).err().and_then(|(place, _)| place);
            Err(bad(place, problem.to_string()))
        }
    }
}

/// Any YAML document, strictly.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, (Option<(u64, u64)>, String)> {
    if is_empty(text) {
        return serde_json::from_value(Value::Null)
            .or_else(|_| serde_json::from_value(Value::Object(Map::new())))
            .map_err(|error| (None, error.to_string()));
    }
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.location().map(|at| (at.line(), at.column()));
        (place, first_line(&error.to_string()))
    })
}

/// Nothing but comments.
pub(super) fn is_empty(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#')
    })
}

/// The position is reported separately, so remove it from the message.
fn first_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    match line.split_once(": ") {
        Some((place, rest)) if place.starts_with("line ") => rest.to_owned(),
        _ => line.split(" at line ").next().unwrap_or(line).to_owned(),
    }
}

/// The required structure of a registry.
#[derive(Deserialize)]
#[expect(dead_code, reason = "only whether it can be read is of interest")]
struct Shape {
    #[serde(default)]
    version: Option<u8>,
    #[serde(default)]
    sessions: Option<BTreeMap<String, Option<Map<String, Value>>>>,
}
