//! Closing panes, many at a time: a tmux process for each takes milliseconds, and they add up.

use dogwatch_tmux::{Command, PaneId};

use crate::{Context, Error};

/// Panes that one tmux process closes: tmux 3.7 takes 1,000 words at once.
const BATCH: usize = 60;

/// Closes panes; one that is gone already is no error. What became of each, in their order.
pub(crate) fn close_each(context: &Context, panes: &[PaneId]) -> Vec<Result<(), Error>> {
    let mut closed = Vec::new();
    for batch in panes.chunks(BATCH) {
        let commands: Vec<Command> =
            batch.iter().map(|pane| Command::new("kill-pane").target(*pane)).collect();
        if context.tmux.run(&commands).is_ok() {
            closed.extend(batch.iter().map(|_| Ok(())));
        } else {
            // A chain ends at its first error, which need not be the only pane that is gone.
            closed.extend(batch.iter().map(|pane| close_one(context, *pane)));
        }
    }
    closed
}

/// Closes a pane, and with the last of its panes the tmux session.
pub(crate) fn close_one(context: &Context, pane: PaneId) -> Result<(), Error> {
    match context.tmux.run_one(Command::new("kill-pane").target(pane)) {
        Ok(_) | Err(dogwatch_tmux::Error::NotFound { .. }) => Ok(()),
        Err(error) if error.is_no_server() => Ok(()),
        Err(error) => Err(error.into()),
    }
}
