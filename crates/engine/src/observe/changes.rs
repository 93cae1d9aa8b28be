//! Events of changes, instead of polling.
//!
//! Hooks and runners poke the news folder, claude writes its state file, agents to their transcripts and terminals: the
//! kernel tells of each write. A process that vanishes tells through its handle. Each interest carries a key of
//! the caller's, and the caller gets the keys of those that stirred.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use dogwatch_core::record::ProcessIdent;

#[cfg(target_os = "linux")]
#[path = "changes_linux.rs"]
mod kernel;
#[cfg(not(target_os = "linux"))]
#[path = "changes_portable.rs"]
mod kernel;

pub use kernel::Waker;

/// Something to watch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interest {
    /// This file is written, replaced or removed; it need not exist yet, but its folder must.
    File(PathBuf),
    /// Something is written to this terminal.
    Terminal(PathBuf),
    /// This process ends.
    End(ProcessIdent),
}

/// A standing watch over interests with keys.
#[derive(Debug)]
pub struct Changes<K> {
    kernel: kernel::Kernel,
    interests: BTreeSet<(Interest, K)>,
}

impl<K: Ord + Clone> Changes<K> {
    pub fn new() -> Self {
        Self { kernel: kernel::Kernel::new(), interests: BTreeSet::new() }
    }

    /// One that the kernel tells nothing of files: a user has few of what it takes.
    pub fn deaf() -> Self {
        Self { kernel: kernel::Kernel::deaf(), interests: BTreeSet::new() }
    }

    /// Has the kernel tell of files, or no longer. What is of interest has to be set again.
    pub fn listen(&mut self, wanted: bool) {
        if self.kernel.is_told() != wanted {
            let waker = self.kernel.waker();
            self.kernel = if wanted { kernel::Kernel::new() } else { kernel::Kernel::deaf() };
            self.kernel.set_waker(waker);
            self.interests.clear();
        }
    }

    /// What to watch from now on. What was watched before and still is stays watched without a gap.
    pub fn set(&mut self, interests: BTreeSet<(Interest, K)>) {
        if self.interests == interests && self.kernel.is_complete() {
            return;
        }
        self.kernel.watch(interests.iter().map(|(interest, _)| interest));
        self.interests = interests;
    }

    /// Wakes whoever waits, from another thread.
    pub fn waker(&self) -> Waker {
        self.kernel.waker()
    }

    /// Whether the kernel tells of writes. Otherwise the caller has to look by itself.
    pub fn is_told(&self) -> bool {
        self.kernel.is_told()
    }

    /// Whether all that is of interest is watched, and not only what was there.
    pub fn is_complete(&self) -> bool {
        self.kernel.is_complete()
    }

    /// Waits until something stirs, at most so long. Nothing may also mean that a waker was used.
    pub fn wait(&mut self, at_most: Duration) -> BTreeSet<K> {
        let stirred = self.kernel.wait(at_most);
        self.interests
            .iter()
            .filter(|(interest, _)| stirred.has(interest))
            .map(|(_, key)| key.clone())
            .collect()
    }
}

impl<K: Ord + Clone> Default for Changes<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::process::Command;

    const SOON: Duration = Duration::from_millis(20);
    const LATE: Duration = Duration::from_secs(5);

    fn keys(stirred: BTreeSet<&'static str>) -> Vec<&'static str> {
        stirred.into_iter().collect()
    }

    #[test]
    fn writes_and_ends_are_reported_by_their_keys() {
        let tmp = tempfile::tempdir().unwrap();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let ident =
            crate::observe::processes::identify(i32::try_from(child.id()).unwrap()).unwrap();
        let file = |name: &str| Interest::File(tmp.path().join(name));
        let mut changes = Changes::new();
        changes.set(BTreeSet::from([
            (file("a"), "a"),
            (file("b"), "b"),
            (Interest::File("/no/such/file".into()), "never"),
            (Interest::End(ident), "child"),
        ]));
        assert_eq!(keys(changes.wait(SOON)), [""; 0]);
        fs::write(tmp.path().join("b"), "x").unwrap();
        assert_eq!(keys(changes.wait(LATE)), ["b"]);
        assert_eq!(keys(changes.wait(SOON)), [""; 0], "reported once");
        fs::write(tmp.path().join("c"), "x").unwrap();
        fs::rename(tmp.path().join("c"), tmp.path().join("a")).unwrap();
        assert_eq!(keys(changes.wait(LATE)), ["a"], "replaced");
        child.kill().unwrap();
        assert_eq!(keys(changes.wait(LATE)), ["child"]);
        assert_eq!(keys(changes.wait(SOON)), [""; 0], "an end is reported once");
        child.wait().unwrap();
    }

    #[test]
    fn a_folder_that_comes_later_is_watched_when_asked_again() {
        let tmp = tempfile::tempdir().unwrap();
        let folder = tmp.path().join("later");
        let interests = BTreeSet::from([(Interest::File(folder.join("f")), ())]);
        let mut changes = Changes::new();
        changes.set(interests.clone());
        fs::create_dir(&folder).unwrap();
        changes.set(interests);
        fs::write(folder.join("f"), "x").unwrap();
        assert_eq!(changes.wait(LATE).len(), 1);
    }

    #[test]
    fn output_on_a_terminal_is_reported() {
        let master = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        let terminal = PathBuf::from(name.to_str().unwrap());
        let mut changes = Changes::new();
        changes.set(BTreeSet::from([(Interest::Terminal(terminal.clone()), ())]));
        let mut slave = OpenOptions::new().write(true).open(&terminal).unwrap();
        assert!(changes.wait(SOON).is_empty());
        slave.write_all(b"hello").unwrap();
        assert_eq!(changes.wait(LATE).len(), 1);
    }

    #[test]
    fn woken_by_another_thread() {
        let mut changes: Changes<()> = Changes::new();
        let waker = changes.waker();
        let begun = std::time::Instant::now();
        let other = std::thread::spawn(move || waker.wake());
        assert!(changes.wait(Duration::from_mins(1)).is_empty());
        assert!(begun.elapsed() < Duration::from_secs(50));
        other.join().unwrap();
    }
}
