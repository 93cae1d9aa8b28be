//! The keys: how text gets into a pane. A pane whose process is gone takes none, and says so.

use dogwatch_tmux::{Input, PaneId, Server};

use crate::Error;

/// Pastes a text in brackets, so that nothing in it counts as a key, through a buffer of its own. This try has this name.
pub(super) fn paste(server: &Server, pane: PaneId, name: &str, text: &str) -> Result<(), Error> {
    let input = Input::paste(pane, &format!("dogwatch-{name}"), text);
    Ok(server.type_into(&input.once(name))?)
}

/// Types a text key by key: agents offer completions for what is typed, and none for what is pasted.
pub(super) fn type_text(
    server: &Server,
    pane: PaneId,
    name: &str,
    text: &str,
) -> Result<(), Error> {
    Ok(server.type_into(&Input::text(pane, text).once(name))?)
}

/// Whether the try of this name typed. If not, it never will.
pub(super) fn was_typed(server: &Server, pane: PaneId, name: &str) -> Result<bool, Error> {
    Ok(server.was_typed(pane, name)?)
}

/// Presses Enter.
pub(super) fn submit(server: &Server, pane: PaneId) -> Result<(), Error> {
    press(server, pane, &["Enter"])
}

/// Presses keys by their names.
pub(crate) fn press(server: &Server, pane: PaneId, keys: &[&str]) -> Result<(), Error> {
    Ok(server.type_into(&Input::keys(pane, keys))?)
}
