//! A process that kills the client if we are killed.
//!
//! At the end of its input, tmux closes a control client only when all of its output is written (3.3a). If we are killed
//! while output is pending, it is never read: the client stays, and the server does not exit on `kill-server`.
//! A client whose process dies is closed immediately. The kernel could kill it with us (`PR_SET_PDEATHSIG`), but the child must
//! request that between fork and exec, which needs `unsafe`; and it follows our thread, not our process.

use std::process::{Child, Command, Stdio};

use dogwatch_base::log::Logged as _;

/// Waits for the end of its input, which is our end. Ignores Ctrl-C at our terminal.
const WATCH: &str = r#"trap '' INT QUIT TERM HUP; read -r _; kill -KILL "$1""#;

#[derive(Debug)]
pub(super) struct ParentDeathGuard {
    /// `None` if it could not be started: the client works without it.
    keeper: Option<Child>,
}

impl ParentDeathGuard {
    pub(super) fn of(client: &Child) -> Self {
        let keeper = Command::new("/bin/sh")
            .env_clear()
            .args(["-c", WATCH, "dogwatch-guard", &client.id().to_string()])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self { keeper: keeper.logged("start a process") }
    }

    /// Must be called before the client is reaped: afterwards its pid may belong to another process.
    pub(super) fn drop_it(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            keeper.kill().logged("end a process");
            // Closes its input, when it can no longer do anything.
            keeper.wait().logged("wait for a process");
        }
    }
}
