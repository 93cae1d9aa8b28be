//! Environments on their way from `spawn` to runners. Each is a file that its creator keeps locked while it lives.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use dogwatch_base::log::{Logged as _, LoggedIo as _};

use crate::state_dir::make_private;
use crate::{StateDir, StoreError};

/// Held by the creator.
#[derive(Debug)]
pub struct Handover {
    _lock: File,
}

/// An existing handover file.
#[derive(Debug)]
pub struct Pending {
    /// The session's id; `None` if the file was not completed.
    pub id: Option<String>,
    pub made: SystemTime,
    pub is_held: bool,
    path: PathBuf,
}

impl Pending {
    pub fn age(&self) -> Duration {
        self.made.elapsed().unwrap_or_default()
    }

    /// Removes it; false on failure. A file that was taken meanwhile counts as removed.
    pub fn remove(&self) -> bool {
        let removed = fs::remove_file(&self.path);
        removed.is_ok() || !self.path.exists()
    }
}

/// Writes a file. It gets its name only when it is complete and locked, so that the collector never sees it otherwise.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<Handover, StoreError> {
    let failed = |source| StoreError::writing(path, source);
    if let Some(folder) = path.parent() {
        make_private(folder)?;
    }
    let part = part_of(path);
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        file.lock()?;
        file.write_all(content)?;
        fs::rename(&part, path)?;
        Ok(file)
    };
    write().map(|lock| Handover { _lock: lock }).map_err(|source| {
        fs::remove_file(&part).logged_unless_missing("remove a file");
        failed(source)
    })
}

fn part_of(path: &Path) -> PathBuf {
    let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

impl StateDir {
    pub(crate) fn handover(&self) -> PathBuf {
        self.root().join("handover")
    }

    /// All existing ones; normally there are none.
    pub fn handovers(&self) -> Vec<Pending> {
        let Some(entries) = fs::read_dir(self.handover()).logged_unless_missing("list a folder")
        else {
            return Vec::new();
        };
        let pending = |entry: fs::DirEntry| {
            let path = entry.path();
            let made = entry
                .metadata()
                .logged_unless_missing("look at a file")?
                .modified()
                .logged("read when a file was changed")?;
            let is_held =
                File::open(&path).logged_unless_missing("open a file")?.try_lock_shared().is_err();
            let is_part = path.extension() == Some(OsStr::new("part"));
            let id = path.file_name()?.to_str().filter(|_| !is_part).map(ToOwned::to_owned);
            Some(Pending { id, made, is_held, path })
        };
        entries.flatten().filter_map(pending).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handover_is_held_while_its_creator_lives() {
        let tmp = tempfile::tempdir().unwrap();
        let state = StateDir::open(&tmp.path().join("s")).unwrap();
        assert!(state.handovers().is_empty());
        let held = write(&state.handover().join("1"), b"K=v\0").unwrap();
        let seen = |state: &StateDir| {
            let all = state.handovers();
            all.iter().map(|one| (one.id.clone(), one.is_held)).collect::<Vec<_>>()
        };
        assert_eq!(seen(&state), [(Some("1".to_owned()), true)]);
        drop(held);
        assert_eq!(seen(&state), [(Some("1".to_owned()), false)]);
        // As if killed while writing.
        fs::write(state.handover().join("2.part"), "K=").unwrap();
        assert!(seen(&state).contains(&(None, false)));
        assert!(state.handovers().iter().all(Pending::remove));
        assert!(state.handovers().is_empty());
    }
}
