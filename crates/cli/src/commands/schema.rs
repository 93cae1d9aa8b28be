use dogwatch_core::{exit_code, suggest};
use dogwatch_engine::Error;
use dogwatch_protocol::schemas;
use dogwatch_protocol::tools::SchemaNames;

use crate::args::SchemaArgs;
use crate::ui;
use crate::usage::UsageError;

/// Prints one schema, or the names of all.
pub(crate) fn schema(args: &SchemaArgs) -> Result<u8, Error> {
    let all = schemas::all().map_err(|error| Error::io("read the schemas")(error.into()))?;
    let Some(name) = &args.name else {
        let names: Vec<String> = all.keys().cloned().collect();
        if ui::prints_json() {
            ui::json(&SchemaNames { schemas: names });
        } else {
            names.iter().for_each(ui::line);
        }
        return Ok(exit_code::OK);
    };
    let Some(schema) = all.get(name) else {
        let meant = suggest::nearest(name, all.keys().map(String::as_str)).map(ToOwned::to_owned);
        return Err(UsageError::UnknownSchema { given: name.clone(), meant }.into());
    };
    if ui::prints_json() {
        ui::json(schema);
    } else {
        ui::line(format_args!("{schema:#}"));
    }
    Ok(exit_code::OK)
}
