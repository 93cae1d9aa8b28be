//! The keys: how text gets into a pane.

use dogwatch_tmux::{Command, PaneId, Server};

use crate::Error;

/// Pastes a text in brackets, so that nothing in it counts as a key, through a buffer of its own.
pub(super) fn paste(server: &Server, pane: PaneId, id: &str, text: &str) -> Result<(), Error> {
    let buffer = format!("dogwatch-{id}");
    let load = Command::new("load-buffer").option('b', &buffer).arg("-").stdin(text.as_bytes());
    // -p brackets, -r keeps line ends as they are, -d removes the buffer.
    let paste = Command::new("paste-buffer")
        .flag('p')
        .flag('r')
        .flag('d')
        .option('b', &buffer)
        .target(pane);
    server.run(&[load, paste])?;
    Ok(())
}

/// Types a text key by key: agents offer completions for what is typed, and none for what is pasted.
pub(super) fn type_text(server: &Server, pane: PaneId, text: &str) -> Result<(), Error> {
    let keys = Command::new("send-keys").flag('l').target(pane).arg(text);
    server.run(&[leave_mode(pane), keys])?;
    Ok(())
}

/// Presses Enter. In copy mode keys go to tmux, not to the agent, so that is left before.
pub(super) fn submit(server: &Server, pane: PaneId) -> Result<(), Error> {
    press(server, pane, &["Enter"])
}

/// Presses keys by their names.
pub(crate) fn press(server: &Server, pane: PaneId, keys: &[&str]) -> Result<(), Error> {
    let press = Command::new("send-keys").target(pane).args(keys.iter().copied());
    server.run(&[leave_mode(pane), press])?;
    Ok(())
}

fn leave_mode(pane: PaneId) -> Command {
    // Of a pane that is in no mode, `-q` leaves none.
    Command::new("copy-mode").flag('q').target(pane)
}
