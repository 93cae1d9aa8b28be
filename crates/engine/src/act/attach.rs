use std::os::unix::process::CommandExt;
use std::process;

use dogwatch_tmux::{Command, Target};

use crate::snapshot::Seen;
use crate::{Context, Error};

/// Puts the caller's terminal in front of a session. Inside tmux the client is moved there; else this
/// process becomes the client and does not return.
pub fn attach(context: &Context, seen: &Seen, inside_tmux: bool) -> Result<(), Error> {
    let name = &seen.session.name;
    let Some(row) = &seen.pane else {
        let reason = format!("{}; try: dogwatch capture {name}", seen.life.reason);
        return Err(Error::NothingKept { name: name.clone(), reason });
    };
    let session = Target::from(row.session_no);
    if inside_tmux {
        context.tmux.run_one(Command::new("switch-client").target(session))?;
        return Ok(());
    }
    let error = process::Command::new(&context.tmux.program)
        .arg("-S")
        .arg(&context.socket)
        .args(["attach-session", "-t", session.as_str()])
        .exec();
    Err(Error::io("start tmux")(error))
}
