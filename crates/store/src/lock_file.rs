//! Files that are locks. One may be removed, so whoever takes it checks that what it has locked still has its name: otherwise two
//! processes would hold a lock of that name, one of them on a file that nobody can open any more.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// A lock is replaced once in a great while, so this many times is a sign of something else.
const TRIES: usize = 100;

/// Takes a lock, or fails at once if another process has it (`WouldBlock`). Creates the file; its content stays.
pub fn try_lock(path: &Path) -> io::Result<File> {
    taken(path, |file| file.try_lock().map_err(io::Error::from))
}

/// Waits for a lock.
pub fn lock(path: &Path) -> io::Result<File> {
    taken(path, File::lock)
}

/// The file for a lock that is taken by other means.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}

fn taken(path: &Path, take: impl Fn(&File) -> io::Result<()>) -> io::Result<File> {
    for _ in 0..TRIES {
        let file = open(path)?;
        take(&file)?;
        if has_name(&file, path)? {
            return Ok(file);
        }
    }
    Err(io::Error::other("it is removed again and again"))
}

fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a process holds the lock.
pub fn is_held(path: &Path) -> bool {
    let locked = File::open(path)
        .map(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)));
    locked.unwrap_or(false)
}

/// Removes a lock that nobody holds, while holding it. False if it stays or is gone.
pub fn remove_unheld(path: &Path) -> io::Result<bool> {
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => {
            if file.try_lock().is_err() || !has_name(&file, path)? {
                return Ok(false);
            }
            fs::remove_file(path).map(|()| true)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_lock_that_is_held_is_not_removed() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("lock");
        assert!(!remove_unheld(&path).unwrap() && !is_held(&path));
        let held = try_lock(&path).unwrap();
        assert!(is_held(&path) && !remove_unheld(&path).unwrap() && path.exists());
        assert_eq!(try_lock(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(held);
        assert!(!is_held(&path) && remove_unheld(&path).unwrap() && !path.exists());
    }

    /// A taker had opened it before it was removed.
    #[test]
    fn a_lock_that_was_removed_meanwhile_is_not_taken() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("lock");
        let removed = AtomicU32::new(0);
        let got = taken(&path, |file| {
            if removed.fetch_add(1, Ordering::Relaxed) == 0 {
                fs::remove_file(&path).unwrap();
            }
            file.try_lock().map_err(io::Error::from)
        });
        let got = got.unwrap();
        assert_eq!(removed.load(Ordering::Relaxed), 2, "it was opened again");
        assert!(has_name(&got, &path).unwrap());
        assert!(try_lock(&path).is_err(), "and nobody else gets it");
    }

    #[test]
    fn many_take_and_remove_it() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("lock");
        let (holders, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while begun.elapsed() < Duration::from_millis(300) {
                        if let Ok(held) = try_lock(&path) {
                            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "only one");
                            taken.fetch_add(1, Ordering::SeqCst);
                            holders.fetch_sub(1, Ordering::SeqCst);
                            drop(held);
                        }
                        let _ = remove_unheld(&path);
                    }
                });
            }
        });
        assert!(taken.load(Ordering::SeqCst) > 0);
    }
}
