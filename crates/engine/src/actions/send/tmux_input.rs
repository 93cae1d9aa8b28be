//! The keys: how text gets into a pane. A pane whose process is gone takes none, and says so.

use dogwatch_tmux::{Input, PaneId, Server};

use crate::Error;

/// Pastes a text in brackets, so that nothing in it counts as a key, through a buffer of its own.
pub(super) fn paste(server: &Server, pane: PaneId, id: &str, text: &str) -> Result<(), Error> {
    Ok(server.type_into(&Input::paste(pane, &format!("dogwatch-{id}"), text))?)
}

/// Types a text key by key: agents offer completions for what is typed, and none for what is pasted.
pub(super) fn type_text(server: &Server, pane: PaneId, text: &str) -> Result<(), Error> {
    Ok(server.type_into(&Input::text(pane, text))?)
}

/// Presses Enter.
pub(super) fn submit(server: &Server, pane: PaneId) -> Result<(), Error> {
    press(server, pane, &["Enter"])
}

/// Presses keys by their names.
pub(crate) fn press(server: &Server, pane: PaneId, keys: &[&str]) -> Result<(), Error> {
    Ok(server.type_into(&Input::keys(pane, keys))?)
}
