//! Where this process logs to, if it is to log at all.

use std::path::Path;

use dogwatch_base::log::{self, Place};

use crate::args::{Command, Story, StoryCommand};
use crate::environment;

/// Begins to log if `DOGWATCH_LOG` asks for it: to standard error, or to a file in the state directory.
pub(crate) fn begin(is_to_file: bool, state_dir: Option<&Path>) {
    let Some(wanted) = log::wanted() else { return };
    if !is_to_file {
        log::start(&wanted, Place::Stderr);
    } else if let Ok(state) = environment::state_dir(state_dir.map(ToOwned::to_owned)) {
        log::start(&wanted, Place::Folder(state.log()));
    }
}

impl Command {
    /// Those that go on, and those that leave the terminal to another program.
    pub(crate) fn logs_to_file(&self) -> bool {
        match self {
            Self::Events(args) => args.follow,
            Self::Fleet(args) => args.watch,
            Self::Story(args) => {
                let Story { command, .. } = &**args;
                matches!(command, StoryCommand::Run(_) | StoryCommand::Resume(_))
            }
            _ => matches!(
                self,
                Self::Watch(_)
                    | Self::Top(_)
                    | Self::Relay(_)
                    | Self::Monitor(_)
                    | Self::Reconcile(_)
                    | Self::Attach(_)
                    | Self::Next(_)
                    | Self::Deliver(_)
                    | Self::Supervisor(_)
                    | Self::Demo(_)
                    | Self::Lab(_)
                    | Self::Mcp(_)
            ),
        }
    }
}
