use dogwatch_core::exit_code;
use dogwatch_engine::{Context, Error, observe};
use dogwatch_protocol::session;

use crate::args::Exists;
use crate::ui;

pub(crate) fn exists(context: &Context, args: &Exists) -> Result<u8, Error> {
    let exists = observe::exists::session(context, &args.name)?;
    if ui::prints_json() {
        ui::json(&session::Exists { name: args.name.clone(), exists });
    } else if ui::stdout_is_terminal() {
        ui::line(if exists { "yes" } else { "no" });
    }
    Ok(if exists { exit_code::OK } else { exit_code::FAILED })
}
