use dogwatch_core::exit_code;
use dogwatch_engine::actions::label::{self, Moved};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::label::{ArchivedSession, ArchivedSessions};
use jiff::Timestamp;

use crate::args::{Archive, Unarchive};
use crate::ui;

pub(crate) fn archive(context: &Context, args: &Archive) -> Result<u8, Error> {
    let moved = label::archive(context, &args.sessions, Timestamp::now())?;
    Ok(tell(&moved, true))
}

pub(crate) fn unarchive(context: &Context, args: &Unarchive) -> Result<u8, Error> {
    let moved = label::unarchive(context, &args.sessions, Timestamp::now())?;
    Ok(tell(&moved, false))
}

fn tell(moved: &[Moved], archived: bool) -> u8 {
    let shape = |one: &Moved| ArchivedSession {
        name: one.session.name.clone(),
        id: one.session.id.clone(),
        archived,
        changed: one.changed,
    };
    if ui::prints_json() {
        ui::json(&ArchivedSessions { sessions: moved.iter().map(shape).collect() });
        return exit_code::OK;
    }
    for one in moved {
        let words = match (archived, one.changed) {
            (true, true) => "archived",
            (true, false) => "was archived already",
            (false, true) => "back from the archive",
            (false, false) => "was not archived",
        };
        ui::line(format_args!("{}: {words}", one.session.name));
    }
    exit_code::OK
}
