//! A tmux server of the test's own.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dogwatch_tmux::{Command, PaneId, Server, SessionName, Socket, Version, escape_format};
#[cfg(target_os = "linux")]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
#[cfg(target_os = "linux")]
use rustix::process::{PidfdFlags, pidfd_open};
use tempfile::TempDir;

/// Long enough for a loaded machine; no test waits for it unless it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Ends its server on drop and waits until that is gone.
pub(crate) struct Private {
    pub(crate) server: Server,
    dir: TempDir,
}

impl Private {
    /// Nothing runs yet.
    pub(crate) fn idle() -> Self {
        let dir = TempDir::new().unwrap();
        let mut server = Server::new(Socket::Path(dir.path().join("s")));
        server.config = Some("/dev/null".into());
        server.connect_lock = vec![dir.path().join("lock")];
        Self { server, dir }
    }

    /// With one session `main`.
    pub(crate) fn running() -> Self {
        let private = Self::idle();
        private.session("main");
        private
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    /// A new session that only waits.
    pub(crate) fn session(&self, session: &str) -> PaneId {
        self.session_with(session, &["cat"])
    }

    /// A new session that only waits, in a window of that size. 3.2a takes no size for a new session.
    pub(crate) fn sized_session(&self, session: &str, width: u16, height: u16) -> PaneId {
        let (width, height) = (width.to_string(), height.to_string());
        let new = new_session(session).option('x', &width).option('y', &height).arg("cat");
        let pane = self.server.run_one(new).unwrap().first_line().parse().unwrap();
        let resize = Command::new("resize-window").option('x', &width).option('y', &height);
        let follow = Command::new("set-option").flag('w').flag('u').target(pane);
        self.server.run(&[resize.target(pane), follow.arg("window-size")]).unwrap();
        pane
    }

    pub(crate) fn session_with(&self, session: &str, program: &[&str]) -> PaneId {
        let reply = self.server.run_one(new_session(session).args(program)).unwrap();
        reply.first_line().parse().unwrap()
    }

    pub(crate) fn server_pid(&self) -> Option<u32> {
        self.ask("#{pid}")?.parse().ok()
    }

    /// A format's value, or `None` without a server.
    pub(crate) fn ask(&self, format: &str) -> Option<String> {
        let reply = self.server.run_one(Command::new("display-message").flag('p').arg(format));
        Some(reply.ok()?.first_line().into_owned())
    }

    pub(crate) fn has_session(&self, session: &str) -> bool {
        self.server.run_one(Command::new("has-session").target(&name(session))).is_ok()
    }

    /// Ends the server and waits for its end.
    pub(crate) fn kill(&self) {
        if let Some(pid) = self.server_pid() {
            let gone = Exit::of(pid);
            let _ = self.server.run_one(Command::new("kill-server"));
            assert!(gone.within(PATIENCE), "server {pid} outlives its kill");
        }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn name(session: &str) -> SessionName {
    SessionName::new(session).unwrap()
}

/// Whether the tmux that is tested is at least this version.
pub(crate) fn is_since(version: &str) -> bool {
    Server::default().version().unwrap() >= Version::parse(version).unwrap()
}

/// Detached; answers with the pane's id.
pub(crate) fn new_session(session: &str) -> Command {
    Command::new("new-session")
        .flag('d')
        .flag('P')
        .option('F', "#{pane_id}")
        .option('s', escape_format(session))
}

pub(crate) fn print(text: &str) -> Command {
    Command::new("display-message").flag('p').arg(text)
}

/// Waits for a condition that tmux tells nobody about.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The end of a process that is not ours to wait for. Taken before the end, so that another
/// process with the same number is not mistaken for it.
pub(crate) struct Exit {
    #[cfg(target_os = "linux")]
    fd: Option<rustix::fd::OwnedFd>,
    #[cfg(not(target_os = "linux"))]
    pid: Pid,
}

impl Exit {
    pub(crate) fn of(pid: u32) -> Self {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        #[cfg(target_os = "linux")]
        let exit = Self { fd: pidfd_open(pid, PidfdFlags::empty()).ok() };
        #[cfg(not(target_os = "linux"))]
        let exit = Self { pid };
        exit
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn within(&self, patience: Duration) -> bool {
        let Some(fd) = &self.fd else { return true };
        let timeout = Timespec::try_from(patience).unwrap();
        poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&timeout)).unwrap() == 1
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn within(&self, patience: Duration) -> bool {
        let begun = Instant::now();
        while rustix::process::test_kill_process(self.pid).is_ok() {
            if begun.elapsed() > patience {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }
}
