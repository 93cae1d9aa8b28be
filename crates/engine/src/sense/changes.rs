//! Being told that something changed, instead of looking again and again.
//!
//! Hooks and runners poke the news folder, claude writes its state file, agents to their transcripts: the kernel tells of
//! each write. A process that vanishes tells through its handle. What nobody tells of (a screen) is left to
//! the caller's own pace.

use std::path::PathBuf;
use std::time::Duration;

use dogwatch_core::record::ProcessIdent;

/// What to be told of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interests {
    /// Folders in which any write counts.
    pub folders: Vec<PathBuf>,
    /// Processes whose end counts.
    pub processes: Vec<ProcessIdent>,
}

/// A standing watch over some interests.
#[derive(Debug)]
pub struct Changes {
    #[cfg(target_os = "linux")]
    writes: Option<std::os::fd::OwnedFd>,
    #[cfg(target_os = "linux")]
    ends: Vec<std::os::fd::OwnedFd>,
    interests: Interests,
}

/// A burst of writes is waited out this long, so that one change is not judged five times.
#[cfg(target_os = "linux")]
const BURST: Duration = Duration::from_millis(5);

#[cfg(target_os = "linux")]
impl Changes {
    pub fn watch(interests: Interests) -> Self {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        use rustix::process::{Pid, PidfdFlags, pidfd_open};

        let writes = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let kinds = WatchFlags::MODIFY
            | WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE
            | WatchFlags::CLOSE_WRITE;
        if let Some(writes) = &writes {
            for folder in &interests.folders {
                // A folder that is not there yet is seen when the caller asks again.
                let _ = add_watch(writes, folder, kinds);
            }
        }
        let open = |ident: &ProcessIdent| {
            let pid = Pid::from_raw(ident.pid)?;
            pidfd_open(pid, PidfdFlags::empty()).ok()
        };
        let ends = interests.processes.iter().filter_map(open).collect();
        Self { writes, ends, interests }
    }

    /// Waits for a change, at most so long; true if there was one.
    pub fn wait(&self, at_most: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        let watched = self.writes.iter().chain(&self.ends);
        let mut fds: Vec<PollFd<'_>> = watched.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let timeout = Timespec::try_from(at_most).ok();
        let changed = poll(&mut fds, timeout.as_ref()).is_ok_and(|ready| ready > 0);
        if changed {
            // See BURST.
            std::thread::sleep(BURST);
            let mut drained = [0_u8; 16 * 1024];
            if let Some(writes) = &self.writes {
                let _ = rustix::io::read(writes, &mut drained);
            }
        }
        changed
    }
}

#[cfg(not(target_os = "linux"))]
impl Changes {
    pub fn watch(interests: Interests) -> Self {
        Self { interests }
    }

    /// Nobody tells here without `unsafe` code: the caller looks again soon.
    pub fn wait(&self, at_most: Duration) -> bool {
        std::thread::sleep(at_most.min(Duration::from_millis(100)));
        true
    }
}

impl Changes {
    /// Takes up other interests; keeps the watch if they are the same.
    #[must_use]
    pub fn update(self, interests: Interests) -> Self {
        if self.interests == interests { self } else { Self::watch(interests) }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn told_of_writes_and_ends() {
        let tmp = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let ident = crate::sense::processes::identify(i32::try_from(child.id()).unwrap()).unwrap();
        let folders = vec![tmp.path().to_owned(), "/no/such".into()];
        let changes = Changes::watch(Interests { folders, processes: vec![ident] });
        assert!(!changes.wait(Duration::from_millis(20)));
        std::fs::write(tmp.path().join("f"), "x").unwrap();
        assert!(changes.wait(Duration::from_secs(5)));
        assert!(!changes.wait(Duration::from_millis(20)), "told once");
        child.kill().unwrap();
        assert!(changes.wait(Duration::from_secs(5)));
        child.wait().unwrap();
    }
}
