use dogwatch_core::exit_code;
use dogwatch_engine::actions::label;
use dogwatch_engine::{Context, Error};
use jiff::Timestamp;

use super::tag;
use crate::args::Rename;
use crate::ui;

pub(crate) fn rename(context: &Context, args: &Rename) -> Result<u8, Error> {
    let session = label::rename(context, &args.session, &args.title.join(" "), Timestamp::now())?;
    if ui::prints_json() {
        ui::json(&tag::shape(&session));
    } else {
        let title = session.title.clone().map_or("no title".to_owned(), ui::harmless);
        ui::line(format_args!("{}: {title}", session.name));
    }
    Ok(exit_code::OK)
}
