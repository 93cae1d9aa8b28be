use std::path::Path;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;

/// How long is looked at short intervals before the kernel is asked to tell. Closing an inotify watch
/// takes 13 to 35 ms (measured, Linux 6.18), so waits that are nearly over must not set one up.
#[cfg(target_os = "linux")]
const SHORT_WAIT: Duration = Duration::from_millis(100);
#[cfg(target_os = "linux")]
const SHORT_INTERVAL: Duration = Duration::from_micros(500);
#[cfg(target_os = "linux")]
const LONG_INTERVAL: Duration = Duration::from_millis(10);

/// Waits until `look` finds what it looks for, looking again whenever something in `folder` was
/// written. `None` when the deadline passed.
#[cfg(target_os = "linux")]
pub fn wait_in<T>(
    folder: &Path,
    at_most: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> Option<T> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let begun = Instant::now();
    while begun.elapsed() < SHORT_WAIT.min(at_most) {
        if let Some(found) = look() {
            return Some(found);
        }
        // sleep: see SHORT_WAIT.
        std::thread::sleep(SHORT_INTERVAL);
    }
    let watch = watch(folder);
    loop {
        // After the watch is set: what was written before is seen now, what comes later wakes us.
        if let Some(found) = look() {
            return Some(found);
        }
        let left = at_most.checked_sub(begun.elapsed()).filter(|left| !left.is_zero())?;
        let Some(watch) = &watch else {
            // sleep: a user has 128 watches, and they may all be taken: then we look ourselves.
            std::thread::sleep(LONG_INTERVAL.min(left));
            continue;
        };
        let mut fds = [PollFd::new(watch, PollFlags::IN)];
        let timeout = Timespec::try_from(left).ok();
        poll(&mut fds, timeout.as_ref()).logged("wait for news");
        let mut drained = [0_u8; 4096];
        rustix::io::read(watch, &mut drained).logged("take note of news");
    }
}

/// A handle that can be read from when something in the folder is written.
#[cfg(target_os = "linux")]
fn watch(folder: &Path) -> Option<std::os::fd::OwnedFd> {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    let watch = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).logged("watch files")?;
    let changes = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO;
    add_watch(&watch, folder, changes).logged("watch a file")?;
    Some(watch)
}

/// Waits until `look` finds what it looks for. `None` when the deadline passed.
#[cfg(not(target_os = "linux"))]
pub fn wait_in<T>(_: &Path, at_most: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + at_most;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        // sleep: a kqueue needs `unsafe`; a look every 5 ms, only while a command waits, costs nothing.
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn woken_by_a_write_and_not_before() {
        let tmp = tempfile::tempdir().unwrap();
        let file = tmp.path().join("record");
        fs::write(&file, " ").unwrap();
        let look = || fs::read(&file).ok().filter(|c| c == b"x");
        assert_eq!(wait_in(tmp.path(), Duration::from_millis(30), look), None);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| wait_in(tmp.path(), Duration::from_secs(10), look));
            fs::write(&file, "x").unwrap();
            assert_eq!(waiter.join().unwrap(), Some(b"x".to_vec()));
        });
    }

    #[test]
    fn a_folder_that_cannot_be_watched_is_looked_at() {
        let begun = Instant::now();
        let late = || (begun.elapsed() > Duration::from_millis(150)).then_some(());
        assert_eq!(wait_in(Path::new("/no/such"), Duration::from_mins(1), late), Some(()));
    }
}
