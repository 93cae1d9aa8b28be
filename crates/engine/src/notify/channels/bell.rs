use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use dogwatch_core::notice::Notice;
use dogwatch_tmux::Server;

use super::{NO_CLIENT, Sink, clients};

/// Rings every terminal that a person may watch: those attached to the tmux server, and our own.
pub(super) struct Bell {
    server: Server,
}

impl Bell {
    pub(super) fn new(server: &Server) -> Self {
        Self { server: server.running_only() }
    }
}

impl Sink for Bell {
    fn send(&self, _: &Notice, _: Duration) -> Result<(), String> {
        let attached = clients::attached(&self.server)?;
        let mut rung: Vec<io::Result<()>> = attached.iter().map(|one| ring(&one.tty)).collect();
        let mut stderr = io::stderr();
        if stderr.is_terminal() {
            rung.push(stderr.write_all(b"\x07"));
        }
        // A terminal that was just detached does not matter if another one rang.
        if rung.iter().any(Result::is_ok) {
            return Ok(());
        }
        let failed = rung.into_iter().find_map(Result::err);
        Err(failed.map_or_else(|| NO_CLIENT.to_owned(), |error| error.to_string()))
    }
}

fn ring(terminal: &str) -> io::Result<()> {
    // Do not make it our controlling terminal, and do not block on one that accepts no output.
    let flags = rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    OpenOptions::new().write(true).custom_flags(flags).open(terminal)?.write_all(b"\x07")
}
