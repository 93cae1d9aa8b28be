//! The files that a store has open. They may be taken away or replaced under it: then it reads, and writes, what nobody else sees.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dogwatch_base::log::LoggedIo as _;

use crate::{StateDir, Store, StoreError};

/// Which files there were when the store was opened, by device and inode.
#[derive(Debug, Default)]
pub(crate) struct Files(Vec<(PathBuf, (u64, u64))>);

impl Files {
    /// The state directory, the database, its log, and the index of that. The last two are made by the first who reads, and stay
    /// while anybody has the database open.
    pub(crate) fn of(dir: &StateDir) -> Self {
        let mut index = dir.database().into_os_string();
        index.push("-shm");
        let paths = [dir.root().to_owned(), dir.database(), dir.database_log(), index.into()];
        Self(paths.into_iter().filter_map(|path| identity(&path).map(|id| (path, id))).collect())
    }
}

impl Store {
    /// An error if one of the files was removed or replaced since the store was opened. For those who have it open for long.
    pub fn check_files(&self) -> Result<(), StoreError> {
        match self.files.0.iter().find(|(path, known)| identity(path) != Some(*known)) {
            Some((path, _)) => Err(StoreError::Replaced { path: path.clone() }),
            None => Ok(()),
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).logged_unless_missing("look at a file").map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(harm: impl FnOnce(&StateDir)) -> Option<String> {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("state")).unwrap();
        let store = Store::open(&dir).unwrap();
        store.check_files().unwrap();
        // What others do with the database is no harm.
        Store::open(&dir).unwrap().check().unwrap();
        store.check_files().unwrap();
        harm(&dir);
        match store.check_files() {
            Err(StoreError::Replaced { path }) => {
                Some(path.file_name().unwrap().to_str().unwrap().to_owned())
            }
            _ => None,
        }
    }

    #[test]
    fn taken_away_and_replaced() {
        let gone = |path: PathBuf| fs::remove_file(path).unwrap();
        assert_eq!(replaced(|_| {}), None);
        assert_eq!(replaced(|dir| gone(dir.database())).as_deref(), Some("dogwatch.db"));
        assert_eq!(replaced(|dir| gone(dir.database_log())).as_deref(), Some("dogwatch.db-wal"));
        let restored = |dir: &StateDir| {
            let copy = dir.root().join("copy");
            fs::copy(dir.database(), &copy).unwrap();
            fs::rename(copy, dir.database()).unwrap();
        };
        assert_eq!(replaced(restored).as_deref(), Some("dogwatch.db"));
        let moved = |dir: &StateDir| {
            fs::rename(dir.root(), dir.root().with_extension("old")).unwrap();
            fs::create_dir(dir.root()).unwrap();
        };
        assert_eq!(replaced(moved).as_deref(), Some("state"));
    }
}
