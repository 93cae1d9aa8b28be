use dogwatch_core::exit_code;
use dogwatch_engine::actions::spawn::Spawned;
use dogwatch_engine::registry::resume::{Manner, Resumption};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::registry::{Resumed, ResumedSessions};

use crate::args::Resume;
use crate::commands::spawn;
use crate::{environment, report, ui};

pub(crate) fn resume(context: &Context, args: &Resume) -> Result<u8, Error> {
    let managed = environment::managed_registry(context, &args.which_registry, false)?;
    let (mut resumption, names) = if args.all_lost {
        Resumption::of_lost(&managed)?
    } else {
        let resumption = Resumption::new(&managed)?;
        let names = if args.all { resumption.fallen() } else { args.names.clone() };
        (resumption, names)
    };
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
    if ui::prints_json() {
        ui::json(&ResumedSessions { resumed: results.iter().map(shape).collect() });
    } else if results.is_empty() {
        ui::talk("nothing to resume");
    } else {
        for (name, result) in &results {
            match result {
                Ok(spawned) => {
                    let id = spawned.conversation.as_deref().unwrap_or_default();
                    ui::line(format_args!("{name}: resumed conversation {id}"));
                }
                Err(error) => {
                    ui::talk(format_args!("{name}: {error}"));
                    if let (Some(hint), false) = (error.hint(), args.all || args.all_lost) {
                        ui::talk(format_args!("hint: {hint}"));
                    }
                }
            }
        }
    }
    let failed = results.iter().find_map(|(_, result)| result.as_ref().err());
    Ok(failed.map_or(exit_code::OK, Error::exit_code))
}

fn shape((name, result): &(String, Result<Spawned, Error>)) -> Resumed {
    match result {
        Ok(spawned) => Resumed::Done(spawn::shape(spawned)),
        Err(error) => Resumed::Failed { name: name.clone(), error: report::detail(error) },
    }
}
