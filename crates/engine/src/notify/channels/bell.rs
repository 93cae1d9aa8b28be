use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::notice::Notice;
use dogwatch_tmux::{Command, Server};

use super::Sink;

/// The bell of every terminal that somebody sits at: those attached to the tmux server, and our own.
pub(super) struct Bell {
    server: Server,
}

impl Bell {
    pub(super) fn new(server: &Server) -> Self {
        Self { server: server.running_only() }
    }

    /// The terminals of people who are attached. A program's control connection has nobody before it.
    fn terminals(&self) -> Vec<String> {
        let list =
            Command::new("list-clients").option('F', "#{?client_control_mode,,#{client_tty}}");
        let answer = self.server.run_one(list);
        let lines = answer.map(|reply| String::from_utf8_lossy(reply.bytes()).into_owned());
        let lines = lines.logged("ask tmux").unwrap_or_default();
        lines.lines().filter(|line| line.starts_with("/dev/")).map(ToOwned::to_owned).collect()
    }
}

impl Sink for Bell {
    fn name(&self) -> String {
        "bell".to_owned()
    }

    fn tell(&self, _: &Notice, _: Duration) -> Result<(), String> {
        for terminal in self.terminals() {
            // Neither becomes ours, nor are we held up by one that does not take anything.
            let flags = rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::NONBLOCK;
            let flags = i32::try_from(flags.bits()).unwrap_or(0);
            let open = OpenOptions::new().write(true).custom_flags(flags).open(&terminal);
            let rung = open.and_then(|mut terminal| terminal.write_all(b"\x07"));
            // Who has left in this moment need not hear it.
            drop(rung);
        }
        let mut stderr = std::io::stderr();
        if stderr.is_terminal() {
            let _ = stderr.write_all(b"\x07");
        }
        Ok(())
    }
}
