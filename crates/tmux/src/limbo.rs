//! A server that was killed with `kill-server` and does not exit.
//!
//! `kill-server` ends all sessions and then waits for the last client. A session that is created in between, by a client that
//! had connected before, is not ended: the server stays for it and refuses all clients, for ever if that session keeps its
//! dead pane (seen with 3.3a, a spawn beside a `kill-server`). A second signal ends that session too.

use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use rustix::process::{Signal, kill_process};

use crate::{Server, Socket};

/// Signals an exiting server to exit once more. A server that accepts clients is left alone.
pub(crate) fn remind(server: &Server) {
    let ((Socket::Path(path), _) | (_, Some(path))) = (&server.socket, &server.path) else {
        return;
    };
    if hangs_up(path)
        && let Some(pid) = owner(path)
    {
        // It may have exited just now, which is fine.
        kill_process(pid, Signal::TERM).logged("signal a process");
    }
}

/// An exiting server accepts a connection and closes it immediately; a running one waits for the first message.
fn hangs_up(path: &Path) -> bool {
    let Ok(mut call) = UnixStream::connect(path) else { return false };
    if call.set_read_timeout(Some(Duration::from_millis(300))).is_err() {
        return false;
    }
    match call.read(&mut [0; 1]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// The listening process, as the kernel reports it.
#[cfg(target_os = "linux")]
fn owner(path: &Path) -> Option<rustix::process::Pid> {
    let call = UnixStream::connect(path).logged_unless_missing("connect to a socket")?;
    let peer =
        rustix::net::sockopt::socket_peercred(&call).logged("ask who listens on a socket")?;
    let is_ours = peer.uid == rustix::process::geteuid();
    (is_ours && is_tmux(peer.pid)).then_some(peer.pid)
}

/// Only a tmux server may be signalled, and no other program that listens there.
#[cfg(target_os = "linux")]
fn is_tmux(pid: rustix::process::Pid) -> bool {
    let name = std::fs::read_link(format!("/proc/{}/exe", pid.as_raw_nonzero()));
    name.is_ok_and(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tmux"))
    })
}

#[cfg(not(target_os = "linux"))]
fn owner(_: &Path) -> Option<rustix::process::Pid> {
    None
}
