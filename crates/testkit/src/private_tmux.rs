//! A private tmux server for one test.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;
#[cfg(not(target_os = "linux"))]
use std::time::Instant;

use dogwatch_tmux::{Command, PaneId, Server, SessionName, Socket, Version, escape_format};
#[cfg(target_os = "linux")]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
#[cfg(target_os = "linux")]
use rustix::process::{PidfdFlags, pidfd_open};
use tempfile::TempDir;

use crate::PATIENCE;

/// Dropping it kills the server and waits until it is gone.
#[derive(Debug)]
pub struct PrivateTmux {
    pub server: Server,
    dir: TempDir,
}

impl PrivateTmux {
    /// No server is started yet.
    pub fn idle() -> Self {
        let dir = TempDir::new().unwrap();
        let mut server = Server::new(Socket::Path(dir.path().join("s")));
        server.config = Some("/dev/null".into());
        server.connect_lock = vec![dir.path().join("lock")];
        Self { server, dir }
    }

    /// With one session `main`.
    pub fn running() -> Self {
        let private = Self::idle();
        private.session("main");
        private
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    /// A new session that does nothing.
    pub fn session(&self, session: &str) -> PaneId {
        self.session_with(session, &["cat"])
    }

    /// A new session of that size that does nothing. tmux 3.2a ignores the size of a new session.
    pub fn sized_session(&self, session: &str, width: u16, height: u16) -> PaneId {
        let (width, height) = (width.to_string(), height.to_string());
        let new = new_session(session).option('x', &width).option('y', &height).arg("cat");
        let pane = self.server.run_one(new).unwrap().first_line().parse().unwrap();
        let resize = Command::new("resize-window").option('x', &width).option('y', &height);
        let follow = Command::new("set-option").flag('w').flag('u').target(pane);
        self.server.run(&[resize.target(pane), follow.arg("window-size")]).unwrap();
        pane
    }

    pub fn session_with(&self, session: &str, program: &[&str]) -> PaneId {
        let reply = self.server.run_one(new_session(session).args(program)).unwrap();
        reply.first_line().parse().unwrap()
    }

    pub fn server_pid(&self) -> Option<u32> {
        self.ask("#{pid}")?.parse().ok()
    }

    /// A format's value, or `None` without a server.
    pub fn ask(&self, format: &str) -> Option<String> {
        let reply = self.server.run_one(Command::new("display-message").flag('p').arg(format));
        Some(reply.ok()?.first_line().into_owned())
    }

    /// A `tmux` with these words, as a person would call it.
    pub fn words(&self, words: &[&str]) -> Output {
        let mut tmux = std::process::Command::new("tmux");
        let socket = self.socket();
        tmux.args(["-u", "-f", "/dev/null", "-N", "-S"]).arg(socket).args(words).output().unwrap()
    }

    pub fn has_session(&self, session: &str) -> bool {
        self.server.run_one(Command::new("has-session").target(&name(session))).is_ok()
    }

    /// Kills the server and waits for its end.
    pub fn kill(&self) {
        if let Some(pid) = self.server_pid() {
            let gone = Exit::of(pid);
            let _ = self.server.run_one(Command::new("kill-server"));
            assert!(gone.within(PATIENCE), "server {pid} outlives its kill");
        }
    }
}

impl Drop for PrivateTmux {
    fn drop(&mut self) {
        self.kill();
    }
}

pub fn name(session: &str) -> SessionName {
    SessionName::new(session).unwrap()
}

/// Whether the tested tmux is at least this version.
pub fn is_since(version: &str) -> bool {
    Server::default().version().unwrap() >= Version::parse(version).unwrap()
}

/// Detached; prints the pane's id.
pub fn new_session(session: &str) -> Command {
    Command::new("new-session")
        .flag('d')
        .flag('P')
        .option('F', "#{pane_id}")
        .option('s', escape_format(session))
}

pub fn print(text: &str) -> Command {
    Command::new("display-message").flag('p').arg(text)
}

/// Waits for the end of a process that is not our child. Created while the process lives, so that a later
/// process with the same pid is not mistaken for it.
#[derive(Debug)]
pub struct Exit {
    #[cfg(target_os = "linux")]
    fd: Option<rustix::fd::OwnedFd>,
    #[cfg(not(target_os = "linux"))]
    pid: Pid,
}

impl Exit {
    pub fn of(pid: u32) -> Self {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        #[cfg(target_os = "linux")]
        let exit = Self { fd: pidfd_open(pid, PidfdFlags::empty()).ok() };
        #[cfg(not(target_os = "linux"))]
        let exit = Self { pid };
        exit
    }

    #[cfg(target_os = "linux")]
    pub fn within(&self, patience: Duration) -> bool {
        let Some(fd) = &self.fd else { return true };
        let timeout = Timespec::try_from(patience).unwrap();
        poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&timeout)).unwrap() == 1
    }

    #[cfg(not(target_os = "linux"))]
    pub fn within(&self, patience: Duration) -> bool {
        let begun = Instant::now();
        while rustix::process::test_kill_process(self.pid).is_ok() {
            if begun.elapsed() > patience {
                return false;
            }
            // sleep: poll interval; only Linux reports the end of a process that is not a child.
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }
}
