//! One at a time at the door: while a control client introduces itself, nobody else of ours changes sessions.
//!
//! Up to 3.6, a tmux server crashes, and takes all sessions with it, if it announces something to a control client that has said
//! that it is one but has not finished introducing itself (tmux/tmux#4980). That takes well under a millisecond, but two
//! watchers that start together hit it in one of three tries. So whoever opens or closes a control connection, and whoever makes,
//! ends or renames sessions, locks the folder of the socket meanwhile. What people do in that moment by hand is left to
//! luck, as with every other user of control mode.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longer than anybody holds it; one who was stopped meanwhile must not stop all others.
const PATIENCE: Duration = Duration::from_secs(5);
/// The kernel does not tell when a lock is free, unless one waits for it without end.
const PAUSE: Duration = Duration::from_millis(1);

/// Held while it must be kept. Without a lock there is nothing to hold, and one goes on all the same.
#[derive(Debug)]
pub(crate) struct Pass {
    #[cfg_attr(not(test), expect(dead_code, reason = "it is held, not read"))]
    lock: Option<File>,
}

/// Commands after which tmux announces something to every control client.
const ANNOUNCED: [&str; 17] = [
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
];

pub(crate) fn is_announced(command: &str) -> bool {
    ANNOUNCED.contains(&command)
}

impl Pass {
    pub(crate) fn wait(folder: Option<&Path>) -> Self {
        Self::wait_for(folder, PATIENCE)
    }

    fn wait_for(folder: Option<&Path>, at_most: Duration) -> Self {
        let begun = Instant::now();
        let Some(file) = folder.and_then(open) else { return Self { lock: None } };
        loop {
            match file.try_lock() {
                Ok(()) => return Self { lock: Some(file) },
                Err(TryLockError::WouldBlock) if begun.elapsed() < at_most => {
                    std::thread::sleep(PAUSE);
                }
                Err(_) => return Self { lock: None },
            }
        }
    }
}

/// Only a folder of our own: anybody could hold a lock on a shared one for ever.
fn open(folder: &Path) -> Option<File> {
    let ours = fs::metadata(folder).ok()?.uid() == rustix::process::geteuid().as_raw();
    if ours { File::open(folder).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_never_for_ever() {
        let tmp = tempfile::tempdir().unwrap();
        let folder = Some(tmp.path());
        let first = Pass::wait(folder);
        assert!(first.lock.is_some());
        let short = Duration::from_millis(50);
        assert!(Pass::wait_for(folder, short).lock.is_none(), "the other did not leave in time");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| Pass::wait(folder).lock.is_some());
            drop(first);
            assert!(waits.join().unwrap());
        });
        assert!(Pass::wait(None).lock.is_none());
    }
}
