//! Isolates programs from the machine's own settings.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

/// Clears a command's environment except for the search path, and points dogwatch to the caller's own directories and tmux
/// server.
pub fn isolate<'a>(
    command: &'a mut Command,
    home: &Path,
    state: &Path,
    socket: &Path,
) -> &'a mut Command {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("LANG", "C.UTF-8")
        .env("TZ", "UTC")
        .env("SHELL", "/bin/sh")
        .env("DOGWATCH_STATE_DIR", state)
        .env("DOGWATCH_TMUX", socket)
        .stdin(Stdio::null())
}

/// A free port of the loopback interface.
pub fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
