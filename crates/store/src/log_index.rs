//! The index of the database's write-ahead log, in shared memory.
//!
//! A connection keeps the log that it opened. If that file is deleted, the next process that opens the database creates another,
//! while the index still describes the old one: reads fail, now or later, and new writes have no log header, until the last process
//! that holds the old log closes it (seen with SQLite 3.50). So a process that opens the database checks whether the two belong
//! together; long-running ones check whether their files still exist (`files.rs`).

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use dogwatch_base::log::{Logged as _, LoggedIo as _};

use crate::read_up_to;

/// A line has about 100 bytes, and a dogwatch process about 100 lines.
const MOST_MAPS: u64 = 4 << 20;

/// Whether the index describes the log beside the database: a log without a header has no frames, so the index must not
/// name any.
pub(crate) fn fits(database: &Path) -> bool {
    const HEADER: u64 = 32;
    let begun = std::fs::metadata(beside(database, "-wal")).is_ok_and(|log| log.len() >= HEADER);
    begun || frames_in_index(database).is_none_or(|frames| frames == 0)
}

/// Number of frames in the index (`mxFrame`, <https://sqlite.org/walformat.html>); `None` if it cannot be read.
///
/// The file must not be opened: closing it would release the locks that SQLite holds on it in this process. It is
/// mapped into our memory, which can be read.
fn frames_in_index(database: &Path) -> Option<u32> {
    let inode = std::fs::metadata(beside(database, "-shm"))
        .logged_unless_missing("look at a file")?
        .ino()
        .to_string();
    let maps =
        read_up_to(File::open("/proc/self/maps").logged_unless_missing("open a file")?, MOST_MAPS)
            .logged("read a file")?;
    let start = String::from_utf8_lossy(&maps).lines().find_map(|line| {
        // Addresses, permissions, offset, device, inode, path.
        let mut words = line.split_whitespace();
        let (addresses, _, offset) = (words.next()?, words.next()?, words.next()?);
        let is_it = words.nth(1)? == inode && offset.trim_matches('0').is_empty();
        let start = addresses.split_once('-')?.0;
        is_it.then(|| u64::from_str_radix(start, 16).ok()).flatten()
    })?;
    let mut frames = [0; 4];
    File::open("/proc/self/mem")
        .logged_unless_missing("open a file")?
        .read_exact_at(&mut frames, start + 16)
        .logged("read the log of the database")?;
    Some(u32::from_ne_bytes(frames))
}

fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut path = OsString::from(database);
    path.push(ending);
    PathBuf::from(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use serde_json::json;

    use crate::{Range, StateDir, Store, StoreError};

    fn last(store: &Store) -> Option<String> {
        let entries = store.entries(&Range::default()).unwrap();
        Some(entries.last()?.event.data.to_string())
    }

    #[test]
    fn a_log_that_is_deleted_while_in_use_is_detected() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("state")).unwrap();
        let mut stays = Store::open(&dir).unwrap();
        let tell = |store: &mut Store, n: u32| {
            store.record_event(jiff::Timestamp::now(), None, "job", &json!(n))
        };
        for n in 0..5 {
            tell(&mut stays, n).unwrap();
            fs::remove_file(dir.database_log()).unwrap();
            // While the old process lives, others can neither read nor write, and get no wrong data.
            let refused = Store::open_with_patience(&dir, Duration::from_millis(50)).unwrap_err();
            assert!(matches!(refused, StoreError::LogGone { .. }), "{refused}");
            // The old process stops writing into the deleted file.
            // sleep: the check is not repeated for this long.
            std::thread::sleep(super::super::database::SHORT);
            let refused = tell(&mut stays, 99).unwrap_err();
            assert!(matches!(refused, StoreError::Replaced { .. }), "{refused}");
            // A waiting process continues when the old one has ended.
            let begun = Instant::now();
            let coming = std::thread::scope(|scope| {
                let coming = scope.spawn(|| Store::open(&dir).unwrap());
                drop(stays);
                coming.join().unwrap()
            });
            assert!(begun.elapsed() < Duration::from_secs(5));
            coming.check().unwrap();
            stays = coming;
            tell(&mut stays, n + 10).unwrap();
            assert_eq!(last(&Store::open(&dir).unwrap()), Some((n + 10).to_string()));
        }
    }
}
