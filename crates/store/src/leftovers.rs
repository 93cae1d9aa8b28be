//! Files that a process left behind because it was killed, or the disk was full, between two steps.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use dogwatch_base::log::{Logged as _, LoggedIo as _};

use crate::{Store, StoreError, lock_file};

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
        found.extend(old_files(&root.join("news"), is_unknown));
        let mut locks = old_files(&root.join("locks"), is_unknown);
        locks.retain(|lock| !lock_file::is_held(lock));
        found.extend(locks);
        Ok(found)
    }

    /// Removes one of these; a lock only if nobody has taken it meanwhile.
    pub fn remove_leftover(&self, file: &Path) {
        // What cannot be removed stays for the next time.
        if file.parent() == Some(&self.dir.root().join("locks")) {
            lock_file::remove_unheld(file).logged("remove a lock");
        } else {
            fs::remove_file(file).logged_unless_missing("remove a file");
        }
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
        let [id, held, unheld] = std::array::from_fn(|_| uuid::Uuid::now_v7());
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
            (&format!("locks/{unheld}"), true),
            (&format!("locks/{held}"), true),
            ("locks/roll", true),
        ] {
            make(path, is_old);
        }
        let lock = lock_file::try_lock(&dir.root().join(format!("locks/{held}"))).unwrap();
        let leftovers = store.leftovers().unwrap();
        let mut found: Vec<String> = leftovers
            .iter()
            .map(|path| path.strip_prefix(dir.root()).unwrap().display().to_string())
            .collect();
        found.sort();
        let wanted = [
            ".new-x".to_owned(),
            format!("locks/{unheld}"),
            format!("news/{id}"),
            "spool/.a.part".into(),
        ];
        assert_eq!(found, wanted);
        for file in &leftovers {
            store.remove_leftover(file);
        }
        assert!(store.leftovers().unwrap().is_empty());
        drop(lock);
        // One that is taken between the list and the removal.
        let left = store.leftovers().unwrap();
        let [left] = left.as_slice() else { panic!("{left:?}") };
        let lock = lock_file::try_lock(left).unwrap();
        store.remove_leftover(left);
        assert!(left.exists());
        drop(lock);
    }
}
