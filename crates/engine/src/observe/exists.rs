use dogwatch_tmux::{Command, SessionName};

use crate::{Context, Error};

/// Whether tmux has a session of exactly this name, ours or not, its agent alive or dead.
pub fn session(context: &Context, name: &str) -> Result<bool, Error> {
    // Dots become dashes when a name is given, so they do when it is asked for.
    let Ok(name) = SessionName::new(name.replace('.', "-")) else { return Ok(false) };
    match context.tmux.run_one(Command::new("has-session").target(&name)) {
        Ok(_) => Ok(true),
        Err(dogwatch_tmux::Error::NotFound { .. }) => Ok(false),
        Err(error) if error.is_no_server() => Ok(false),
        Err(error) => Err(error.into()),
    }
}
