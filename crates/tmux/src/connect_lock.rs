//! A lock file for the moment in which a control client connects, so that no other dogwatch process changes sessions then.
//!
//! Up to 3.6, a tmux server crashes, and all sessions with it, if it sends a notification to a control client that has not
//! finished its handshake (tmux/tmux#4980). The handshake takes well under a millisecond, but two
//! watchers that start together hit it in one of three tries. So every dogwatch process that opens or closes a control connection,
//! or creates, ends or renames sessions, locks a file meanwhile. Commands that a person runs in that moment are not covered,
//! as with every other user of control mode.
//!
//! The file is beside the socket, so that all users of that server use the same one, whatever their environment is. It is private
//! (0600): a process that can open a file can lock it for ever, so a directory such as `/tmp` is not usable as a lock.
//! Where no such file can be created (another user owns the directory, or put something there), the next path is tried.

use std::fs::{File, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dogwatch_base::log::LoggedIo as _;
use rustix::fs::OFlags;

use crate::Server;

/// Longer than any process holds it; a stopped process must not block all others.
const PATIENCE: Duration = Duration::from_secs(5);
/// Poll interval: the kernel reports a free lock only to a process that waits without a limit.
const PAUSE: Duration = Duration::from_millis(1);

/// The lock, held until this is dropped. Without a usable file nothing is locked, and the caller continues.
#[derive(Debug)]
pub(crate) struct ConnectLock {
    #[cfg_attr(not(test), expect(dead_code, reason = "it is held, not read"))]
    lock: Option<File>,
}

/// Commands after which tmux announces something to every control client.
const ANNOUNCED: [&str; 27] = [
    "new-session",
    "kill-session",
    "rename-session",
    "kill-server",
    "new-window",
    "kill-window",
    "split-window",
    "kill-pane",
    "join-pane",
    "break-pane",
    "select-window",
    "select-pane",
    "swap-pane",
    "select-layout",
    "switch-client",
    "detach-client",
    "copy-mode",
    "link-window",
    "unlink-window",
    "move-window",
    "rename-window",
    "resize-window",
    // Buffers are announced since 3.4.
    "set-buffer",
    "load-buffer",
    "paste-buffer",
    "delete-buffer",
    // What it runs may be any of these.
    "if-shell",
];

pub(crate) fn is_announced(command: &str) -> bool {
    ANNOUNCED.contains(&command)
}

impl ConnectLock {
    pub(crate) fn wait(files: &[PathBuf]) -> Self {
        Self::wait_for(files, PATIENCE)
    }

    fn wait_for(files: &[PathBuf], at_most: Duration) -> Self {
        let begun = Instant::now();
        for file in files.iter().filter_map(|path| open(path)) {
            loop {
                match file.try_lock() {
                    Ok(()) => return Self { lock: Some(file) },
                    Err(TryLockError::WouldBlock) if begun.elapsed() < at_most => {
                        // sleep: see PAUSE.
                        std::thread::sleep(PAUSE);
                    }
                    Err(TryLockError::WouldBlock) => return Self { lock: None },
                    // A file system without locks.
                    Err(TryLockError::Error(_)) => break,
                }
            }
        }
        Self { lock: None }
    }
}

/// Opens only a private file of our own. Links are not followed, and opening a pipe does not block.
fn open(path: &Path) -> Option<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = File::options();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .logged_unless_missing("open a file")?;
    let meta = file.metadata().logged_unless_missing("look at a file")?;
    let is_ours = meta.is_file() && meta.uid() == rustix::process::geteuid().as_raw();
    let for_others = meta.mode() & 0o077;
    let is_closed = for_others == 0 && meta.nlink() == 1;
    (is_ours && is_closed).then_some(file)
}

impl Server {
    /// The file that is locked while a control client connects and while sessions change; `None` if no path is
    /// usable.
    pub fn usable_connect_lock(&self) -> Option<&Path> {
        self.connect_lock.iter().map(PathBuf::as_path).find(|path| open(path).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn one_holder_at_a_time_with_a_limited_wait() {
        let tmp = tempfile::tempdir().unwrap();
        let files = [tmp.path().join("lock")];
        let first = ConnectLock::wait(&files);
        assert!(first.lock.is_some());
        let short = Duration::from_millis(50);
        assert!(
            ConnectLock::wait_for(&files, short).lock.is_none(),
            "the other did not leave in time"
        );
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| ConnectLock::wait(&files).lock.is_some());
            drop(first);
            assert!(waits.join().unwrap());
        });
        assert!(ConnectLock::wait(&[]).lock.is_none());
    }

    /// Files that others could lock or have put there are skipped for the next path.
    #[test]
    fn only_a_private_file_of_our_own_is_used() {
        let tmp = tempfile::tempdir().unwrap();
        let at = |name: &str| tmp.path().join(name);
        fs::write(at("open"), "").unwrap();
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o644)).unwrap();
        symlink(at("elsewhere"), at("link")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("one"), "").unwrap();
        fs::set_permissions(at("one"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::hard_link(at("one"), at("twice")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        for name in ["open", "link", "folder", "twice", "pipe", "no/such/folder"] {
            let mut server = Server::new(crate::Socket::Default);
            server.connect_lock = vec![at(name), at("private")];
            assert_eq!(server.usable_connect_lock(), Some(at("private").as_path()), "{name}");
            let _held = ConnectLock::wait(&server.connect_lock);
            let short = Duration::from_millis(20);
            assert!(ConnectLock::wait_for(&server.connect_lock, short).lock.is_none(), "{name}");
        }
        assert!(!at("elsewhere").exists());
        assert_eq!(fs::metadata(at("private")).unwrap().mode() & 0o777, 0o600);
    }
}
