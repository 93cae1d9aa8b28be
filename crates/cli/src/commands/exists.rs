use dogwatch_core::exit_code;
use dogwatch_engine::{Context, Error, observe};
use serde_json::json;

use crate::args::Exists;
use crate::ui;

pub(crate) fn exists(context: &Context, args: &Exists) -> Result<u8, Error> {
    let exists = observe::exists::session(context, &args.name)?;
    if args.json {
        ui::json(&json!({ "name": args.name, "exists": exists }));
    } else if ui::stdout_is_terminal() {
        ui::line(if exists { "yes" } else { "no" });
    }
    Ok(if exists { exit_code::OK } else { exit_code::FAILED })
}
