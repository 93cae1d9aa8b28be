//! The JSON Schemas of everything that is printed, published or written for others, by name.

use serde_json::{Map, Value};

/// One JSON object, which the test `schemas` writes from the types.
const BUNDLE: &str = include_str!("../schemas.json");

/// All of them, in the order of their names.
pub fn all() -> serde_json::Result<Map<String, Value>> {
    serde_json::from_str(BUNDLE)
}
