//! The files of an open store. If they are removed or replaced, the store reads and writes data that no other process sees.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dogwatch_base::log::LoggedIo as _;

use crate::{StateDir, Store, StoreError};

/// No database is smaller, not even one without a table: SQLite's smallest page.
const SMALLEST: u64 = 512;

/// The files when the store was opened, by device and inode.
#[derive(Debug, Default)]
pub(crate) struct Files(Vec<(PathBuf, (u64, u64))>);

impl Files {
    /// The state directory, the database, its log and the log's index. The last two are created by the first reader, and stay
    /// while any process has the database open.
    pub(crate) fn of(dir: &StateDir) -> Self {
        let mut index = dir.database().into_os_string();
        index.push("-shm");
        let paths = [dir.root().to_owned(), dir.database(), dir.database_log(), index.into()];
        Self(paths.into_iter().filter_map(|path| identity(&path).map(|id| (path, id))).collect())
    }
}

impl Store {
    /// Fails if a file was removed or replaced since the store was opened, or the database was emptied. For long-running processes.
    pub fn check_files(&self) -> Result<(), StoreError> {
        if let Some((path, _)) =
            self.files.0.iter().find(|(path, known)| identity(path) != Some(*known))
        {
            return Err(StoreError::Replaced { path: path.clone() });
        }
        // What SQLite has in its cache hides it. Not by a look into the file: closing it would release SQLite's locks.
        let meta = fs::metadata(&self.path).logged_unless_missing("look at a file");
        if meta.is_some_and(|meta| meta.len() < SMALLEST) {
            let message = "it was truncated".to_owned();
            return Err(StoreError::Corrupt { path: self.path.clone(), message });
        }
        Ok(())
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
        // Other processes' use of the database is harmless.
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
    fn an_emptied_database_is_detected() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("state")).unwrap();
        let store = Store::open(&dir).unwrap();
        store.check_files().unwrap();
        fs::File::options().write(true).open(dir.database()).unwrap().set_len(0).unwrap();
        let error = store.check_files().unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    }

    #[test]
    fn removed_and_replaced_files_are_detected() {
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
