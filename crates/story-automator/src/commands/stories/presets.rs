//! `agent-config`: named agent configurations.

use std::path::Path;

use crate::decide::presets::Presets;
use dogwatch_base::log::Logged as _;
use dogwatch_bmad::{read_text, write_text};
use serde_json::Value;

use super::{Call, Reply, no, trouble};
use crate::answers::{
    NoPreset, PresetChanged, PresetLoaded, PresetNames, PresetsInvalid, Subcommand, failure,
    success,
};
use crate::reply::pretty;

pub(super) fn answer(call: &Call) -> Reply {
    let Some((action, rest)) = call.split() else { return no("missing_subcommand") };
    if !matches!(action, "list" | "save" | "load" | "delete") {
        let subcommand = Subcommand { subcommand: action };
        return Reply::raw_json(&failure("unknown_subcommand", subcommand)).failed();
    }
    let given = |option: &str| rest.option(option).filter(|value| !value.trim().is_empty());
    let (name, config) = (given("--name"), given("--config-json"));
    let file = rest.option("--file").filter(|file| !file.is_empty());
    let file = match (action, file, name, config) {
        ("list", None, ..) => return no("missing_file"),
        ("list", Some(file), ..)
        | ("load" | "delete", Some(file), Some(_), _)
        | (_, Some(file), Some(_), Some(_)) => file,
        _ => return no("missing_args"),
    };
    let config = config.and_then(object);
    if action == "save" && config.is_none() {
        return no("invalid_config_json");
    }
    let path = Path::new(file);
    let read = if path.is_dir() { Ok(None) } else { read_text(&call.project(), path) };
    let presets = match read {
        Err(error) => return trouble(call, &error),
        Ok(None) => Presets::default(),
        Ok(Some(text)) => match Presets::read(&text) {
            Ok(presets) => presets,
            Err(fault) => {
                let invalid = PresetsInvalid { file, detail: fault };
                return Reply::raw_json(&failure("presets_file_invalid", invalid)).failed();
            }
        },
    };
    match (action, name, config) {
        ("load", Some(name), _) => match presets.load(name) {
            None => unknown(name),
            Some((name, config)) => Reply::raw_json(&success(PresetLoaded { name, config })),
        },
        ("delete", Some(name), _) => delete(call, path, presets, name),
        ("save", Some(name), Some(config)) => save(call, path, presets, name, config),
        _ => {
            let presets = presets.list();
            let count = presets.len();
            Reply::raw_json(&success(PresetNames { presets, count }))
        }
    }
}

fn object(text: &str) -> Option<Value> {
    serde_json::from_str(text).logged("read JSON").filter(Value::is_object)
}

fn unknown(name: &str) -> Reply {
    Reply::raw_json(&failure("preset_not_found", NoPreset { name })).failed()
}

fn save(call: &Call, path: &Path, mut presets: Presets, name: &str, config: Value) -> Reply {
    let action = if presets.save(name, config, &super::now()) { "created" } else { "updated" };
    written(call, path, &presets, name, action)
}

fn delete(call: &Call, path: &Path, mut presets: Presets, name: &str) -> Reply {
    if !presets.delete(name) {
        return unknown(name);
    }
    written(call, path, &presets, name, "deleted")
}

fn written(call: &Call, path: &Path, presets: &Presets, name: &str, action: &str) -> Reply {
    match write_text(&call.project(), path, &format!("{}\n", pretty(&presets.to_json()))) {
        Ok(()) => Reply::raw_json(&success(PresetChanged { name, action })),
        Err(error) => trouble(call, &error),
    }
}
