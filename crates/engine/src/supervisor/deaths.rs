//! Notices that a tmux server died, and has people notified of it.
//!
//! The death is a row before anybody is told, and that people are to be told is written in one transaction with what is to be sent: a
//! supervisor that is killed in between leaves both to the next one.

use crate::actions::server_death;
use crate::observe::server_ends::{self, Seen};
use crate::watch::Watcher;
use crate::{Context, Error};

#[derive(Debug, Default)]
pub(super) struct Deaths {
    seen: Seen,
    untold: bool,
}

impl Deaths {
    pub(super) fn attend(
        &mut self,
        context: &Context,
        watcher: &mut Watcher<'_>,
    ) -> Result<(), Error> {
        let (reader, _) = watcher.parts();
        let store = &mut reader.store;
        server_ends::note(context, store, &mut self.seen, None)?;
        // Until they are told, also if that fails now.
        let untold = store.untold_deaths(&context.socket)?;
        self.untold = !untold.is_empty();
        let mut told = false;
        for (server, sessions) in untold {
            told |= server_death::tell(context, store, server, sessions)?;
        }
        if told {
            watcher.send_told();
        }
        Ok(())
    }

    pub(super) fn has_untold(&self) -> bool {
        self.untold
    }
}
