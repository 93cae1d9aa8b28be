//! Closing panes, many at a time: a tmux process for each takes milliseconds, and they add up.

use dogwatch_tmux::{Command, PaneId, Server};

use crate::Error;

/// Panes that one tmux process closes: tmux 3.7 takes 1,000 words at once.
const BATCH: usize = 60;

/// Closes panes; one that is gone already is no error. What became of each, in their order.
pub(crate) fn close_each(server: &Server, panes: &[PaneId]) -> Vec<Result<(), Error>> {
    let mut closed = Vec::new();
    for batch in panes.chunks(BATCH) {
        let commands: Vec<Command> =
            batch.iter().map(|pane| Command::new("kill-pane").target(*pane)).collect();
        if server.run(&commands).is_ok() {
            closed.extend(batch.iter().map(|_| Ok(())));
        } else {
            // A chain ends at its first error, which need not be the only pane that is gone.
            closed.extend(batch.iter().map(|pane| close_one(server, *pane)));
        }
    }
    closed
}

/// Closes a pane, and with the last of its panes the tmux session.
pub(crate) fn close_one(server: &Server, pane: PaneId) -> Result<(), Error> {
    match server.run_one(Command::new("kill-pane").target(pane)) {
        Ok(_) | Err(dogwatch_tmux::Error::NotFound { .. }) => Ok(()),
        Err(error) if error.is_no_server() => Ok(()),
        Err(error) => Err(error.into()),
    }
}
