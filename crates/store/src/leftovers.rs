//! Files that a process left behind because it was killed, or the disk was full, between two steps.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use dogwatch_base::log::{Logged as _, LoggedIo as _};

use crate::{Store, StoreError};

/// Younger files may belong to a process that is still working.
const YOUNG: Duration = Duration::from_hours(1);

impl Store {
    /// Files that will never be read: incomplete ones, and locks and news files of sessions that are gone.
    pub fn leftovers(&self) -> Result<Vec<PathBuf>, StoreError> {
        let root = self.dir.root();
        let is_half_written = |name: &str| name.starts_with(".new-") || name.ends_with(".part");
        let mut found = old_files(&self.dir.spool(), is_half_written);
        found.extend(old_files(root, is_half_written));
        let known: HashSet<String> = self.all_ids()?.into_iter().collect();
        for id in &known {
            found.extend(old_files(&self.dir.sessions().join(id), is_half_written));
        }
        // Locks and news files of other things than sessions stay: only session ids are checked here.
        let is_unknown = |name: &str| uuid::Uuid::parse_str(name).is_ok() && !known.contains(name);
        for folder in ["news", "locks"] {
            found.extend(old_files(&root.join(folder), is_unknown));
        }
        Ok(found)
    }
}

fn old_files(folder: &Path, is_meant: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_old = |entry: &fs::DirEntry| {
        let meta =
            entry.metadata().logged_unless_missing("look at a file").filter(fs::Metadata::is_file);
        let age = meta
            .and_then(|m| m.modified().logged("read when a file was changed"))
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        age.is_some_and(|age| age > YOUNG)
    };
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(&is_meant) && is_old(entry))
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;

    #[test]
    fn old_incomplete_files_and_those_of_unknown_sessions_are_found() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("state")).unwrap();
        let store = Store::open(&dir).unwrap();
        let id = uuid::Uuid::now_v7();
        let make = |path: &str, is_old: bool| {
            let path = dir.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = fs::File::create(&path).unwrap();
            if is_old {
                file.set_modified(SystemTime::now() - 2 * YOUNG).unwrap();
            }
        };
        for (path, is_old) in [
            ("spool/.a.part", true),
            ("spool/.b.part", false),
            ("spool/c.json", true),
            (".new-x", true),
            ("news/roll", true),
            (&format!("news/{id}"), true),
            (&format!("locks/{id}"), false),
            ("locks/roll", true),
        ] {
            make(path, is_old);
        }
        let mut found: Vec<String> = store
            .leftovers()
            .unwrap()
            .iter()
            .map(|path| path.strip_prefix(dir.root()).unwrap().display().to_string())
            .collect();
        found.sort();
        assert_eq!(found, [".new-x".to_owned(), format!("news/{id}"), "spool/.a.part".into()]);
    }
}
