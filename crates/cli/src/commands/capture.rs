use dogwatch_core::exit_code;
use dogwatch_engine::observe::capture;
use dogwatch_engine::observe::status;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::session;

use crate::args::Capture;
use crate::ui;

pub(crate) fn capture(context: &Context, args: &Capture) -> Result<u8, Error> {
    let seen = status::shown(context, &args.session)?;
    let captured = capture::capture(context, &seen, args.lines, args.ansi)?;
    if ui::prints_json() {
        ui::json(&session::Capture {
            name: seen.session.name,
            id: seen.session.id,
            state: seen.life.state,
            from: captured.from,
            text: String::from_utf8_lossy(&captured.text).into_owned(),
        });
        return Ok(exit_code::OK);
    }
    match captured.from {
        capture::From::Pane => {}
        capture::From::Kept => ui::talk("note: the session has ended; this is its last screen"),
        capture::From::Transcript => {
            ui::talk("note: the session has ended; this is the end of its transcript");
        }
    }
    ui::screen(&captured.text);
    Ok(exit_code::OK)
}
