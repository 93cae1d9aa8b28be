//! What a session showed, kept in a file for whoever reads it afterwards.

use std::fs;
use std::path::PathBuf;

use dogwatch_core::profile;
use dogwatch_core::story::session::output;

use super::Place;
use super::look::{Told, Who};
use crate::Context;
use crate::sense::capture;
use crate::snapshot::Seen;

/// Lines that are asked for.
const LINES: u32 = 300;

/// Keeps the output anew, and says where; `None` if there is nothing.
pub fn keep(context: &Context, place: &Place, name: &str, told: &Told) -> Option<PathBuf> {
    let text = match &told.who {
        Who::Session(judged) => text_of(context, &judged.seen),
        Who::Stranger(face) => {
            let lines = Some(LINES);
            let options = dogwatch_tmux::CaptureOptions { lines, ansi: false, joined: false };
            let reply = context.tmux.capture(face.row.pane_id, options).ok()?;
            String::from_utf8_lossy(reply.bytes()).into_owned()
        }
        Who::Nobody => return None,
    };
    let text = output::kept(&text);
    if text.is_empty() {
        return None;
    }
    let path = path(context, place, name, &told.who)?;
    dogwatch_store::replace_in_passing(&path, text.as_bytes()).ok()?;
    Some(path)
}

/// Where it is kept: in the session's own folder, or in that for sessions which are not ours.
fn path(context: &Context, place: &Place, name: &str, who: &Who) -> Option<PathBuf> {
    let folder = match who {
        Who::Session(judged) if judged.seen.is_ours() => {
            context.state.session(&judged.seen.session.id).path().to_owned()
        }
        _ => context.state.stories().ok()?,
    };
    Some(folder.join(output::file_name(&place.hash(), name)))
}

/// Of an agent what was said, since it draws over what it showed; of all others the screen with what has scrolled away.
fn text_of(context: &Context, seen: &Seen) -> String {
    let said =
        if seen.session.agent == profile::COMMAND { None } else { capture::said(context, seen) };
    said.unwrap_or_else(|| {
        let captured = capture::capture(context, seen, Some(LINES), false);
        captured.map(|captured| capture::plain(&captured.text)).unwrap_or_default()
    })
}

/// Removes what was kept of a session that is not ours, and of ours.
pub(super) fn remove(context: &Context, place: &Place, name: &str, seen: Option<&Seen>) {
    let file = output::file_name(&place.hash(), name);
    let ours = seen.map(|seen| context.state.session(&seen.session.id).path().to_owned());
    for folder in ours.into_iter().chain(context.state.stories().ok()) {
        let _ = fs::remove_file(folder.join(&file));
    }
}
