//! `docs/schemas` is what the types say. `UPDATE_SCHEMAS=1` writes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dogwatch_protocol::{event, fleet};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// The schema of what is printed under this name.
fn printed<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// The schema of what is read under this name.
fn read<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>()
}

/// A request has the title and the description of what is asked.
fn request<T: JsonSchema>(title: &str) -> Schema {
    let mut schema = read::<fleet::Request<T>>();
    schema.insert("title".to_owned(), title.into());
    if let Some(description) = read::<T>().get("description") {
        schema.insert("description".to_owned(), description.clone());
    }
    schema
}

fn all() -> BTreeMap<&'static str, Schema> {
    BTreeMap::from([
        ("event", printed::<event::Event>()),
        ("host-status", printed::<fleet::HostStatus>()),
        ("session-state", printed::<fleet::SessionState>()),
        ("reply", printed::<fleet::Reply>()),
        ("request-send", request::<fleet::Send>("Request: send")),
        ("request-spawn", request::<fleet::Spawn>("Request: spawn")),
        ("request-kill", request::<fleet::Kill>("Request: kill")),
    ])
}

#[test]
fn schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    let update = std::env::var_os("UPDATE_SCHEMAS").is_some();
    for (name, schema) in all() {
        let path = folder.join(format!("{name}.json"));
        let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        if update {
            fs::write(&path, &text).unwrap();
        }
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            there == text,
            "{name}.json is not what the types say; UPDATE_SCHEMAS=1 cargo test writes it"
        );
    }
}
