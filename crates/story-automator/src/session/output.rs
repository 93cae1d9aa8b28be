//! Saves a session's output in a file.

use std::fs;
use std::path::PathBuf;

use crate::decide::session::output;
use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::profile;
use dogwatch_core::record::Exit;
use dogwatch_core::status::Status;
use dogwatch_tmux::PaneFace;

use super::Place;
use super::look::{Described, Who};
use dogwatch_engine::observe::capture;
use dogwatch_engine::observe::snapshot::SessionSnapshot;
use dogwatch_engine::{Context, Error};

/// Lines that are captured.
const LINES: u32 = 300;

/// Writes the output and returns the path; `None` if there is no session. For a session without output, one line says so.
pub fn keep(
    context: &Context,
    place: &Place,
    name: &str,
    described: &Described,
) -> Result<Option<PathBuf>, Error> {
    let (text, silence) = match &described.who {
        Who::Session(status) => {
            (text_of(context, &status.seen), output::nothing_shown(&status.verdict.status))
        }
        Who::Unmanaged(face) => {
            let lines = Some(LINES);
            let options = dogwatch_tmux::CaptureOptions { lines, ansi: false, joined: false };
            let reply = context.tmux.capture(face.row.pane_id, options)?;
            (String::from_utf8_lossy(reply.bytes()).into_owned(), silence_of(face))
        }
        Who::Missing => return Ok(None),
    };
    let text = output::kept(&text);
    let text = if text.is_empty() { silence } else { text };
    let path = path(context, place, name, &described.who)?;
    dogwatch_store::replace_in_passing(&path, text.as_bytes())?;
    Ok(Some(path))
}

fn silence_of(face: &PaneFace) -> String {
    let row = &face.row;
    let code = row.dead_status.map(Exit::Code);
    let exit = code.or_else(|| row.dead_signal.map(Exit::Signal));
    if row.dead { output::silent_end(exit) } else { output::nothing_shown(&Status::Starting) }
}

/// Where it is saved: in the session's own directory, or in the one for unmanaged sessions.
fn path(context: &Context, place: &Place, name: &str, who: &Who) -> Result<PathBuf, Error> {
    let folder = match who {
        Who::Session(status) if status.seen.is_ours() => {
            context.state.session(&status.seen.session.id).path().to_owned()
        }
        _ => context.state.stories()?,
    };
    Ok(folder.join(output::file_name(&place.hash(), name)))
}

/// The transcript of an agent, since it redraws its screen; for all others the screen with its history.
fn text_of(context: &Context, seen: &SessionSnapshot) -> String {
    let said =
        if seen.session.agent == profile::COMMAND { None } else { capture::said(context, seen) };
    said.unwrap_or_else(|| {
        let captured = capture::capture(context, seen, Some(LINES), false);
        captured
            .map(|captured| capture::plain(&captured.text))
            .logged("capture a screen")
            .unwrap_or_default()
    })
}

/// Removes the saved output of an earlier unmanaged session of this name: a new one begins. Managed ones have
/// their own directories.
pub(super) fn forget(context: &Context, place: &Place, name: &str) {
    if let Ok(folder) = context.state.stories() {
        fs::remove_file(folder.join(output::file_name(&place.hash(), name)))
            .logged_unless_missing("remove a file");
    }
}
