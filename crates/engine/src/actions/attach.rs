use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process;

use dogwatch_tmux::Target;

use crate::error::SessionError;
use crate::observe::snapshot::SessionSnapshot;
use crate::{Context, Error};

/// Puts the caller's terminal in front of a session: this process becomes the tmux client and does not
/// return. `around` is the socket of the tmux that the caller sits in, if any. Within the session's own
/// server the client that is there moves over; any other is only a terminal.
pub fn attach(
    context: &Context,
    seen: &SessionSnapshot,
    around: Option<&Path>,
) -> Result<(), Error> {
    seen.must_be_known()?;
    let name = &seen.session.name;
    let Some(pane) = &seen.pane else {
        let (name, reason) = (name.clone(), seen.life.reason.clone());
        return Err(SessionError::IsOver { name, reason }.into());
    };
    // The pane, so that the agent's window is shown, whichever was last looked at.
    let agent = Target::from(pane.pane_id);
    let mut tmux = process::Command::new(&context.tmux.program);
    dogwatch_base::program::withhold_secrets(&mut tmux);
    tmux.arg("-u").arg("-S").arg(&context.socket);
    if around.is_some_and(|socket| is_same(socket, &context.socket)) {
        // By `TMUX_PANE` tmux knows which of its clients asks.
        tmux.args(["switch-client", "-t", agent.as_str()]);
    } else {
        // With `TMUX` set, it would refuse to be put into another tmux.
        tmux.env_remove("TMUX").env_remove("TMUX_PANE");
        tmux.args(["attach-session", "-t", agent.as_str()]);
    }
    Err(Error::io("start tmux")(tmux.exec()))
}

fn is_same(one: &Path, other: &Path) -> bool {
    let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    resolve(one) == resolve(other)
}
