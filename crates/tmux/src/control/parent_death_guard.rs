//! A process that ends the client if we are killed.
//!
//! tmux lets a control client go at the end of its input only when all of its output is written (3.3a). If we are killed
//! while some of it is under way, nobody will ever read it: the client stays, and the server does not end at `kill-server`.
//! A client whose process dies is let go at once. The kernel could kill it with us (`PR_SET_PDEATHSIG`), but that is said
//! by the child itself between fork and exec, which takes `unsafe`; and it looks at our thread, not at our process.

use std::process::{Child, Command, Stdio};

use dogwatch_base::log::Logged as _;

/// Waits for the end of its input, which is that of our life. Ctrl-C at our terminal is not meant for it.
const WATCH: &str = r#"trap '' INT QUIT TERM HUP; read -r _; kill -KILL "$1""#;

#[derive(Debug)]
pub(super) struct ParentDeathGuard {
    /// `None` if it could not be started: then the client is no worse off than without.
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

    /// To be called before the client is waited for: afterwards its number may be another's.
    pub(super) fn drop_it(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            keeper.kill().logged("end a process");
            // Closes its input, but only when it can no longer do anything.
            keeper.wait().logged("wait for a process");
        }
    }
}
