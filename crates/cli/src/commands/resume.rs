use dogwatch_core::exit_code;
use dogwatch_engine::actions::spawn::Spawned;
use dogwatch_engine::registry::resume::{Manner, Resumption};
use dogwatch_engine::{Context, Error};
use serde_json::{Value, json};

use crate::args::Resume;
use crate::commands::spawn;
use crate::{environment, ui};

pub(crate) fn resume(context: &Context, args: &Resume) -> Result<u8, Error> {
    let managed = environment::managed_registry(context, &args.which_registry, false)?;
    let mut resumption = Resumption::new(&managed)?;
    let names = if args.all { resumption.fallen() } else { args.names.clone() };
    let manner = Manner {
        unattended: args.unattended,
        extra_args: args.args.clone(),
        caller_env: std::env::vars_os().collect(),
    };
    let now = environment::local_time();
    let results: Vec<(String, Result<Spawned, Error>)> = names
        .into_iter()
        .map(|name| {
            let result = resumption.resume(&name, &manner, &now);
            (name, result)
        })
        .collect();
    if args.json {
        let resumed: Vec<Value> = results.iter().map(to_json).collect();
        ui::json(&json!({ "resumed": resumed }));
    } else if results.is_empty() {
        ui::talk("nothing to bring back");
    } else {
        for (name, result) in &results {
            match result {
                Ok(spawned) => {
                    let id = spawned.conversation.as_deref().unwrap_or_default();
                    ui::line(format_args!("{name}: goes on with {id}"));
                }
                Err(error) => {
                    ui::talk(format_args!("{name}: {error}"));
                    if let (Some(hint), false) = (error.hint(), args.all) {
                        ui::talk(format_args!("hint: {hint}"));
                    }
                }
            }
        }
    }
    let failed = results.iter().find_map(|(_, result)| result.as_ref().err());
    Ok(failed.map_or(exit_code::OK, Error::exit_code))
}

fn to_json((name, result): &(String, Result<Spawned, Error>)) -> Value {
    match result {
        Ok(spawned) => spawn::to_json(spawned),
        Err(error) => json!({
            "name": name,
            "error": { "code": error.code(), "message": error.to_string() },
        }),
    }
}
