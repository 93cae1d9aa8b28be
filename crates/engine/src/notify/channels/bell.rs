use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::notice::Notice;
use dogwatch_tmux::Server;

use super::{Sink, clients};

/// Rings every terminal that a person may watch: those attached to the tmux server, and our own.
pub(super) struct Bell {
    server: Server,
}

impl Bell {
    pub(super) fn new(server: &Server) -> Self {
        Self { server: server.running_only() }
    }

    /// The terminals of attached people.
    fn terminals(&self) -> Vec<String> {
        let attached = clients::attached(&self.server).logged("ask tmux").unwrap_or_default();
        attached.into_iter().map(|client| client.tty).collect()
    }
}

impl Sink for Bell {
    fn send(&self, _: &Notice, _: Duration) -> Result<(), String> {
        for terminal in self.terminals() {
            // Do not make it our controlling terminal, and do not block on one that accepts no output.
            let flags = rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::NONBLOCK;
            let flags = i32::try_from(flags.bits()).unwrap_or(0);
            let open = OpenOptions::new().write(true).custom_flags(flags).open(&terminal);
            let rung = open.and_then(|mut terminal| terminal.write_all(b"\x07"));
            // A terminal that was just detached does not matter.
            drop(rung);
        }
        let mut stderr = std::io::stderr();
        if stderr.is_terminal() {
            let _ = stderr.write_all(b"\x07");
        }
        Ok(())
    }
}
